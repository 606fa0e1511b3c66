// The use-cases that change something: each is one command of the writer.
#include <algorithm>
#include <functional>
#include <utility>

#include "service/service_impl.h"
#include "service/submission.h"
#include "wire/errors.h"
#include "wire/sentences.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

// Says more of an error than the core can.
using Reword = std::function<Error(Error)>;
using TellGrant = std::function<void(const State&, wire::JobView&)>;

// One document on a copy of the state; on success, the record that was applied, if one was needed.
struct Applied {
  wire::ApplyItem item;
  std::optional<wire::JournalRecord> record;
};

Result<Applied> apply_tenant(const State& state, const Options& options, const wire::TenantDoc& document) {
  Applied applied;
  applied.item = {"Tenant", document.name, "created"};
  TG_TRY(auto record, resolve_tenant(state, options, document));
  const auto known = state.core().find_tenant(document.name);
  if (known) {
    const auto before = state.core().tenant(*known);
    const wire::TenantExtras* extras = state.extras(*known);
    const bool same =
        before && before->spec == record.input.spec && extras != nullptr && *extras == record.extras;
    applied.item.result = same ? "unchanged" : "changed";
    if (same) return applied;
  }
  applied.record = std::move(record);
  return applied;
}

Result<Applied> apply_job(const State& state, const Options& options, const Caller& caller,
                          const wire::JobSubmission& document) {
  Applied applied;
  applied.item = {"Job", document.name, "created"};
  if (!document.name.empty()) {
    const auto tenant = state.core().find_tenant(document.tenant);
    const auto namesake = tenant ? state.find_job(*tenant, document.name) : std::nullopt;
    if (namesake && state.live(*namesake) != nullptr) {
      wire::JobSubmission unnamed = document;
      unnamed.name.clear();
      TG_TRY(auto wanted, resolve_submission(state, options, caller, unnamed));
      wanted.program.name = document.name;
      if (is_same_job(state, *namesake, wanted)) {
        applied.item.result = "unchanged";
        return applied;
      }
    }
  }
  TG_TRY(auto record, resolve_submission(state, options, caller, document));
  applied.item.name = record.program.name;
  applied.record = std::move(record);
  return applied;
}

Result<wire::ApplyAnswer> apply_all(Transaction& transaction, const Options& options, const Caller& caller,
                                    const std::vector<wire::Document>& documents, const Reword& reword) {
  // Each document is checked against what those before it make, and nothing counts until all have passed.
  State fork = transaction.state();
  wire::ApplyAnswer answer;
  std::vector<wire::JournalRecord> records;
  for (const wire::Document& document : documents) {
    const auto* tenant = std::get_if<wire::TenantDoc>(&document.value);
    auto applied = tenant != nullptr
                       ? apply_tenant(fork, options, *tenant)
                       : apply_job(fork, options, caller, std::get<wire::JobSubmission>(document.value));
    if (!applied) {
      Error error = reword(std::move(applied).error());
      if (documents.size() > 1) error.message = document.where + ": " + error.message;
      return fail(std::move(error));
    }
    answer.items.push_back(std::move(applied->item));
    std::optional<wire::JournalRecord> record = std::move(applied->record);
    if (!record) continue;
    fork.apply(*record, transaction.now());
    records.push_back(std::move(*record));
  }
  for (wire::JournalRecord& record : records) transaction.record(std::move(record));
  return answer;
}

Answer problem(const Error& error, wire::Language language) {
  return {wire::http_status(error), wire::write_problem(wire::localised(error, language))};
}

// Records one job: its id, or why there is none.
Result<JobId> record_job(Transaction& transaction, const Options& options, const Caller& caller,
                         const Result<wire::JobSubmission>& submission, const SubmitRequest& request,
                         const Reword& reword) {
  if (!submission) return fail(submission.error());
  TG_TRY(auto record,
         resolve_submission(transaction.state(), options, caller, *submission).map_error(reword));
  record.program.idempotency_key = request.idempotency_key;
  if (!request.idempotency_key.empty()) record.program.request_hash = request.request_hash;
  const JobId job = record.input.spec.id;
  transaction.record(std::move(record));
  return job;
}

