#include "load_stream.h"

#include <algorithm>
#include <utility>

namespace tangram::bench {
namespace {

// How often `needle` stands in `text`.
std::uint64_t count_of(const std::string& text, const std::string& needle) {
  std::uint64_t count = 0;
  for (auto at = text.find(needle); at != std::string::npos; at = text.find(needle, at + needle.size()))
    ++count;
  return count;
}

std::string id_in(const std::string& job_view) {
  const std::string mark = R"("id":")";
  const auto begin = job_view.find(mark);
  if (begin == std::string::npos) return {};
  const auto end = job_view.find('"', begin + mark.size());
  return job_view.substr(begin + mark.size(), end - begin - mark.size());
}

}  // namespace

LoadStream::LoadStream(boost::asio::io_context& io, const Target& to, StreamSpec spec, const Slots& slots,
                       IntendedTimes& times, std::string run)
    : to_(to), spec_(std::move(spec)), slots_(slots), times_(times), run_(std::move(run)), timer_(io) {
  lanes_.resize(spec_.connections);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].connection = make_load_connection(io, to);
    idle_.push_back(i);
  }
}

void LoadStream::start(Clock::time_point end) {
  end_ = end;
  tick();
}

bool LoadStream::finished() const {
  return meant_for(next_) >= end_ && waiting_.empty() && idle_.size() == lanes_.size();
}

Clock::time_point LoadStream::meant_for(std::uint64_t index) const {
  const double seconds = static_cast<double>(index) / spec_.rate;
  return slots_.begin() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void LoadStream::tick() {
  const auto now = Clock::now();
  for (; meant_for(next_) <= now && meant_for(next_) < end_; ++next_) {
    const auto intended = meant_for(next_);
    if (spec_.disturbs && !slots_.disturbed(intended)) continue;
    waiting_.push_back(intended);
    own_delay_.add(now - intended);
  }
  send_waiting();
  if (meant_for(next_) >= end_) return;
  timer_.expires_at(meant_for(next_));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void LoadStream::send_waiting() {
  while (!waiting_.empty() && !idle_.empty()) {
    Lane& lane = lanes_[idle_.back()];
    const std::size_t number = idle_.back();
    idle_.pop_back();
    lane.intended = waiting_.front();
    waiting_.pop_front();
    lane.request = next_request(lane);
    ++sent_;
    lane.connection->exchange(lane.request, [this, number](const Answer& answer) {
      take(lanes_[number], answer);
      idle_.push_back(number);
      send_waiting();
    });
  }
}

std::string LoadStream::next_request(Lane& lane) {
  lane.first_job = times_.size();
  switch (spec_.kind) {
    case StreamSpec::Kind::kSubmit:
      return make_request(to_, "POST", "/v1/jobs", job_body(lane.intended));
    case StreamSpec::Kind::kBatch: {
      std::string body = R"({"items":[)";
      for (std::size_t i = 0; i < spec_.batch; ++i) body += (i == 0 ? "" : ",") + job_body(lane.intended);
      return make_request(to_, "POST", "/v1/jobs", body + "]}");
    }
    case StreamSpec::Kind::kWhy:
      return make_request(
          to_, "GET",
          "/v1/jobs/j-" + std::to_string(spec_.first_job + asked_++ * 7919 % spec_.jobs) + "/why");
    case StreamSpec::Kind::kMetrics:
      return make_request(to_, "GET", "/metrics");
    case StreamSpec::Kind::kList:
      return make_request(to_, "GET", "/v1/jobs?limit=100");
    case StreamSpec::Kind::kGet:
      return make_request(to_, "GET", spec_.path);
    case StreamSpec::Kind::kEvents:
      break;
  }
  return {};
}

std::string LoadStream::job_body(Clock::time_point intended) {
  const std::size_t number = times_.add(intended);
  const std::string program = spec_.program.empty() ? R"("python3","train.py","--epochs","10")"
                                                    : R"("/bin/bash","-c",")" + spec_.program + '"';
  return R"({"name":"load-)" + run_ + '-' + std::to_string(number) + R"(","tenant":"load-)" +
         std::to_string(number % spec_.tenants) + R"(","npus":)" + std::to_string(spec_.npus) +
         R"(,"memory":"16GiB","timeLimit":"1h","labels":{"app":"load"},"env":{"SEED":"42"},"command":[)" +
         program + "]}";
}

void LoadStream::take(Lane& lane, const Answer& answer) {
  const auto latency = Clock::now() - lane.intended;
  ++outcomes_.by_status[answer.status == 0 ? "connection" : std::to_string(answer.status)];
  if (answer.status >= 200 && answer.status < 300) {
    if (slots_.settled(lane.intended)) (slots_.disturbed(lane.intended) ? disturbed_ : quiet_).add(latency);
    count_jobs(lane, answer);
  } else if (outcomes_.first_error.empty()) {
    outcomes_.first_error = answer.body.substr(0, 300);
  }
}

void LoadStream::count_jobs(const Lane& lane, const Answer& answer) {
  if (spec_.kind == StreamSpec::Kind::kSubmit) {
    ++outcomes_.jobs;
    accepted_.emplace_back(id_in(answer.body), lane.first_job);
  } else if (spec_.kind == StreamSpec::Kind::kBatch) {
    const std::uint64_t accepted = count_of(answer.body, R"({"job":{)");
    outcomes_.jobs += accepted;
    if (accepted != spec_.batch && outcomes_.first_error.empty()) {
      const auto error = answer.body.find(R"({"error":)");
      if (error != std::string::npos) outcomes_.first_error = answer.body.substr(error, 300);
    }
  }
}

std::string LoadStream::to_json(double seconds) {
  std::string statuses;
  for (const auto& [status, count] : outcomes_.by_status) {
    statuses += (statuses.empty() ? "\"" : ",\"") + status + "\":" + std::to_string(count);
  }
  const auto unanswered = waiting_.size() + (lanes_.size() - idle_.size());
  return R"({"name":")" + spec_.name + R"(","seconds":)" + std::to_string(seconds) + R"(,"sent":)" +
         std::to_string(sent_) + R"(,"unanswered":)" + std::to_string(unanswered) + R"(,"jobs":)" +
         std::to_string(outcomes_.jobs) + R"(,"statuses":{)" + statuses + R"(},"first_error":)" +
         json_text(outcomes_.first_error) + R"(,"quiet":)" + quiet_.to_json() + R"(,"disturbed":)" +
         disturbed_.to_json() + R"(,"own_delay":)" + own_delay_.to_json() + "}";
}

}  // namespace tangram::bench
