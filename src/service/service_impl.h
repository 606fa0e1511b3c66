// The parts of the service and how they hang together. Private to src/service.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "service/attempts.h"
#include "service/device_watch.h"
#include "service/leases.h"
#include "service/meters.h"
#include "service/service.h"
#include "service/state_cell.h"
#include "service/timer.h"
#include "service/waiters.h"
#include "service/worker_pool.h"
#include "service/writer.h"

namespace tangram::service {

struct Service::Impl {
  Impl(Options given, Store& store, Executor& given_executor, Devices& devices, Clock& given_clock);

  void on_records(std::span<const wire::JournalRecord> records);
  void on_look(const DeviceLook& look);
  void measure_wait(JobId job);
  void sweep();
  void sweep_early();
  // Lets go of ended jobs beyond their time or number, a bounded number of them. True: there may be more.
  bool forget_old();
  void introduce();

  // Runs `use` as a command of the writer; `done` gets its result once that is durable.
  template <class T>
  void command(std::function<Result<T>(Transaction&)> use, Done<T> done) {
    const auto result = std::make_shared<std::optional<Result<T>>>();
    auto accepted = writer.submit({[result, use = std::move(use)](Transaction& t) { *result = use(t); },
                                   [result, done](const Result<void>& durable) {
                                     if (durable) {
                                       done(std::move(**result));
                                     } else {
                                       done(fail(durable.error()));
                                     }
                                   }});
    if (!accepted) done(fail(std::move(accepted).error()));
  }

  const Options options;
  Executor& executor;
  Clock& clock;
  Meters meters;
  StateCell cell;
  std::atomic<bool> sweeping_early{false};
  Timer timer;
  WorkerPool notifier{1};  // answers waits; apart from the effects, which may block
  Waiters waiters;
  Writer writer;
  DeviceWatch watch;
  Attempts attempts;
  Leases leases;
  bool started = false;
  bool stopped = false;
};

}  // namespace tangram::service