Answer submit_all(Transaction& transaction, const Options& options, const Caller& caller,
                  const SubmitRequest& request, const Reword& reword, const TellGrant& tell_grant) {
  if (!request.idempotency_key.empty()) {
    if (const auto* before = transaction.state().answer(caller.uid, caller.token, request.idempotency_key)) {
      if (before->request_hash == request.request_hash) return {before->status, before->body};
      return problem({Code::kAlreadyExists,
                      "idempotency.mismatch",
                      "Idempotency-Key " + request.idempotency_key + " was used for another request",
                      "use a new key for a new request",
                      {},
                      nullptr},
                     caller.language);
    }
  }
  std::vector<Result<JobId>> jobs;
  for (const auto& submission : request.submissions.items) {
    jobs.push_back(record_job(transaction, options, caller, submission, request, reword));
    // Decided one by one, so that one that is not to wait finds what those before it left.
    if (jobs.back() && submission->no_wait) transaction.decide();
  }
  const bool recorded =
      std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return job.has_value(); });
  if (recorded) transaction.decide();

  Answer answer;
  const State& state = transaction.state();
  if (request.submissions.batch) {
    wire::SubmitAnswer items;
    for (const auto& job : jobs) {
      items.items.push_back(decided_view(state, job, caller.language));
      if (items.items.back()) tell_grant(state, *items.items.back());
    }
    answer = {200, wire::write(items)};
  } else {
    auto view = decided_view(state, jobs.front(), caller.language);
    if (view) tell_grant(state, *view);
    answer = view ? Answer{201, wire::write(*view)} : problem(view.error(), caller.language);
  }
  if (recorded && !request.idempotency_key.empty()) {
    transaction.record(wire::IdempotentAnswer{caller.uid, request.idempotency_key, request.request_hash,
                                              answer.status, answer.body, caller.token});
  }
  return answer;
}

}  // namespace

void Service::apply(const Caller& caller, std::vector<wire::Document> documents,
                    Done<wire::ApplyAnswer> done) {
  if (auto allowed = require_operator(caller, "apply documents"); !allowed) {
    done(fail(std::move(allowed).error()));
    return;
  }
  impl_->command<wire::ApplyAnswer>(
      [this, caller, documents = std::move(documents)](Transaction& transaction) {
        return apply_all(transaction, impl_->options, caller, documents,
                         [this](Error error) { return impl_->reword_unsupported(std::move(error)); });
      },
      std::move(done));
}

void Service::delete_tenant(const Caller& caller, std::string name, Done<void> done) {
  if (auto allowed = require_operator(caller, "delete a tenant"); !allowed) {
    done(fail(std::move(allowed).error()));
    return;
  }
  impl_->command<void>(
      [caller, name = std::move(name)](Transaction& transaction) -> Result<void> {
        TG_TRY(const TenantId id, find_tenant(transaction.state(), caller, name));
        TG_TRY_VOID(transaction.state().core().check(Input(TenantDeleted{id})));
        transaction.record(TenantDeleted{id});
        return {};
      },
      std::move(done));
}

void Service::set_quota(const Caller& caller, std::string name, Quota quota, Done<wire::QuotaView> done) {
  if (auto allowed = require_operator(caller, "set quotas"); !allowed) {
    done(fail(std::move(allowed).error()));
    return;
  }
  impl_->command<wire::QuotaView>(
      [caller, name = std::move(name), quota](Transaction& transaction) -> Result<wire::QuotaView> {
        const State& state = transaction.state();
        TG_TRY(const TenantId id, find_tenant(state, caller, name));
        wire::TenantPutRecord record;
        record.input = {id, state.core().tenant(id)->spec};
        record.extras = *state.extras(id);
        const bool same = record.input.spec.quota == quota;
        record.input.spec.quota = quota;
        TG_TRY_VOID(state.core().check(Input(record.input)));
        if (!same) transaction.record(record);
        return make_quota_view(state, id, caller.language);
      },
      std::move(done));
}

void Service::submit(const Caller& caller, SubmitRequest request, std::function<void(Answer)> done) {
  if (const auto allowed = require_writer(caller, "submit jobs"); !allowed) {
    return done(problem(allowed.error(), caller.language));
  }
  impl_->command<Answer>(
      [this, caller, request = std::move(request)](Transaction& transaction) -> Result<Answer> {
        return submit_all(
            transaction, impl_->options, caller, request,
            [this](Error error) { return impl_->reword_unsupported(std::move(error)); },
            [this, &caller](const State& state, wire::JobView& view) {
              impl_->tell_grant(state, view, caller.language);
            });
      },
      [done = std::move(done), language = caller.language](Result<Answer> answer) {
        done(answer ? std::move(*answer) : problem(answer.error(), language));
      });
}

void Service::cancel(const Caller& caller, std::string reference, Done<wire::JobView> done) {
  if (auto allowed = require_writer(caller, "cancel jobs"); !allowed) {
    return done(fail(std::move(allowed).error()));
  }
  impl_->command<wire::JobView>(
      [caller, reference = std::move(reference)](Transaction& transaction) -> Result<wire::JobView> {
        const State& state = transaction.state();
        TG_TRY(const JobId job, find_job(state, caller, reference));
        if (const auto ended = state.ended(job)) return fail(job_ended(job, *ended));
        const wire::JobCancelledRecord record = make_cancellation(job, "", &caller);
        TG_TRY_VOID(state.core().check(Input(record.input)));
        if (!state.core().job(job)->cancel_requested) transaction.record(record);
        return make_job_view(state, job, caller.language);
      },
      std::move(done));
}

}  // namespace tangram::service
