// kube-scheduler's HTTP extender protocol as it goes over the wire. Its structs have no JSON tags: keys begin
// with capitals. Source: k8s.io/kube-scheduler extender/v1; pkg/scheduler/extender.go. Thread-safe: pure
// functions. Reading is total: any text gives a value within the bounds below or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/api/json.h"
#include "kube/extender/placer.h"
#include "kube/extender/pod_notes.h"

namespace tangram::kube::extender {

// A Pod and as many node names as the largest cluster has (5,000), several times over.
inline constexpr std::size_t kBodyBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kNodesMax = 50'000;
inline constexpr std::size_t kNameBytesMax = 253;
inline constexpr std::int64_t kScoreMax = 10;  // of an extender

// ExtenderArgs: the question of filter and of prioritize.
struct Question {
  PodRef pod;
  PodNote note;
  bool asks_for_npus = false;  // by its containers, or by admission's marks
  std::vector<std::string> nodes;
  // Where the scheduler is not told that node names are enough (nodeCacheCapable): the list as it came.
  json::value node_list = nullptr;
};

// ExtenderBindingArgs.
struct BindCall {
  PodRef pod;
  std::string node;
};

// kInvalidArgument "kube.extender.invalid" for what no kube-scheduler sends.
Result<Question> read_question(std::string_view body);
Result<BindCall> read_bind(std::string_view body);

struct NodeRefusal {
  std::string_view node;
  std::string_view why;
};

// ExtenderFilterResult. What it views must outlive the call alone.
struct FilterAnswer {
  std::vector<std::string_view> fitting;
  std::vector<NodeRefusal> refused;
  std::vector<NodeRefusal> unresolvable;
};

std::string write_filter(const FilterAnswer& answer);
// All that was asked about passes, in the form in which it came.
std::string write_all_pass(const Question& question);
// The Pod's turn fails as a whole, and the scheduler tries it again later.
std::string write_filter_error(const Error& error);
// HostPriorityList; scores from 0 to kScoreMax, one for each node.
std::string write_scores(std::span<const std::string> nodes, std::span<const std::int64_t> scores);
// ExtenderBindingResult.
std::string write_bound();
std::string write_bind_error(const Error& error);

}  // namespace tangram::kube::extender
