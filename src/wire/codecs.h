// Codecs of single values. Private to wire.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "model/job.h"
#include "model/npu.h"
#include "model/tenant.h"
#include "wire/table.h"
#include "wire/tokens.h"

namespace tangram::wire {

inline constexpr std::int64_t kIntegerMax = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kIntegerMin = std::numeric_limits<std::int64_t>::min();

// Any text without NUL bytes.
Codec<std::string> text(std::size_t length_max = std::numeric_limits<std::size_t>::max());
Codec<std::string> name_text();  // [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63
Codec<std::string> absolute_path();

Codec<std::int64_t> int64_range(std::int64_t min, std::int64_t max);
Codec<std::int32_t> int32_range(std::int32_t min, std::int32_t max);
Codec<std::uint32_t> uint32_range(std::uint32_t min, std::uint32_t max);
Codec<std::uint64_t> uint64_number();  // at most 2^63-1
Codec<bool> boolean();

// With their unit, as texts.
Codec<Bytes> bytes_text(std::int64_t min);
Codec<std::int64_t> duration_text(std::int64_t min_ms);
Codec<std::int64_t> rate_text();
Codec<std::int64_t> cpus_number();  // 0.5, 2
Codec<TimeMs> time_text();

// As plain numbers: journal records.
Codec<Bytes> bytes_number();
Codec<TimeMs> time_number();

Codec<Priority> priority_word();
Codec<PrioritySet> priority_list();
Codec<Health> health_word();
Codec<NpuMode> npu_mode_word();
Codec<JobState> job_state_word();
Codec<Outcome> outcome_word();
Codec<RestartPolicy> restart_policy_word();
Codec<RequestKind> request_kind_word();
Codec<SliceCount> slice_count_word();
Codec<JobKind> job_kind_word();
Codec<ReasonCode> reason_token();
Codec<Role> role_word();

// {"key":"value"}; `check` looks at one entry, and says what is wrong with it. `schema` says of keys and
// values what `check` takes, as further members of the JSON Schema.
using EntryCheck = std::function<Result<void>(std::string_view key, std::string_view value)>;
Codec<std::map<std::string, std::string>> text_map(std::size_t count_max, std::string_view type,
                                                   EntryCheck check, const std::string& schema = {});

// {"used":4,"tenant":"team-a"}
Codec<Details> details_map();

template <class Tag, class Number>
Codec<Id<Tag, Number>> id_number() {
  return {"integer",
          [](Reader& reader, const Node& node, Id<Tag, Number>& into) {
            std::int64_t value = 0;
            constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Number>::max() - 1);
            int64_range(0, static_cast<std::int64_t>(std::min<std::uint64_t>(kMax, kIntegerMax)))
                .read(reader, node, value);
            into = Id<Tag, Number>(static_cast<Number>(value));
          },
          [](const Id<Tag, Number>& from) { return Node::of(static_cast<std::int64_t>(from.value)); },
          R"({"type":"integer","minimum":0})"};
}

}  // namespace tangram::wire
