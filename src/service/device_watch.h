// Looks at the devices from one thread, every interval and when asked.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ports/devices.h"
#include "ports/executor.h"
#include "service/options.h"
#include "service/views.h"

namespace tangram::service {

class Slices;

// One look, with what it says about loss: an NPU is lost when it is absent or critical, or the driver is
// away.
struct DeviceLook {
  DeviceReadings readings;
  // Per physical id ever seen or expected: whether it is lost, since when without a break, and why.
  struct Loss {
    bool lost = false;
    std::chrono::steady_clock::time_point since;
    std::string why;  // "NPU 3 is critical: …"
  };
  std::map<std::uint32_t, Loss> losses;
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point at;
};

// Thread-safe.
class DeviceWatch {
 public:
  // `on_look` is called on the watch's thread after each look; it must be short. The executor is asked whose
  // the processes are, and `slices` is given each look as it is.
  DeviceWatch(Devices& devices, const Executor& executor, Slices& slices, const Options& options,
              std::function<void(const DeviceLook&)> on_look);
  ~DeviceWatch();  // stop()
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // NPUs that must be there, although no look has shown them yet: those of a journal. Before start().
  void expect(const std::vector<std::uint32_t>& physical_ids);
  // Returns after the first look.
  void start();
  void stop();

  // Calls back, on the watch's thread, after a look that began after this call. Before start(): after the
  // first. Never calls back once stopped.
  void look_soon(std::function<void(const DeviceLook&)> done);

  DeviceLook last() const;

  // Without a thread: a look, if one is due or was asked for.
  bool step();

 private:
  void run();
  void take_look();
  DeviceLook look();

  Devices& devices_;
  const Executor& executor_;
  Slices& slices_;
  const std::chrono::milliseconds interval_;
  const Pace pace_;
  std::function<void(const DeviceLook&)> on_look_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void(const DeviceLook&)>> asked_;
  DeviceLook last_;
  bool looked_ = false;
  Pace::Time due_;  // of the next look; without a thread
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::service
