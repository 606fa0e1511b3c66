// A matrix product on one NPU with the real AscendCL calls: C = A * B, checked against the same product on
// the host.
//
//   gemm --size 512 --repeat 10 --type fp16
//   gemm --memory 8GiB --hold 60        hold memory and keep working for a minute
//
// Exit status: 0 the result is right, 1 it is wrong or a call failed, 2 wrong arguments.
#include <acl/acl.h>
#include <acl/ops/acl_cblas.h>
#include <getopt.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Options {
  int size = 256;
  int repeat = 1;
  int device = 0;
  bool half = true;
  bool verify = true;
  double hold_seconds = 0;
  std::size_t memory_bytes = 0;
};

constexpr char kUsage[] =
    "usage: gemm [--size N] [--repeat N] [--type fp16|fp32] [--device N] [--memory SIZE] [--hold SECONDS]\n"
    "            [--no-verify]\n"
    "\n"
    "  --size N         multiply two N x N matrices (default 256)\n"
    "  --repeat N       this many times (default 1)\n"
    "  --type T         element type of the matrices (default fp16)\n"
    "  --device N       which of the devices that this process may use (default 0)\n"
    "  --memory SIZE    also hold this much device memory, as 512MiB or 8GiB\n"
    "  --hold SECONDS   keep the device and go on multiplying for so long\n"
    "  --no-verify      do not compare the result with the host's\n";

// A failed AscendCL call ends the program; the text says which and why.
void check(aclError error, const char* call) {
  if (error == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  throw std::runtime_error(std::string(call) + " returned " + std::to_string(error) +
                           (message == nullptr ? "" : std::string(" (") + message + ")"));
}

std::size_t parse_bytes(const std::string& text) {
  std::size_t used = 0;
  const unsigned long long number = std::stoull(text, &used);
  const std::string unit = text.substr(used);
  if (unit == "MiB") return number << 20;
  if (unit == "GiB") return number << 30;
  throw std::invalid_argument("a size ends in MiB or GiB");
}

Options parse(int argc, char** argv) {
  const option known[] = {
      {"size", required_argument, nullptr, 's'},   {"repeat", required_argument, nullptr, 'r'},
      {"type", required_argument, nullptr, 't'},   {"device", required_argument, nullptr, 'd'},
      {"memory", required_argument, nullptr, 'm'}, {"hold", required_argument, nullptr, 'h'},
      {"no-verify", no_argument, nullptr, 'n'},    {nullptr, 0, nullptr, 0}};
  Options options;
  for (int letter = 0; (letter = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (letter) {
      case 's':
        options.size = std::stoi(optarg);
        break;
      case 'r':
        options.repeat = std::stoi(optarg);
        break;
      case 'd':
        options.device = std::stoi(optarg);
        break;
      case 'm':
        options.memory_bytes = parse_bytes(optarg);
        break;
      case 'h':
        options.hold_seconds = std::stod(optarg);
        break;
      case 'n':
        options.verify = false;
        break;
      case 't':
        options.half = std::strcmp(optarg, "fp16") == 0;
        if (!options.half && std::strcmp(optarg, "fp32") != 0)
          throw std::invalid_argument("--type is fp16 or fp32");
        break;
      default:
        throw std::invalid_argument("unknown argument");
    }
  }
  if (optind != argc) throw std::invalid_argument("unexpected argument");
  if (options.size < 1 || options.size > 16384) throw std::invalid_argument("--size is from 1 to 16384");
  if (options.repeat < 1) throw std::invalid_argument("--repeat is at least 1");
  return options;
}

// Device memory that is given back at the end of its scope.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    check(aclrtMalloc(&pointer_, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { aclrtFree(pointer_); }

  void* get() const { return pointer_; }

 private:
  void* pointer_ = nullptr;
};

// Host values as the device stores them: halves or floats.
class Elements {
 public:
  Elements(std::size_t count, bool half)
      : half_(half), bytes_(count * (half ? sizeof(aclFloat16) : sizeof(float))) {}

  void set(std::size_t index, float value) {
    if (half_) {
      const aclFloat16 stored = aclFloatToFloat16(value);
      std::memcpy(bytes_.data() + index * sizeof stored, &stored, sizeof stored);
    } else {
      std::memcpy(bytes_.data() + index * sizeof value, &value, sizeof value);
    }
  }
  float get(std::size_t index) const {
    if (half_) {
      aclFloat16 stored = 0;
      std::memcpy(&stored, bytes_.data() + index * sizeof stored, sizeof stored);
      return aclFloat16ToFloat(stored);
    }
    float value = 0;
    std::memcpy(&value, bytes_.data() + index * sizeof value, sizeof value);
    return value;
  }
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

 private:
  bool half_;
  std::vector<unsigned char> bytes_;
};

// Small values of both signs that a half holds exactly, different in every row and column.
float value_at(std::size_t row, std::size_t column, std::size_t salt) {
  return static_cast<float>(static_cast<int>((row * 7 + column * 13 + salt) % 17) - 8) / 8.0F;
}

// The largest difference to the host's product, relative to the size of the sums. Large results are checked
// in part.
double max_error(const Elements& a, const Elements& b, const Elements& c, std::size_t n) {
  const std::size_t step = std::max<std::size_t>(1, n * n / (std::size_t{256} * 256));
  double worst = 0;
  for (std::size_t row = 0; row < n; row += step) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::size_t p = 0; p < n; ++p) {
        sum += static_cast<double>(a.get(row * n + p)) * static_cast<double>(b.get(p * n + column));
      }
      const double difference = std::fabs(sum - static_cast<double>(c.get(row * n + column)));
      worst = std::max(worst, difference / std::max(1.0, std::fabs(sum)));
    }
  }
  return worst;
}

