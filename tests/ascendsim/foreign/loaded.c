/* Reaches AscendCL as torch_npu does: dlopen by bare name, dlsym through the handle. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*set_device_function)(int32_t);
typedef int (*malloc_function)(void**, size_t, int);
typedef int (*memcpy_function)(void*, size_t, const void*, size_t, int);
typedef int (*free_function)(void*);

static void* handle;

static void find(const char* name, void* function, size_t size) {
  void* address = dlsym(handle, name);
  if (address == NULL) printf("no %s\n", name);
  memcpy(function, &address, size);
}

int main(void) {
  set_device_function set_device;
  malloc_function allocate;
  memcpy_function copy;
  free_function release;
  const char text[] = "through the device";
  char back[sizeof text] = "";
  void* device = NULL;
  int code;

  handle = dlopen("libascendcl.so", RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  find("aclrtSetDevice", &set_device, sizeof set_device);
  find("aclrtMallocAlign32", &allocate, sizeof allocate);
  find("aclrtMemcpy", &copy, sizeof copy);
  find("aclrtFree", &release, sizeof release);
  code = set_device(1);
  if (code == 0) code = allocate(&device, sizeof text, 0);
  if (code == 0) code = copy(device, sizeof text, text, sizeof text, 1);
  if (code == 0) code = copy(back, sizeof back, device, sizeof back, 2);
  if (code == 0) code = release(device);
  printf("%d %s\n", code, back);
  dlclose(handle);
  return code != 0 || strcmp(back, text) != 0;
}
