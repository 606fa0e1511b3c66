// How often something may happen: so many at once, and then so many an hour. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace tangram::kube {

class TokenBucket {
 public:
  // `every`: the time in which one more becomes possible.
  TokenBucket(std::int64_t burst, std::chrono::milliseconds every, std::chrono::milliseconds now);

  bool take(std::chrono::milliseconds now);
  // Until the next take() may succeed.
  std::chrono::milliseconds wait(std::chrono::milliseconds now) const;

 private:
  void fill(std::chrono::milliseconds now);

  std::int64_t burst_;
  std::chrono::milliseconds every_;
  std::int64_t tokens_;
  std::chrono::milliseconds filled_;  // when the last token came in
};

}  // namespace tangram::kube
