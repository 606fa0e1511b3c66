// What the fake libraries share: their cards, and switches that are files in $FAKE_DCMI_DIR.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace fake {

struct Npu {
  int card;
  int device;
  unsigned int phy;
};
inline constexpr Npu kNpus[] = {{0, 0, 0}, {3, 0, 1}, {7, 0, 4}, {7, 1, 5}};

inline std::string path_of(const std::string& name) {
  const char* dir = std::getenv("FAKE_DCMI_DIR");
  return std::string(dir != nullptr ? dir : "/nonexistent") + "/" + name;
}

inline bool switched_on(const std::string& name) {
  struct stat info{};
  return stat(path_of(name).c_str(), &info) == 0;
}

// The number in the file, or `otherwise` without one.
inline int number_of(const std::string& name, int otherwise) {
  std::ifstream file(path_of(name));
  int number = otherwise;
  if (!(file >> number)) return otherwise;
  return number;
}

inline void hang_if(const std::string& name) {
  if (!switched_on(name)) return;
  while (true) pause();
}

inline const Npu* npu_at(int card, int device) {
  for (const Npu& npu : kNpus) {
    if (npu.card == card && npu.device == device) return &npu;
  }
  return nullptr;
}

}  // namespace fake
