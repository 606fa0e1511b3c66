// The parts of the service and how they hang together. Private to src/service.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "service/attempts.h"
#include "service/device_watch.h"
#include "service/event_hub.h"
#include "service/event_subscription.h"
#include "service/identities.h"
#include "service/leases.h"
#include "service/meters.h"
#include "service/service.h"
#include "service/slices.h"
#include "service/state_cell.h"
#include "service/timer.h"
#include "service/waiters.h"
#include "service/worker_pool.h"
#include "service/writer.h"

namespace tangram::service {

struct Service::Impl {
  Impl(Options given, Store& given_store, Executor& given_executor, Devices& devices, Clock& given_clock);

  void on_records(std::span<const wire::JournalRecord> records);
  void on_look(const DeviceLook& look);
  void measure_wait(JobId job);
  void sweep();
  void sweep_if_full();
  void sweep_early();
  // Lets go of ended jobs beyond their time or number, a bounded number of them. True: there may be more.
  bool forget_old();
  void introduce();
  void check_catalogue();
  // The last look, without slices that were returned since it began.
  DeviceLook current_look();
  wire::DoctorView diagnosis(wire::Language language);
  Result<EventFilter> event_filter(const Caller& caller, const EventQuery& query);
  void look_at_identities();
  // One sentence; empty: one can be cut, or nothing is known.
  std::string why_none_is_cut();
  // Says of a request for a slice where nothing can be cut why that is so; also of one that waits.
  Error reword_unsupported(Error error);
  // What was added to the message.
  std::string complete_unsupported(wire::ReasonView& reason, wire::Language language);
  void complete_unsupported(std::vector<wire::ReasonView>& blockers, std::string& verdict,
                            wire::Language language);
  // JobView::granted, for those who look at one job.
  void tell_grant(const State& state, wire::JobView& view, wire::Language language);

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
  Store& store;
  Executor& executor;
  Clock& clock;
  Meters meters;
  StateCell cell;
  EventSeats seats;
  EventHub hub;
  IdentityCell identities;
  std::atomic<bool> sweeping_early{false};
  Timer timer{options.pace};
  WorkerPool notifier{options.pace.threads ? std::size_t{1}
                                           : 0};  // answers waits; apart from the effects, which may block
  Waiters waiters;
  Writer writer;
  Slices slices;
  DeviceWatch watch;
  Attempts attempts;
  Leases leases;
  bool started = false;
  bool stopped = false;
};

}  // namespace tangram::service
