// How the helper calls the vendor's library, and what it makes of the raw answers. Inside the helper process
// only. Not thread-safe.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "device/dcmi/abi.h"
#include "device/dcmi/plausible.h"
#include "device/dcmi/reading.h"

namespace tangram::device {

class VendorCaller {
 public:
  // `calling` hears the name of each vendor function just before it is called.
  explicit VendorCaller(std::function<void(std::string_view)> calling) : calling_(std::move(calling)) {}

  // kCodeSymbolMissing for a function that the installed release does not export.
  template <class Function, class... Arguments>
  std::int32_t operator()(std::string_view name, Function* function, Arguments... arguments) const {
    if (function == nullptr) return kCodeSymbolMissing;
    calling_(name);
    return function(arguments...);
  }

 private:
  std::function<void(std::string_view)> calling_;
};

inline constexpr std::uint64_t kBytesPerKb = 1024ULL;
inline constexpr std::uint64_t kBytesPerMb = 1024ULL * 1024;
inline constexpr std::uint64_t kMemoryMbMax = kMemoryBytesMax / kBytesPerMb;

// An out-structure with zeroed room behind it for the fields of later releases.
template <class T>
struct Roomy {
  T value{};
  unsigned char room[1024]{};
};

// Up to the end of the text, with control characters replaced.
template <std::size_t size>
std::string text_of(const unsigned char (&raw)[size]) {
  std::string text;
  for (const unsigned char byte : raw) {
    if (byte == 0) break;
    text.push_back(byte >= 0x20 && byte < 0x7F ? static_cast<char>(byte) : '?');
  }
  return text;
}

template <class T>
Field<T> checked(std::int32_t code, T value, bool plausible) {
  if (code != abi::kOk) return Field<T>::unknown(code);
  if (!plausible) return Field<T>::unknown(kCodeImplausible);
  return Field<T>::known(std::move(value));
}

inline Field<std::string> checked_text(std::int32_t code, std::string text) {
  const bool plausible = is_chip_text(text);
  return checked(code, std::move(text), plausible);
}

}  // namespace tangram::device
