// Takes values from the front of what libFuzzer gives; zeros and empty texts when it is used up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tangram::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(size == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size)) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::uint32_t number(int bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | byte();
    return value;
  }
  std::string_view text(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // Up to the next `end`, which is taken off, or to the last byte.
  std::string_view until(char end) {
    const std::size_t size = std::min(rest_.find(end), rest_.size());
    const std::string_view taken = text(size);
    (void)text(1);
    return taken;
  }
  std::string_view rest() { return text(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace tangram::fuzz
