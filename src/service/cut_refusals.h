// NPUs that their driver has refused to cut in a way that the next order would meet as well, and until when
// they are left alone. Pure: looks, outcomes and times are told to it.
//
// Such a refusal *stands* until something has changed that may help: another version of the driver, another
// board in that place, another mode of the machine, the driver's own file of slices put right; a restart of
// the daemon forgets all of them. What nobody can see changing (the right to cut, the policy of a module with
// two dies) is found out by trying: after a long pause the refusal stands no more, and the next job that
// wants a slice is the probe. A further refusal doubles the pause.
//
// A driver that cannot use its file of slices refuses for no lasting reason. While the file's fault is seen
// its refusals stand as others do, for a look sees it mended too; while none is seen they never stand, since
// nobody could tell that it is mended but by trying.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "ports/devices.h"

namespace tangram::service {

struct CutRefusal {
  std::string reason;  // of slice_reason
  std::string why;     // the driver's answer, one sentence
};

// By physical id.
using StandingRefusals = std::map<std::uint32_t, CutRefusal>;

// Not thread-safe.
class CutRefusals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Pause = std::chrono::milliseconds;

  // So many orders in a row, each given up, and none that was made among them: that does not pass by itself.
  static constexpr int kInARowMost = 8;

  CutRefusals(Pause first, Pause most) : first_(first), most_(most) {}

  // Refusals that another driver, board or mode, or a mended file of the driver has answered stand no more.
  void looked(const DeviceScan& scan);

  // An order for this NPU was given up, the `in_a_row`th without one that was made. For how long the NPU is
  // not to be cut from now on; none: the refusal may pass.
  //
  // It is of the NPU, although some are of one template ("not in this board's list"): the driver answers them
  // with the same code as want of room, and the core knows which templates a chip has, not an NPU.
  std::optional<Pause> refused(std::uint32_t npu, const Error& error, int in_a_row, Time now);

  // The driver cuts this NPU.
  void made(std::uint32_t npu);

  StandingRefusals standing(Time now) const;

  // What the driver said when it last could not use its file of slices: within the first pause, and nothing
  // that may help has been seen since.
  std::optional<CutRefusal> unusable_file(Time now) const;

 private:
  // What an answer of the driver depends on, as far as looks tell.
  struct Circumstances {
    std::string driver_version;  // empty: not known
    std::optional<std::uint32_t> board;
    std::optional<bool> for_containers;
    SliceSupport support = SliceSupport::kUnknown;
    bool file_is_bad = false;  // of RecoverFile: the driver cannot note a slice, and so cuts none
    bool file_is_sound = false;
  };
  struct Refusal {
    CutRefusal told;
    Circumstances under;
    Pause pause{};
    Time until;
  };
  struct FileError {
    CutRefusal told;
    Time at;
  };

  static bool have_changed(const Circumstances& before, const Circumstances& now);
  bool is_lasting(std::uint32_t npu, const Error& error, int in_a_row) const;

  const Pause first_;
  const Pause most_;
  std::map<std::uint32_t, Circumstances> seen_;  // of the last look
  std::map<std::uint32_t, Refusal> refusals_;    // also those that stand no more, until one is made
  std::optional<FileError> file_error_;          // the file is the machine's
};

}  // namespace tangram::service
