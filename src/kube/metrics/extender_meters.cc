#include "kube/metrics/extender_meters.h"

#include <string_view>

namespace tangram::kube::metrics {
namespace {

constexpr std::array kVerbNames = {std::string_view("filter"), std::string_view("prioritize"),
                                   std::string_view("bind")};
constexpr std::array kOutcomeNames = {std::string_view("ok"), std::string_view("refused"),
                                      std::string_view("failed")};

// From what a remembered verdict takes to what the scheduler waits, in seconds.
prometheus::Histogram::BucketBoundaries bounds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
          0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30};
}

}  // namespace

ExtenderMeters::ExtenderMeters() {
  for (auto& one : seconds_) one = std::make_unique<prometheus::Histogram>(bounds());
}

void ExtenderMeters::count(Verb verb, CallOutcome outcome, std::chrono::nanoseconds time) {
  const auto at = static_cast<std::size_t>(verb);
  ++calls_[at][static_cast<std::size_t>(outcome)];
  seconds_[at]->Observe(std::chrono::duration<double>(time).count());
}

std::uint64_t ExtenderMeters::calls(Verb verb, CallOutcome outcome) const {
  return calls_[static_cast<std::size_t>(verb)][static_cast<std::size_t>(outcome)];
}

void ExtenderMeters::add_to(Page& page) const {
  for (std::size_t verb = 0; verb < kVerbs; ++verb) {
    for (std::size_t outcome = 0; outcome < kOutcomes; ++outcome) {
      page.add(Metric::kExtenderRequests, static_cast<double>(calls_[verb][outcome]),
               {kVerbNames[verb], kOutcomeNames[outcome]});
    }
    page.add(Metric::kExtenderDuration, *seconds_[verb], {kVerbNames[verb]});
  }
}

}  // namespace tangram::kube::metrics
