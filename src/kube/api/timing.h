// Time and chance, as everything in this folder is given them: nothing here reads a clock, draws a number or
// sleeps by itself, so that a test decides what time it is.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "net/interrupt.h"

namespace tangram::kube {

// Thread-safe.
class Timing {
 public:
  using Milliseconds = std::chrono::milliseconds;

  Timing() = default;
  virtual ~Timing() = default;
  Timing(const Timing&) = delete;
  Timing& operator=(const Timing&) = delete;

  // Since some fixed moment; never goes back, and goes on while the machine is suspended: a lease runs out on
  // a sleeping machine as well.
  virtual Milliseconds now() = 0;
  // For what is written into objects; may step.
  virtual std::chrono::system_clock::time_point wall() = 0;
  // At least 0, less than 1.
  virtual double jitter() = 0;
  // Rests for that time, or until the interrupt (may be null) is raised: then false.
  virtual bool rest(Milliseconds time, const net::Interrupt* interrupt) = 0;
};

// The machine's own.
std::shared_ptr<Timing> system_timing();

// As Kubernetes writes a MicroTime: "2026-03-01T12:00:00.000000Z".
std::string micro_time(std::chrono::system_clock::time_point at);

}  // namespace tangram::kube
