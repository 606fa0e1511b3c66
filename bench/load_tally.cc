#include "load_tally.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

namespace tangram::bench {

std::string Tally::to_json() {
  std::sort(micros_.begin(), micros_.end());
  const auto at = [this](double share) {
    if (micros_.empty()) return 0.0;
    const auto index = static_cast<std::size_t>(share * static_cast<double>(micros_.size()));
    return micros_[std::min(index, micros_.size() - 1)] / 1e3;
  };
  const double sum = std::accumulate(micros_.begin(), micros_.end(), 0.0);
  const double mean = micros_.empty() ? 0.0 : sum / static_cast<double>(micros_.size()) / 1e3;
  std::array<char, 256> text{};
  const int length = std::snprintf(text.data(), text.size(),
                                   R"({"count":%zu,"p50":%.4f,"p90":%.4f,"p99":%.4f,"max":%.4f,"mean":%.4f})",
                                   micros_.size(), at(0.5), at(0.9), at(0.99), at(1.0), mean);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

}  // namespace tangram::bench
