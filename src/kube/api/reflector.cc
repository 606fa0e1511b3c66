#include "kube/api/reflector.h"

#include <utility>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A watch that ends sooner than this without a word is a trouble, or it would be asked for without pause.
constexpr milliseconds kShortWatch{1'000};

// Whether the failure says nothing about the request: nobody answers, or nobody may ask.
bool is_away(Failure failure) {
  return failure == Failure::kConnection || failure == Failure::kUnavailable ||
         failure == Failure::kTooManyRequests || failure == Failure::kUnauthorized ||
         failure == Failure::kForbidden;
}

tl::unexpected<Error> ended_early(const std::string& what) {
  return fail(Code::kUnavailable, "kube.connection",
              "the watch of " + what + " ended as soon as it had begun",
              "check the address of the API server and its certificate");
}

}  // namespace

Reflector::Reflector(ApiClient& client, ReflectorOptions options, ObjectSink& sink)
    : client_(client),
      options_(std::move(options)),
      sink_(sink),
      backoff_(options_.rests, client.timing()),
      watch_list_(options_.watch_list) {}

void Reflector::run(const net::Interrupt& stop) {
  while (!stop.raised()) {
    const auto went = version_.empty() ? sync(stop) : follow(false, stop);
    if (!went) recover(went.error(), stop);
  }
}

ReflectorStatus Reflector::status() const {
  return {synced_, events_, watches_, lists_, troubles_, milliseconds(heard_ms_.load())};
}

// ---- all that there is

Result<void> Reflector::sync(const net::Interrupt& stop) {
  if (watch_list_) {
    const auto went = follow(true, stop);
    // With a version the initial events had ended, and the stream broke later.
    if (went || !version_.empty() || !without_watch_list(went.error())) return went;
    note_trouble(went.error());
  }
  return sync_by_list(stop);
}

// Whether a list is the way out, now or for good.
bool Reflector::without_watch_list(const Error& error) {
  switch (failure_of(error)) {
    case Failure::kInvalid:  // forbidden by a server that has it switched off
    case Failure::kOther:
      if (error.reason != reason_of(failure_of(error))) return false;  // the sink's own
      watch_list_ = false;
      return true;
    case Failure::kTimeout:      // the bookmark never came
    case Failure::kUnavailable:  // what stands behind the server cannot do it
    case Failure::kUnreadable:
      return true;
    case Failure::kUnauthorized:
    case Failure::kForbidden:
    case Failure::kNotFound:
    case Failure::kAlreadyExists:
    case Failure::kConflict:
    case Failure::kGone:
    case Failure::kTooManyRequests:
    case Failure::kBudget:
    case Failure::kConnection:
    case Failure::kInterrupted:
      return false;
  }
  return false;
}

Result<void> Reflector::sync_by_list(const net::Interrupt& stop) {
  ++lists_;
  sink_.begin_replace();
  const auto put = [this](const json::object& object) -> Result<void> {
    const ObjectMeta meta = meta_of(object);
    if (meta.name.empty() || meta.resource_version.empty()) {
      return fail(Code::kInternal, "kube.answer.invalid",
                  "a list of " + options_.selection.resource.plural +
                      " holds an object without name or resource version");
    }
    return sink_.put(meta, object);
  };
  CallOptions call;
  call.interrupt = &stop;
  TG_TRY(version_, client_.list({options_.selection, options_.page_objects, {}}, put, call));
  sink_.end_replace();
  synced_ = true;
  heard();
  return {};
}

// ---- what changes

Result<void> Reflector::follow(bool initial, const net::Interrupt& stop) {
  Timing& timing = client_.timing();
  WatchQuery query;
  query.selection = options_.selection;
  query.resource_version = version_;
  query.initial_events = initial;
  query.open_for =
      options_.open_for +
      seconds(static_cast<std::int64_t>(static_cast<double>(options_.open_for.count()) * timing.jitter()));
  const milliseconds begun = timing.now();
  Stream stream{initial, false, begun + options_.initial_events_max};
  if (initial) {
    ++lists_;
    sink_.begin_replace();
  }
  ++watches_;
  TG_TRY_VOID(client_.watch(
      query, options_.silence_max, [&](std::string_view line) { return take(line, stream); }, &stop));
  if (stop.raised()) return {};
  const bool nothing = !stream.any && timing.now() - begun < kShortWatch;
  if (nothing || stream.initial) return ended_early(options_.selection.resource.plural);
  return {};
}

Result<bool> Reflector::take(std::string_view line, Stream& stream) {
  TG_TRY(const WatchEvent event, read_watch_event(reader_, line));
  if (event.type == WatchEvent::Type::kError)
    return fail(failure_from_status(*event.object, "watch " + options_.selection.resource.plural));
  const ObjectMeta meta = meta_of(*event.object);
  switch (event.type) {
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified:
      if (auto taken = sink_.put(meta, *event.object); !taken) {
        version_.clear();  // it is not known here, so nothing can be built on what follows
        return fail(std::move(taken).error());
      }
      break;
    case WatchEvent::Type::kDeleted:
      sink_.remove(meta, *event.object);
      break;
    case WatchEvent::Type::kBookmark:
      take_bookmark(event, stream);
      break;
    case WatchEvent::Type::kError:
      break;
  }
  // In the middle of the initial events there is no version to go on from.
  if (!stream.initial) version_ = meta.resource_version;
  stream.any = true;
  ++events_;
  heard();
  if (stream.initial && client_.timing().now() > stream.initial_by) {
    return fail(Code::kDeadlineExceeded, "kube.timeout",
                "the initial " + options_.selection.resource.plural + " of a watch did not end in time",
                "try again, or allow more time");
  }
  return true;
}

void Reflector::take_bookmark(const WatchEvent& event, Stream& stream) {
  if (!stream.initial || !event.initial_events_end) return;
  stream.initial = false;
  sink_.end_replace();
  synced_ = true;
}

void Reflector::heard() {
  progressed_ = true;
  heard_ms_ = client_.timing().now().count();
}

// ---- trouble

void Reflector::note_trouble(const Error& error) {
  ++troubles_;
  if (options_.on_trouble) options_.on_trouble(error);
}

void Reflector::recover(const Error& error, const net::Interrupt& stop) {
  const Failure failure = failure_of(error);
  if (failure == Failure::kInterrupted || stop.raised()) return;
  note_trouble(error);
  const bool progressed = std::exchange(progressed_, false);
  const bool gone = failure == Failure::kGone;
  // The server is there, and twice in a row it could make nothing of the version: list anew.
  const bool stuck = !progressed && !is_away(failure);
  if (gone || stuck) version_.clear();
  // What is nobody's overload needs no rest the first time.
  const bool at_once = progressed && (gone || failure == Failure::kTimeout);
  if (!at_once) client_.timing().rest(backoff_.next(retry_after(error).value_or(milliseconds(0))), &stop);
}

}  // namespace tangram::kube
