#include "kube/manager/teller.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "kube/manager/pod_reference.h"
#include "kube/protocol/names.h"
#include "wire/schema.h"

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kIdle{1'000};
constexpr milliseconds kLookAtNotes{500};
constexpr std::size_t kNotesAtOnce = 32;

Resource tenants() {
  return {std::string(names::kGroup), std::string(names::kVersion), "tenants", false, "Tenant"};
}

std::string text_of_now(Timing& timing) {
  const auto now = std::chrono::duration_cast<milliseconds>(timing.wall().time_since_epoch());
  return wire::format_time(TimeMs(now.count()));
}

json::object parsed(const std::string& text) {
  return parse_object(text).value_or(json::object());
}

}  // namespace

Teller::Teller(ApiClient& client, ClusterBook& book, std::function<bool()> leads, TellOptions options,
               EventRecorder* events)
    : client_(client),
      book_(book),
      leads_(std::move(leads)),
      options_(options),
      events_(events),
      wakes_(options.wakes_burst, options.wake_every, client.timing().now()),
      notes_left_(options.notes_burst, options.note_every, client.timing().now()) {}

bool Teller::may_go_on(const net::Interrupt& stop) const {
  return !stop.raised() && leads_();
}

CallOptions Teller::call_for(const net::Interrupt& stop) const {
  CallOptions call;
  call.interrupt = &stop;
  call.timeout = options_.call;
  return call;
}

milliseconds Teller::step(const net::Interrupt& stop) {
  if (!may_go_on(stop) || !book_.ready()) return kIdle;
  wake(stop);
  tell(stop);
  write_statuses(stop);
  return std::min({kIdle, kLookAtNotes, options_.status_every});
}

// Any change of a Pod makes the scheduler look at it again; an annotation is the least of them.
void Teller::wake(const net::Interrupt& stop) {
  while (may_go_on(stop) && wakes_.wait(client_.timing().now()).count() == 0) {
    const std::vector<extender::PodRef> pods = book_.wakeable(1);
    if (pods.empty()) return;
    (void)wakes_.take(client_.timing().now());
    const extender::PodRef& pod = pods.front();
    json::object annotations;
    annotations[names::kWoken] = text_of_now(client_.timing());
    json::object patch{{"metadata", json::object{{"uid", pod.uid}, {"annotations", std::move(annotations)}}}};
    const auto done =
        client_.merge_patch({resources::pods(), pod.space, pod.name}, std::move(patch), {}, call_for(stop));
    if (done) {
      ++woken_;
      continue;
    }
    ++failed_;
    // A Pod that is gone, or another one by now, is not asked for again: the watch tells what it is.
    if (!is_transient(failure_of(done.error()))) continue;
    book_.not_woken(pod);
    return;
  }
}

Result<void> Teller::write_note(const PodNote& note, const CallOptions& call) {
  json::object condition{{"type", names::kQuotaCondition},
                         {"status", note.admitted ? "True" : "False"},
                         {"reason", note.reason},
                         {"message", note.message},
                         {"lastTransitionTime", text_of_now(client_.timing()).substr(0, 19) + "Z"}};
  json::array conditions;
  conditions.push_back(std::move(condition));
  json::object body{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       json::object{{"name", note.pod.name}, {"namespace", note.pod.space}, {"uid", note.pod.uid}}},
      {"status", json::object{{"conditions", std::move(conditions)}}}};
  TG_TRY([[maybe_unused]] const std::string now,
         client_.apply({resources::pods(), note.pod.space, note.pod.name, "status"}, json::serialize(body),
                       true, call));
  return {};
}

void Teller::tell(const net::Interrupt& stop) {
  const milliseconds now = client_.timing().now();
  if (now < looked_ + kLookAtNotes) return;
  looked_ = now;
  std::vector<PodNote> notes = book_.notes(options_.note_after, kNotesAtOnce);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (!may_go_on(stop) || !notes_left_.take(client_.timing().now())) return not_told(notes, i);
    const PodNote& note = notes[i];
    if (events_ != nullptr && !note.admitted) {
      events_->record({reference_of(note.pod), false, "WaitsForQuota", "Admit", note.message});
    }
    if (const auto done = write_note(note, call_for(stop))) {
      ++notes_;
    } else {
      ++failed_;
      book_.not_told(note.pod, true);
      if (is_transient(failure_of(done.error()))) return not_told(notes, i + 1);
    }
  }
}

void Teller::not_told(const std::vector<PodNote>& notes, std::size_t from) {
  for (std::size_t i = from; i < notes.size(); ++i) book_.not_told(notes[i].pod, false);
}

json::object tenant_status(const TenantUse& use) {
  wire::QuotaView view;
  view.tenant.name = use.name;
  view.used = use.used;
  json::object whole = parsed(wire::write(view));
  json::object status;
  if (json::value* const used = whole.if_contains("used")) status["used"] = std::move(*used);
  status["effective"] = parsed(wire::write(use.effective));
  status["queued"] = use.queued;
  status["namespaces"] = use.namespaces;
  if (!use.closed.empty()) {
    json::array conditions;
    conditions.push_back(
        json::object{{"type", "Ready"}, {"status", "False"}, {"reason", "Closed"}, {"message", use.closed}});
    status["conditions"] = std::move(conditions);
  }
  return status;
}

void Teller::write_statuses(const net::Interrupt& stop) {
  const milliseconds begun = client_.timing().now();
  if (summed_up_.count() != 0 && begun < summed_up_ + options_.status_every / 2) return;
  summed_up_ = begun;
  const std::vector<TenantUse> uses = book_.tenants();
  std::set<std::string> present;
  for (const TenantUse& use : uses) {
    present.insert(use.name);
    if (!may_go_on(stop)) return;
    Told& told = told_[use.name];
    const milliseconds now = client_.timing().now();
    const bool is_new = told.at.count() == 0;
    if (!is_new && now < told.at + options_.status_every) continue;
    const json::object body{{"apiVersion", tenants().api_version()},
                            {"kind", "Tenant"},
                            {"metadata", json::object{{"name", use.name}}},
                            {"status", tenant_status(use)}};
    std::string text = json::serialize(body);
    if (text == told.body) continue;
    told.at = now;
    const auto done = client_.apply({tenants(), "", use.name, "status"}, text, true, call_for(stop));
    if (done) {
      ++statuses_;
      told.body = std::move(text);
    } else {
      ++failed_;
      if (is_transient(failure_of(done.error()))) return;
    }
  }
  std::erase_if(told_, [&](const auto& one) { return !present.contains(one.first); });
}

}  // namespace tangram::kube::manager
