#include "ascendsim/daemon/timeline.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace ascendsim {
namespace {

// A bound on the work of one call, so that a flood of tiny tasks cannot keep the driver from its other
// clients.
constexpr int kStartsPerAdvanceMax = 4096;

std::optional<Engine> engine_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kMatrix:
      return Engine::kCube;
    case TaskKind::kVector:
      return Engine::kVector;
    case TaskKind::kHostToDevice:
      return Engine::kHostToDevice;
    case TaskKind::kDeviceToHost:
      return Engine::kDeviceToHost;
    case TaskKind::kOnDevice:
      return Engine::kOnDevice;
    case TaskKind::kMark:
    case TaskKind::kWait:
    case TaskKind::kHost:
    case TaskKind::kHostDone:
      break;
  }
  return std::nullopt;
}

}  // namespace

Timeline::Timeline(std::size_t npus, Post post) : post_(std::move(post)), npus_(npus), first_ready_(npus) {
  for (auto& engines : first_ready_) engines.fill(kNever);
}

void Timeline::add_stream(ClientId client, std::uint32_t stream, std::uint32_t npu, std::uint32_t priority) {
  Stream& added = streams_[{client, stream}];
  added.client = client;
  added.id = stream;
  added.npu = npu;
  added.priority = priority;
}

void Timeline::abort_queue(Stream& stream, Status status, std::uint64_t now_ns) {
  for (const Work& work : stream.queue) {
    if (work.kind == TaskKind::kMark) mark_ended(stream.client, work.task, now_ns);
    post_(stream.client, {work.task, now_ns, now_ns, NoticeKind::kEnds, status});
  }
  if (stream.host_task != 0)
    post_(stream.client, {stream.host_task, now_ns, now_ns, NoticeKind::kEnds, status});
  stream.host_task = 0;
  stream.queue.clear();
  active_.erase({stream.client, stream.id});
}

void Timeline::drop_stream(ClientId client, std::uint32_t stream, std::uint64_t now_ns) {
  const auto found = streams_.find({client, stream});
  if (found == streams_.end()) return;
  abort_queue(found->second, Status::kAborted, now_ns);
  streams_.erase(found);
}

void Timeline::drop_client(ClientId client, std::uint64_t now_ns) {
  const auto first = streams_.lower_bound({client, 0});
  const auto last = streams_.lower_bound({client + 1, 0});
  streams_.erase(first, last);
  active_.erase(active_.lower_bound({client, 0}), active_.lower_bound({client + 1, 0}));
  marks_.erase(client);
  for (Npu& npu : npus_) {
    for (EngineState& engine : npu.engines) {
      if (engine.running_for != client) continue;
      engine.free_ns = std::min(engine.free_ns, now_ns);
      engine.meter.cut(now_ns);
      engine.running_for = 0;
    }
  }
}

void Timeline::lose_npu(std::uint32_t npu, std::uint64_t now_ns) {
  npus_[npu].lost = true;
  for (auto& [key, stream] : streams_) {
    if (stream.npu == npu) abort_queue(stream, Status::kLost, now_ns);
  }
  for (EngineState& engine : npus_[npu].engines) {
    engine.free_ns = std::min(engine.free_ns, now_ns);
    engine.meter.cut(now_ns);
  }
}

void Timeline::submit(ClientId client, std::uint32_t stream, const Work& work) {
  Stream& target = streams_.at({client, stream});
  if (npus_[target.npu].lost) {
    post_(client, {work.task, work.submitted_ns, work.submitted_ns, NoticeKind::kEnds, Status::kLost});
    return;
  }
  if (work.kind == TaskKind::kMark) marks_[client].pending.insert(work.task);
  target.queue.push_back(work);
  if (target.host_task == 0) active_[{client, stream}] = &target;
}

bool Timeline::finish_host_task(ClientId client, std::uint64_t task, std::uint64_t now_ns) {
  const auto last = streams_.lower_bound({client + 1, 0});
  for (auto it = streams_.lower_bound({client, 0}); it != last; ++it) {
    Stream& stream = it->second;
    if (task == 0 || stream.host_task != task) continue;
    stream.host_task = 0;
    stream.last_end_ns = std::max(stream.last_end_ns, now_ns);
    post_(client, {task, now_ns, stream.last_end_ns, NoticeKind::kEnds, Status::kOk});
    if (!stream.queue.empty()) active_[it->first] = &stream;
    return true;
  }
  return false;
}

