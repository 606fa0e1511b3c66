// The words of every reason, with places for names and numbers. Private to wire.
#pragma once

#include <span>
#include <string_view>

#include "model/reason.h"

namespace tangram::wire {

// Placeholders: {tenant} (with " (above team-a)" for an ancestor), {plain_tenant}, {asked}, {used}, {limit},
// {limit_option}, {memory_option} ("--slice"), {free}, {unhealthy}, {holders}, {exist}, {kept_for},
// {kept_id}, {memory}, {priority}, {allowed}, {unhealthy_npus} (" (NPU 0, NPU 5)"), {resting} ("NPU 0, NPU
// 5").
struct ReasonTemplate {
  ReasonCode code;
  bool never;  // waiting would not help
  std::string_view english;
  std::string_view chinese;
  std::string_view english_hint;
  std::string_view chinese_hint;
};

std::span<const ReasonTemplate> reason_templates();
const ReasonTemplate* find_template(ReasonCode code);  // null for kNone

}  // namespace tangram::wire
