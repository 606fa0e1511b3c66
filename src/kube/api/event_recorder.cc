#include "kube/api/event_recorder.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "base/quote.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kNoteBytesMax = 1'000;  // 1024 with the sign that it was cut
constexpr std::size_t kWordBytesMax = 128;
constexpr std::size_t kNameStemMax = 230;  // of 253, with the number behind it
constexpr int kTriesMax = 3;
constexpr milliseconds kRetryRest{5'000};
constexpr milliseconds kTurn{250};
constexpr milliseconds kCallMost{10'000};

std::string word(const std::string& text) {
  return std::string(cut_text(text, kWordBytesMax));
}

std::string space_of(const ObjectReference& object) {
  return object.space.empty() ? "default" : object.space;
}

}  // namespace

EventRecorder::EventRecorder(ApiClient& client, RecorderOptions options)
    : client_(client),
      options_(std::move(options)),
      bucket_(options_.burst, options_.every, client.timing().now()) {}

std::string EventRecorder::key_of(const EventNote& event) {
  const ObjectReference& object = event.regarding;
  // No part can hold a line feed that would make two keys one: names and uids of the API have none.
  std::string key;
  for (const std::string& part :
       {object.uid, object.kind, object.space, object.name, event.reason, event.action}) {
    key += part;
    key += '\n';
  }
  return key + (event.warning ? 'W' : 'N');
}

std::size_t EventRecorder::kept() const {
  const std::lock_guard lock(mutex_);
  return series_.size();
}

void EventRecorder::record(EventNote event) {
  ++recorded_;
  event.note = printable(event.note, kNoteBytesMax);
  event.reason = word(event.reason);
  event.action = word(event.action.empty() ? event.reason : event.action);
  const milliseconds now = client_.timing().now();
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(event);
  auto at = series_.find(key);
  if (at == series_.end()) {
    if (!make_room(now)) {
      ++dropped_;
      return;
    }
    at = series_.emplace(key, Series{}).first;
    at->second.due = now;
  }
  Series& series = at->second;
  if (series.unwritten++ == 0 && !series.writing) {
    quiet_.erase({series.seen, key});
    due_.emplace(series.due, key);
  }
  series.latest = std::move(event);
  series.last_at = client_.timing().wall();
  series.seen = now;
}

// What has been quiet longest goes; false when there is nothing that could.
bool EventRecorder::make_room(milliseconds now) {
  forget_old(now);
  if (series_.size() < options_.kept_max) return true;
  if (quiet_.empty()) return false;
  series_.erase(quiet_.begin()->second);
  quiet_.erase(quiet_.begin());
  return true;
}

void EventRecorder::forget_old(milliseconds now) {
  while (!quiet_.empty() && now - quiet_.begin()->first >= options_.forget_after) {
    series_.erase(quiet_.begin()->second);
    quiet_.erase(quiet_.begin());
  }
}

void EventRecorder::run(const net::Interrupt& stop) {
  while (!stop.raised()) {
    write_due(&stop);
    client_.timing().rest(kTurn, &stop);
  }
}

void EventRecorder::write_due(const net::Interrupt* stop) {
  while (stop == nullptr || !stop->raised()) {
    const auto write = next_write(client_.timing().now());
    if (!write) return;
    auto sent = send(*write, stop);
    std::optional<Error> error;
    if (!sent) error = std::move(sent).error();
    settle(*write, error, client_.timing().now());
    if (error && options_.on_trouble) options_.on_trouble(*error);
  }
}

std::optional<EventRecorder::Write> EventRecorder::next_write(milliseconds now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  if (due_.empty() || due_.begin()->first > now || !bucket_.take(now)) return std::nullopt;
  const std::string key = due_.begin()->second;
  due_.erase(due_.begin());
  Series& series = series_.at(key);
  series.writing = true;
  return write_of(key, series);
}

EventRecorder::Write EventRecorder::write_of(const std::string& key, Series& series) {
  Write write;
  write.key = key;
  write.space = space_of(series.latest.regarding);
  write.unwritten = series.unwritten;
  write.note = series.latest.note;
  write.create = series.event_name.empty() || series.written_note != series.latest.note;
  if (write.create) series.count = 0;
  series.count += series.unwritten;
  series.unwritten = 0;
  write.event_name = write.create ? new_name(series.latest.regarding.name) : series.event_name;
  if (write.create) {
    write.body = event_of(series, write.event_name, write.space);
  }
  if (series.count >= 2) {
    write.body["series"] =
        json::object{{"count", series.count}, {"lastObservedTime", micro_time(series.last_at)}};
  }
  return write;
}

json::object EventRecorder::event_of(const Series& series, const std::string& name,
                                     const std::string& space) const {
  const EventNote& event = series.latest;
  const ObjectReference& about = event.regarding;
  json::object regarding{{"apiVersion", about.api_version}, {"kind", about.kind}, {"name", about.name}};
  if (!about.space.empty()) regarding["namespace"] = about.space;
  if (!about.uid.empty()) regarding["uid"] = about.uid;
  if (!about.resource_version.empty()) regarding["resourceVersion"] = about.resource_version;
  return {{"apiVersion", "events.k8s.io/v1"},
          {"kind", "Event"},
          {"metadata", json::object{{"name", name}, {"namespace", space}}},
          {"eventTime", micro_time(series.last_at)},
          {"reportingController", options_.controller},
          {"reportingInstance", word(options_.instance)},
          {"regarding", std::move(regarding)},
          {"type", event.warning ? "Warning" : "Normal"},
          {"reason", event.reason},
          {"action", event.action},
          {"note", event.note}};
}

// Unique by the clock, and by a number within this process.
std::string EventRecorder::new_name(const std::string& object_name) {
  using std::chrono::microseconds;
  const auto micros = std::chrono::duration_cast<microseconds>(client_.timing().wall().time_since_epoch());
  std::string stem = object_name.substr(0, kNameStemMax);
  while (!stem.empty() && (stem.back() == '-' || stem.back() == '.')) stem.pop_back();
  std::array<char, 40> number{};
  (void)std::snprintf(number.data(), number.size(), ".%llx%03llx",
                      static_cast<unsigned long long>(micros.count()),
                      static_cast<unsigned long long>(names_++ % 4'096));
  return stem + number.data();
}

Result<std::string> EventRecorder::send(const Write& write, const net::Interrupt* stop) {
  CallOptions call;
  call.interrupt = stop;
  call.timeout = kCallMost;
  if (write.create)
    return client_.create(resources::events(), write.space, json::serialize(write.body), call);
  return client_.merge_patch({resources::events(), write.space, write.event_name}, write.body, {}, call);
}

void EventRecorder::settle(const Write& write, const std::optional<Error>& error, milliseconds now) {
  const std::lock_guard lock(mutex_);
  Series& series = series_.at(write.key);
  series.writing = false;
  if (!error) {
    ++written_;
    series.event_name = write.event_name;
    series.written_note = write.note;
    series.tries = 0;
    series.due = now + options_.write_again;
  } else {
    const Failure failure = failure_of(*error);
    // The server forgets events after an hour; and a name may be taken.
    const bool anew = failure == Failure::kNotFound ? !write.create : failure == Failure::kAlreadyExists;
    if (anew) series.event_name.clear();
    const bool again = (anew || is_transient(failure)) && ++series.tries < kTriesMax;
    if (again) {
      series.unwritten += write.unwritten;
      series.count -= write.unwritten;
    } else {
      dropped_ += static_cast<std::uint64_t>(write.unwritten);
      series.tries = 0;
    }
    series.due =
        now + (again ? std::max(kRetryRest, retry_after(*error).value_or(kRetryRest)) : options_.write_again);
  }
  if (series.unwritten > 0) {
    due_.emplace(series.due, write.key);
  } else {
    quiet_.emplace(series.seen, write.key);
  }
}

}  // namespace tangram::kube