std::uint64_t Timeline::ready_time(const Stream& stream) const {
  const Work& head = stream.queue.front();
  std::uint64_t ready_ns = std::max(head.submitted_ns, stream.last_end_ns);
  if (head.kind != TaskKind::kWait) return ready_ns;
  const auto marks = marks_.find(stream.client);
  if (marks == marks_.end()) return ready_ns;
  if (marks->second.pending.count(head.after) != 0) return kNever;
  for (const auto& [task, end_ns] : marks->second.ended) {
    if (task == head.after) ready_ns = std::max(ready_ns, end_ns);
  }
  return ready_ns;
}

Timeline::Choice Timeline::choose() {
  struct Ready {
    Stream* stream;
    std::uint64_t ready_ns;
    std::size_t engine;
  };
  // first_ready_: when somebody is first ready for each engine. There may be many engines and few at work.
  std::vector<Ready> ready;
  ready.reserve(active_.size());
  Choice best;
  bool best_is_mark = false;
  for (const auto& [key, stream] : active_) {
    const std::uint64_t ready_ns = ready_time(*stream);
    if (ready_ns == kNever) continue;
    const auto engine = engine_of(stream->queue.front().kind);
    if (engine) {
      const auto index = static_cast<std::size_t>(*engine);
      ready.push_back({stream, ready_ns, index});
      std::uint64_t& first = first_ready_[stream->npu][index];
      first = std::min(first, ready_ns);
    } else if (ready_ns < best.start_ns) {
      best = {stream, ready_ns, ready_ns};
      best_is_mark = true;
    }
  }
  for (const auto& [stream, ready_ns, engine] : ready) {
    const std::uint64_t free_ns = npus_[stream->npu].engines[engine].free_ns;
    const std::uint64_t start_ns = std::max(free_ns, first_ready_[stream->npu][engine]);
    if (ready_ns > start_ns || start_ns > best.start_ns) continue;
    if (start_ns == best.start_ns) {
      // A mark at the same instant goes first: it may make a task of higher priority ready for this very
      // start.
      if (best_is_mark) continue;
      if (std::tie(best.stream->priority, best.ready_ns) <= std::tie(stream->priority, ready_ns)) continue;
    }
    best = {stream, ready_ns, start_ns};
    best_is_mark = false;
  }
  for (const Ready& one : ready) first_ready_[one.stream->npu][one.engine] = kNever;
  return best;
}

void Timeline::start(const Choice& choice) {
  Stream& stream = *choice.stream;
  const Work work = stream.queue.front();
  stream.queue.pop_front();
  const std::uint64_t start_ns = choice.start_ns;
  if (work.kind == TaskKind::kHost) {
    stream.host_task = work.task;
    stream.last_end_ns = start_ns;
    active_.erase({stream.client, stream.id});
    post_(stream.client, {work.task, start_ns, start_ns, NoticeKind::kStarted, Status::kOk});
    return;
  }
  const Status status = work.cost_ns > kExecutionNsMax ? Status::kTimeout : Status::kOk;
  const std::uint64_t end_ns = start_ns + std::min(work.cost_ns, kExecutionNsMax);
  stream.last_end_ns = end_ns;
  if (const auto engine = engine_of(work.kind)) {
    EngineState& state = npus_[stream.npu].engines[static_cast<std::size_t>(*engine)];
    state.free_ns = end_ns;
    state.running_for = stream.client;
    state.meter.add(start_ns, end_ns);
  }
  if (work.kind == TaskKind::kMark) mark_ended(stream.client, work.task, end_ns);
  if (stream.queue.empty()) active_.erase({stream.client, stream.id});
  post_(stream.client, {work.task, start_ns, end_ns, NoticeKind::kEnds, status});
}

std::uint64_t Timeline::advance(std::uint64_t now_ns) {
  for (int i = 0; i < kStartsPerAdvanceMax; ++i) {
    const Choice next = choose();
    if (next.stream == nullptr) return kNever;
    if (next.start_ns > now_ns) return next.start_ns;
    start(next);
  }
  return now_ns;
}

void Timeline::mark_ended(ClientId client, std::uint64_t task, std::uint64_t end_ns) {
  Marks& marks = marks_[client];
  marks.pending.erase(task);
  if (marks.ended.size() < Marks::kRemembered) {
    marks.ended.emplace_back(task, end_ns);
  } else {
    marks.ended[marks.next] = {task, end_ns};
    marks.next = (marks.next + 1) % Marks::kRemembered;
  }
}

std::uint32_t Timeline::busy_percent(std::uint32_t npu, Engine engine, std::uint64_t now_ns) const {
  return npus_[npu].engines[static_cast<std::size_t>(engine)].meter.percent(now_ns);
}

}  // namespace ascendsim
