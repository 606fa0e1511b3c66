// The use-cases around leases.
#include <utility>

#include "base/secret_text.h"
#include "service/secret.h"
#include "service/service_impl.h"
#include "service/submission.h"
#include "wire/sentences.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

// The unfinished lease that the reference and the token mean.
Result<JobId> find_lease(const State& state, const Caller& caller, std::string_view reference,
                         std::string_view token) {
  TG_TRY(const JobId job, find_job(state, caller, reference));
  const auto ended = state.ended(job);
  const wire::JobProgram& program = ended ? *ended->program : *state.live(job)->program;
  const std::string id = wire::format_job_id(job);
  if (program.kind != wire::JobKind::kLease) {
    return fail(Code::kFailedPrecondition, "lease.no_lease",
                "job " + id + " is no lease: its program holds the NPUs",
                "ask for a lease with POST /v1/leases or `tangram lease`");
  }
  if (!is_secret_of(token, program.token_hash)) {
    return fail(Code::kPermissionDenied, "lease.token.wrong", "that is not the token of lease " + id,
                "the token stands in the first event of the lease's stream; `tangram cancel " + id +
                    "` ends a lease without it");
  }
  if (ended) return fail(job_ended(job, *ended));
  return job;
}

}  // namespace

void Service::lease(const Caller& caller, wire::LeaseRequest request, LeaseHolder holder,
                    Done<HeldLease> done) {
  std::string token = make_secret(kLeaseTokenPrefix);
  std::string hash = hash_of_secret(token);
  impl_->command<JobId>(
      [this, caller, request = std::move(request),
       hash = std::move(hash)](Transaction& transaction) -> Result<JobId> {
        TG_TRY(auto record,
               resolve_lease(transaction.state(), impl_->options, caller, request)
                   .map_error([this](Error error) { return impl_->reword_unsupported(std::move(error)); }));
        record.program.token_hash = hash;
        const JobId job = record.input.spec.id;
        transaction.record(std::move(record));
        transaction.decide();
        TG_TRY_VOID(decided_view(transaction.state(), job, caller.language));
        return job;
      },
      [this, token = std::move(token), holder = std::move(holder),
       done = std::move(done)](const Result<JobId>& job) mutable {
        if (!job) {
          done(fail(job.error()));
          return;
        }
        const std::uint64_t number = impl_->leases.attach(*job, std::move(holder));
        done(HeldLease{*job, number, std::move(token)});
      });
}

Result<HeldLease> Service::hold(const Caller& caller, std::string_view reference, std::string_view token,
                                LeaseHolder holder) {
  TG_TRY(const JobId job,
         impl_->cell.read([&](const State& state) { return find_lease(state, caller, reference, token); }));
  return HeldLease{job, impl_->leases.attach(job, std::move(holder)), {}};
}

void Service::release(const Caller& caller, std::string reference, std::string token,
                      Done<wire::JobView> done) {
  impl_->command<wire::JobView>(
      [this, caller, reference = std::move(reference),
       token = std::move(token)](Transaction& transaction) -> Result<wire::JobView> {
        const State& state = transaction.state();
        TG_TRY(const JobId job, find_lease(state, caller, reference, token));
        const auto stop = impl_->leases.stop_of(job);
        const Outcome outcome = stop ? stop->outcome : Outcome::kSucceeded;
        const std::string message = "released by its holder" + (stop ? ": " + stop->message : "");
        record_lease_end(transaction, job, outcome, message, &caller);
        return make_job_view(state, job, caller.language);
      },
      std::move(done));
}

void Service::let_go(const HeldLease& lease) {
  if (lease.holder != 0) impl_->leases.detach(lease.job, lease.holder);
}

std::optional<wire::LeaseView> Service::lease_view(const HeldLease& lease, wire::Language language) const {
  auto view = impl_->cell.read([&](const State& state) -> std::optional<wire::LeaseView> {
    if (state.live(lease.job) == nullptr && !state.ended(lease.job)) return std::nullopt;
    wire::LeaseView found;
    found.job = make_job_view(state, lease.job, language);
    impl_->tell_grant(state, found.job, language);
    return found;
  });
  if (!view) return std::nullopt;
  view->grace_ms = impl_->options.lease_grace_ms;
  if (view->job.state == JobState::kEnded) return view;
  if (!impl_->leases.is_held_by(lease.job, lease.holder)) return std::nullopt;
  if (const auto stop = impl_->leases.stop_of(lease.job)) {
    view->stopping = stop->outcome;
    view->release_by = stop->release_by;
    view->job.message = wire::translated(stop->message, language);
  }
  return view;
}

void Service::keep_leases() {
  impl_->leases.freeze();
}

}  // namespace tangram::service
