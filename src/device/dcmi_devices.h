// The NPUs of this machine through the vendor's libdcmi.so: the one way to an NPU.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/chip.h"
#include "ports/devices.h"

namespace tangram::device {

struct DcmiOptions {
  std::string helper_path;  // tangram-dcmi-helper, which stands beside the daemon's own executable
  std::string
      library_path;  // empty: the places where a driver installs it, in the order of default_library_paths()
  // Below it are the etc and run in which the driver's library remembers slices. None: that is left alone;
  // "": the machine's own.
  std::optional<std::string> machine_root;
  std::vector<ChipModel> chips;                     // the operator's own; they go before the built-in ones
  std::chrono::milliseconds init_deadline{10'000};  // loading the library and dcmi_init
  std::chrono::milliseconds call_deadline{2'000};   // one question about one card or NPU
  // Cutting or returning a slice, and settings: a 910B takes up to 4 s for one slice.
  std::chrono::milliseconds command_deadline{15'000};
  std::chrono::milliseconds scan_budget{15'000};  // a whole scan; NPUs not reached by then are unknown
  // An NPU whose calls hung is asked again after this pause, doubled each further time up to the maximum.
  std::chrono::milliseconds hang_backoff{2'000};
  std::chrono::milliseconds hang_backoff_max{60'000};
  // dcmi_init builds its table of cards once, so a card that came later is seen only by a new helper: one is
  // started this often, and more often while an NPU is ill.
  std::chrono::milliseconds reinit_period{300'000};
  std::chrono::milliseconds reinit_period_ill{30'000};
};

// Asks through a helper process that is killed and replaced when a call hangs or crashes; this process never
// maps vendor code. Nothing is started before the first call. Thread-safe; one thread of its own serves the
// calls one after another, and the helper dies with it (PR_SET_PDEATHSIG). A command waits for the look under
// way; it then takes twice scan_budget, init_deadline and call_deadline, and command_deadline, at the very
// most.
std::unique_ptr<Devices> make_dcmi_devices(DcmiOptions options);

}  // namespace tangram::device
