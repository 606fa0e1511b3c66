// Records as a journal may hold them, one a line ("TIME KIND BODY"), applied to a state in their order. What
// cannot follow is an error; what is taken leaves a state that can be written down, read back and decided
// upon.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

#include "input.h"
#include "require.h"
#include "service/state.h"
#include "wire/record.h"

namespace tangram::fuzz {
namespace {

constexpr std::size_t kRecordsMax = 200;

void replay(service::State& state, std::string_view kind, std::string_view body, TimeMs at) {
  const auto record = wire::decode_record(kind, body);
  if (!record) return require_presentable(record.error());
  require(wire::record_kind(*record) == kind, "a record has its own kind");
  const auto again = wire::decode_record(kind, wire::encode_record(*record));
  require(again && *again == *record, "a record that is written says the same");
  const auto checked = state.check(*record, at);
  if (checked) return state.apply(*record, at);
  require_presentable(checked.error());
  require(checked.error().reason == "record.impossible", "what cannot be is called so");
}

// The daemon goes on from here.
void go_on(service::State state) {
  const TimeMs now = state.last_time();
  for (int rounds = 0; rounds < 3; ++rounds) {
    const auto decisions = state.core().decide(now, 64);
    for (const Decision& decision : decisions) {
      std::visit(
          [&](const auto& made) {
            require(state.check(made, now).has_value(), "a decision just made can follow");
            state.apply(made, now);
          },
          decision);
    }
    if (decisions.empty()) break;
  }
  (void)state.core().next_wakeup();
  const std::vector<JobId> queue = state.core().queue();
  if (!queue.empty()) {
    const auto why = state.core().explain(queue.front(), now);
    if (!why) require_presentable(why.error());
  }
}

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  fuzz::Input input(data, size);
  service::State state;
  for (std::size_t count = 0; !input.empty() && count < fuzz::kRecordsMax; ++count) {
    fuzz::Input line(nullptr, 0);
    const std::string_view text = input.until('\n');
    line = fuzz::Input(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    const std::string_view time = line.until(' ');
    std::int64_t at = 0;
    (void)std::from_chars(time.data(), time.data() + time.size(), at);
    const std::string_view kind = line.until(' ');
    fuzz::replay(state, kind, line.rest(), TimeMs(at));
  }
  const std::string snapshot = state.to_snapshot();
  const auto back = service::State::from_snapshot(snapshot);
  if (!back) std::fprintf(stderr, "%s\n", back.error().to_string().c_str());
  fuzz::require(back.has_value(), "a state that is written down can be read back");
  fuzz::require(back->to_snapshot() == snapshot, "a snapshot says the same");
  fuzz::go_on(std::move(state));
  return 0;
}
