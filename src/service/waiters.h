// Who waits for the end of which job: long polls without a thread each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "model/ids.h"

namespace tangram::service {

// Thread-safe. A call that was taken or removed is never handed out again.
class Waiters {
 public:
  using Call = std::function<void()>;

  std::uint64_t add(JobId job, Call call);
  // The call, unless somebody took it before; empty then.
  Call remove(JobId job, std::uint64_t ticket);
  std::vector<Call> take(JobId job);
  std::vector<Call> take_all();

 private:
  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<std::pair<JobId, std::uint64_t>, Call> calls_;
};

}  // namespace tangram::service
