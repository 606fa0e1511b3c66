// The vNPU part of the fake libdcmi.so. vNPUs are files in $FAKE_DCMI_DIR, so that they outlive the process
// as they would in a driver: slice-<phy>-<id> holds the template. Structures are written by offset, so that a
// wrong layout in the product shows.
//
// Switches: create_code, destroy_code (the code to answer), create_works (although create_code says no),
// create_hangs, create_hangs_late (after the cut), destroy_hangs, query_hangs_<card>, destroy_lies (0, and
// nothing happens), grown (a later release: refuses structures of today's size), used_<id> (a container uses
// it), no_slicing (-8255), slices_garbage, share_code. `calls` is the list of orders.
#include <dirent.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "device/fake_switches.h"

namespace {

using fake::hang_if;
using fake::npu_at;
using fake::number_of;
using fake::path_of;
using fake::switched_on;

constexpr unsigned int kCores = 20;
constexpr unsigned int kAiCpus = 7;
constexpr int kInvalid = -8001;

std::string file_of(unsigned int phy, unsigned int id) {
  return "slice-" + std::to_string(phy) + "-" + std::to_string(id);
}

std::map<unsigned int, std::string> slices_of(unsigned int phy) {
  std::map<unsigned int, std::string> slices;
  DIR* dir = opendir(path_of("").c_str());
  if (dir == nullptr) return slices;
  while (const dirent* entry = readdir(dir)) {
    unsigned int of = 0;
    unsigned int id = 0;
    if (std::sscanf(&entry->d_name[0], "slice-%u-%u", &of, &id) != 2 || of != phy) continue;
    std::ifstream file(path_of(&entry->d_name[0]));
    file >> slices[id];
  }
  closedir(dir);
  return slices;
}

unsigned int cores_of(const std::string& name) {
  unsigned int cores = 0;
  return std::sscanf(name.c_str(), "vir%u", &cores) == 1 ? cores : 0;
}

unsigned int cores_used(unsigned int phy) {
  unsigned int used = 0;
  for (const auto& [id, name] : slices_of(phy)) used += cores_of(name);
  return used;
}

template <class T>
void put(void* buffer, std::size_t offset, T value) {
  std::memcpy(static_cast<unsigned char*>(buffer) + offset, &value, sizeof value);
}

void put_resources(void* buffer, std::size_t computing, std::size_t media, unsigned int cores,
                   unsigned int cpus) {
  put(buffer, computing, static_cast<float>(cores));
  put<std::uint64_t>(buffer, computing + 24, std::uint64_t{cores} * 1536);
  put(buffer, computing + 54, static_cast<std::uint16_t>(cpus));
  put(buffer, media + 8, 4.5F);    // vpc
  put(buffer, media + 16, -1.0F);  // pngd: not known
}

int total(unsigned int phy, void* buffer) {
  const auto slices = slices_of(phy);
  put(buffer, 0, static_cast<std::uint32_t>(slices.size()));
  std::size_t at = 4;
  for (const auto& [id, name] : slices) {
    put(buffer, at, id);
    at += 4;
  }
  put_resources(buffer, 208, 304, kCores, kAiCpus);
  if (switched_on("slices_garbage")) put(buffer, 0, 0x10000U);
  return 0;
}

int query(unsigned int phy, void* buffer, bool activity) {
  unsigned int id = 0;
  std::memcpy(&id, buffer, sizeof id);
  const auto slices = slices_of(phy);
  const auto found = slices.find(id);
  if (found == slices.end()) return -8008;
  if (activity) {
    if (phy == 0) return -8255;
    put(buffer, 172, 37U);
    put<std::uint64_t>(buffer, 176, 7168ULL * 1024);
    put<std::uint64_t>(buffer, 184, 5120ULL * 1024);
    return 0;
  }
  char name[16] = {};
  found->second.copy(&name[0], 15);
  std::memcpy(static_cast<unsigned char*>(buffer) + 8, &name[0], sizeof name);
  put(buffer, 28, switched_on("used_" + std::to_string(id)) ? 1U : 0U);
  put(buffer, 36, 2U);
  put<std::uint64_t>(buffer, 40, 0xFFFFFFFFFFFFULL);
  put_resources(buffer, 112, 208, cores_of(found->second), 1);
  return 0;
}

void note(const std::string& order) {
  std::ofstream(path_of("calls"), std::ios::app) << order << "\n";
}

}  // namespace