struct Product {
  const Options& options;
  const DeviceMemory& a;
  const DeviceMemory& b;
  const DeviceMemory& c;
  const DeviceMemory& alpha;
  const DeviceMemory& beta;
  aclrtStream stream;

  void launch() const {
    const int n = options.size;
    const aclDataType type = options.half ? ACL_FLOAT16 : ACL_FLOAT;
    check(aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, n, n, n, alpha.get(), a.get(), -1, type,
                        b.get(), -1, type, beta.get(), c.get(), -1, type, ACL_COMPUTE_HIGH_PRECISION, stream),
          "aclblasGemmEx");
  }
};

void upload(const DeviceMemory& to, const Elements& from) {
  check(aclrtMemcpy(to.get(), from.size(), from.data(), from.size(), ACL_MEMCPY_HOST_TO_DEVICE),
        "aclrtMemcpy");
}

void report_device(int device) {
  std::uint32_t count = 0;
  check(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes), "aclrtGetMemInfo");
  const char* name = aclrtGetSocName();
  std::printf("gemm: device %d of %u, %s, %zu of %zu MiB free\n", device, count,
              name == nullptr ? "unknown" : name, free_bytes >> 20, total_bytes >> 20);
}

void hold(const Product& product, double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) {
    product.launch();
    check(aclrtSynchronizeStream(product.stream), "aclrtSynchronizeStream");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

double time_products(const Product& product) {
  aclrtEvent begin = nullptr;
  aclrtEvent end = nullptr;
  check(aclrtCreateEvent(&begin), "aclrtCreateEvent");
  check(aclrtCreateEvent(&end), "aclrtCreateEvent");
  check(aclrtRecordEvent(begin, product.stream), "aclrtRecordEvent");
  for (int i = 0; i < product.options.repeat; ++i) product.launch();
  check(aclrtRecordEvent(end, product.stream), "aclrtRecordEvent");
  check(aclrtSynchronizeStream(product.stream), "aclrtSynchronizeStream");
  float milliseconds = 0;
  check(aclrtEventElapsedTime(&milliseconds, begin, end), "aclrtEventElapsedTime");
  aclrtDestroyEvent(begin);
  aclrtDestroyEvent(end);
  return static_cast<double>(milliseconds);
}

bool multiply(const Options& options) {
  const auto n = static_cast<std::size_t>(options.size);
  Elements a(n * n, options.half);
  Elements b(n * n, options.half);
  Elements c(n * n, options.half);
  Elements one(1, options.half);
  const Elements zero(1, options.half);
  one.set(0, 1.0F);
  for (std::size_t i = 0; i < n * n; ++i) {
    a.set(i, value_at(i / n, i % n, 3));
    b.set(i, value_at(i / n, i % n, 11));
  }
  const DeviceMemory device_a(a.size());
  const DeviceMemory device_b(b.size());
  const DeviceMemory device_c(c.size());
  const DeviceMemory alpha(one.size());
  const DeviceMemory beta(zero.size());
  upload(device_a, a);
  upload(device_b, b);
  upload(alpha, one);
  upload(beta, zero);

  aclrtStream stream = nullptr;
  check(aclrtCreateStream(&stream), "aclrtCreateStream");
  const Product product{options, device_a, device_b, device_c, alpha, beta, stream};
  const double milliseconds = time_products(product);
  hold(product, options.hold_seconds);
  check(aclrtMemcpy(c.data(), c.size(), device_c.get(), c.size(), ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
  check(aclrtDestroyStream(stream), "aclrtDestroyStream");

  std::printf("gemm: %d x %s %zux%zux%zu in %.3f ms of the device\n", options.repeat,
              options.half ? "fp16" : "fp32", n, n, n, milliseconds);
  std::printf("gemm: C[0][0] = %g\n", static_cast<double>(c.get(0)));
  if (!options.verify) return true;
  const double error = max_error(a, b, c, n);
  const bool right = error <= (options.half ? 1e-3 : 1e-4);
  std::printf("gemm: %s max error %.2e\n", right ? "OK" : "WRONG", error);
  return right;
}

int run(const Options& options) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  check(aclInit(nullptr), "aclInit");
  check(aclrtSetDevice(options.device), "aclrtSetDevice");
  report_device(options.device);
  void* ballast = nullptr;
  if (options.memory_bytes != 0) {
    check(aclrtMalloc(&ballast, options.memory_bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    std::printf("gemm: holding %zu MiB\n", options.memory_bytes >> 20);
  }
  const bool right = multiply(options);
  check(aclrtResetDevice(options.device), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  // Each line goes into the job's log when it is printed, not when the program ends.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Options options;
  try {
    options = parse(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm: %s\n%s", error.what(), kUsage);
    return 2;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm: %s\n", error.what());
    return 1;
  }
}