extern "C" {

int dcmi_get_device_info(int card, int device, int main_command, unsigned int sub_command, void* buffer,
                         unsigned int* size) {
  const fake::Npu* npu = npu_at(card, device);
  if (npu == nullptr) return -8007;
  hang_if("query_hangs_" + std::to_string(card));
  if (switched_on("no_slicing") || main_command != 52) return -8255;
#ifdef FAKE_GARBAGE
  *size = 0xFFFFFFF0U;
  return 0;
#endif
  const unsigned int sizes[] = {264, 360, 224, 0, 0, 264};
  if (sub_command > 5 || *size < sizes[sub_command] + (switched_on("grown") ? 64U : 0U)) return kInvalid;
  const unsigned int used = cores_used(npu->phy);
  switch (sub_command) {
    case 0:
    case 5:
      return query(npu->phy, buffer, sub_command == 5);
    case 1:
      return total(npu->phy, buffer);
    case 2:
      put_resources(buffer, 72, 168, kCores - used, kAiCpus - used / 5);
      return 0;
    default:
      return kInvalid;
  }
}

int dcmi_create_vdevice(int card, int device, void* order, void* created) {
  const fake::Npu* npu = npu_at(card, device);
  if (npu == nullptr) return -8007;
  unsigned int id = 0;
  std::memcpy(&id, order, sizeof id);
  const std::string name(static_cast<const char*>(order) + 8);
  note("create " + std::to_string(id) + " " + name);
  hang_if("create_hangs");
  const int code = number_of("create_code", 0);
  if (code != 0 && !switched_on("create_works")) return code;
  if (cores_of(name) == 0 || cores_used(npu->phy) + cores_of(name) > kCores) return kInvalid;
  if (id == 0xFFFFFFFFU) {
    id = 100 + 16 * npu->phy;
    while (slices_of(npu->phy).contains(id)) ++id;
  }
  std::ofstream(path_of(file_of(npu->phy, id))) << name;
  hang_if("create_hangs_late");
  if (switched_on("create_misnames")) {
    put(created, 0, 4711U);
  } else {
    put(created, 0, id);
  }
  put(created, 52, 0x12345678U);  // a later release writes more than the structure of today
  return code;
}

int dcmi_set_destroy_vdevice(int card, int device, unsigned int id) {
  const fake::Npu* npu = npu_at(card, device);
  if (npu == nullptr) return -8007;
  note("destroy " + std::to_string(id));
  hang_if("destroy_hangs");
  if (const int code = number_of("destroy_code", 0); code != 0) return code;
  if (!switched_on("destroy_lies")) std::remove(path_of(file_of(npu->phy, id)).c_str());
  return 0;
}

int dcmi_get_vdevice_mode(int* mode) {
  *mode = switched_on("vm_mode") ? 1 : 0;
  return 0;
}

int dcmi_get_vnpu_config_recover_mode(unsigned int* mode) {
  hang_if("modes_hang");
  *mode = static_cast<unsigned int>(number_of("recover", 1));
  return 0;
}

int dcmi_set_vnpu_config_recover_mode(unsigned int mode) {
  if (const int code = number_of("recover_code", 0); code != 0) return code;
  std::ofstream(path_of("recover")) << mode;
  return 0;
}

int dcmi_get_device_share_enable(int card, int device, int* enabled) {
  if (npu_at(card, device) == nullptr) return -8007;
  *enabled = number_of("share_" + std::to_string(card), 0);
  return 0;
}

int dcmi_set_device_share_enable(int card, int device, int enabled) {
  if (npu_at(card, device) == nullptr) return -8007;
  if (const int code = number_of("share_code", 0); code != 0) return code;
  std::ofstream(path_of("share_" + std::to_string(card))) << enabled;
  return 0;
}

int dcmi_mcu_get_version(int card, char* version, int length, int* used) {
  *used = std::snprintf(version, static_cast<std::size_t>(length), "MCU 1.%d", card);
  return 0;
}

// An event per file event-<n>, which holds logic id, code, severity and assertion.
struct FakeEventFilter {
  std::uint64_t flags;
  unsigned char rest[40];
};

int dcmi_get_fault_event(int card, int device, int timeout_ms, FakeEventFilter filter, void* event) {
  if (card != -1 || device != -1 || timeout_ms != 0 || filter.flags != 0) return kInvalid;
  hang_if("events_hang");
  for (int n = 0; n < 4; ++n) {
    const std::string name = "event-" + std::to_string(n);
    std::ifstream file(path_of(name));
    unsigned int logic = 0;
    unsigned int severity = 0;
    unsigned int assertion = 0;
    std::uint32_t code = 0;
    if (!(file >> logic >> std::hex >> code >> std::dec >> severity >> assertion)) continue;
    std::remove(path_of(name).c_str());
    put(event, 0, 0);
    put(event, 8, code);
    put(event, 12, static_cast<std::uint16_t>(logic));
    put(event, 18, static_cast<std::uint8_t>(severity));
    put(event, 19, static_cast<std::uint8_t>(assertion));
    put<std::uint64_t>(event, 32, 1'700'000'000'123ULL);
    std::memcpy(static_cast<unsigned char*>(event) + 40, "HBM multi-bit error", 20);
    return 0;
  }
  return -8006;
}

// A driver that delivers instead: at once, what happened before.
int dcmi_subscribe_fault_event(int card, int device, FakeEventFilter filter, void (*handler)(void*)) {
  if (!switched_on("events_pushed")) return -8255;
  unsigned char event[360] = {};
  while (dcmi_get_fault_event(card, device, 0, filter, &event[0]) == 0) handler(&event[0]);
  return 0;
}

}  // extern "C"
