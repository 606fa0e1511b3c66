#include "kube/extender/messages.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "base/quote.h"
#include "kube/protocol/names.h"

namespace tangram::kube::extender {
namespace {

// What admission is asked about; ChipModels cannot have other words.
constexpr std::string_view kNpuPrefix = "huawei.com/Ascend";
constexpr std::size_t kUidBytesMax = 128;
// It becomes part of the Pod's events.
constexpr std::size_t kErrorBytesMax = 1'000;

tl::unexpected<Error> invalid(const std::string& what) {
  return fail(Code::kInvalidArgument, "kube.extender.invalid",
              "the call is none of kube-scheduler's: " + what,
              "this address is for the extenders of a KubeSchedulerConfiguration");
}

Result<std::string> name_in(const json::object& object, JsonPath path, std::string_view field,
                            std::size_t most = kNameBytesMax) {
  const std::string_view text = text_at(object, path);
  if (text.empty() || text.size() > most) {
    return invalid(std::string(field) + " must be a text of at most " + std::to_string(most) + " bytes");
  }
  return std::string(text);
}

bool is_none(const json::value& amount) {
  if (const std::int64_t* const number = amount.if_int64()) return *number == 0;
  const json::string* const text = amount.if_string();
  return text != nullptr && *text == "0";
}

bool asks_in(const json::object& container, std::string_view kind) {
  const json::object* const amounts = object_at(container, {"resources", kind});
  if (amounts == nullptr) return false;
  for (const json::key_value_pair& member : *amounts) {
    const std::string_view key(member.key().data(), member.key().size());
    if (key.starts_with(kNpuPrefix) && !is_none(member.value())) return true;
  }
  return false;
}

bool asks_for_npus(const json::object& pod) {
  if (find(pod, {"metadata", "labels", names::kManagedLabel}) != nullptr) return true;
  if (find(pod, {"metadata", "annotations", names::kGranted}) != nullptr) return true;
  for (const std::string_view kind : {"initContainers", "containers"}) {
    const json::array* const list = array_at(pod, {"spec", kind});
    if (list == nullptr) continue;
    for (const json::value& value : *list) {
      const json::object* const container = value.if_object();
      if (container != nullptr && (asks_in(*container, "limits") || asks_in(*container, "requests")))
        return true;
    }
  }
  return false;
}

Result<void> read_names(const json::array& list, std::vector<std::string>& nodes) {
  if (list.size() > kNodesMax) return invalid("it names more than " + std::to_string(kNodesMax) + " nodes");
  nodes.reserve(list.size());
  for (const json::value& value : list) {
    const json::string* const text = value.if_string();
    if (text == nullptr || text->empty() || text->size() > kNameBytesMax) {
      return invalid("NodeNames must be a list of names");
    }
    nodes.emplace_back(text->data(), text->size());
  }
  return {};
}

Result<void> read_node_list(const json::object& args, Question& question) {
  const json::array* const items = array_at(args, {"Nodes", "items"});
  if (items == nullptr) return invalid("it names no nodes");
  if (items->size() > kNodesMax) return invalid("it has more than " + std::to_string(kNodesMax) + " nodes");
  for (const json::value& value : *items) {
    const json::object* const node = value.if_object();
    if (node == nullptr) return invalid("Nodes.items must be a list of nodes");
    TG_TRY(std::string name, name_in(*node, {"metadata", "name"}, "Nodes.items[].metadata.name"));
    question.nodes.push_back(std::move(name));
  }
  question.node_list = args.at("Nodes");
  return {};
}

Result<json::object> object_of(std::string_view body) {
  if (body.size() > kBodyBytesMax) return invalid("it is longer than 16 MiB");
  Result<json::object> object = parse_object(body);
  if (!object) return invalid("it is no JSON object");
  return object;
}

std::string error_text(const Error& error) {
  const std::string message = error.to_string();
  return std::string(cut_text(message, kErrorBytesMax)) + " (" + error.reason + ")";
}

json::object refusals_of(const std::vector<NodeRefusal>& refusals) {
  json::object object;
  object.reserve(refusals.size());
  for (const NodeRefusal& refusal : refusals) object[refusal.node] = refusal.why;
  return object;
}

std::string write_result(json::value nodes, json::value names, json::object refused,
                         json::object unresolvable, std::string_view error) {
  json::object result;
  result["Nodes"] = std::move(nodes);
  result["NodeNames"] = std::move(names);
  result["FailedNodes"] = std::move(refused);
  result["FailedAndUnresolvableNodes"] = std::move(unresolvable);
  result["Error"] = error;
  return json::serialize(result);
}

template <class Names>
json::array list_of(const Names& names) {
  json::array list;
  list.reserve(names.size());
  for (const auto& name : names) list.emplace_back(std::string_view(name));
  return list;
}

}  // namespace

Result<Question> read_question(std::string_view body) {
  TG_TRY(const json::object args, object_of(body));
  const json::object* const pod = object_at(args, {"Pod"});
  if (pod == nullptr) return invalid("it has no Pod");
  Question question;
  TG_TRY(question.pod.space, name_in(*pod, {"metadata", "namespace"}, "Pod.metadata.namespace"));
  TG_TRY(question.pod.name, name_in(*pod, {"metadata", "name"}, "Pod.metadata.name"));
  TG_TRY(question.pod.uid, name_in(*pod, {"metadata", "uid"}, "Pod.metadata.uid", kUidBytesMax));
  question.note = note_of(*pod);
  question.asks_for_npus = asks_for_npus(*pod);
  if (const json::array* const names = array_at(args, {"NodeNames"})) {
    TG_TRY_VOID(read_names(*names, question.nodes));
  } else {
    TG_TRY_VOID(read_node_list(args, question));
  }
  return question;
}

Result<BindCall> read_bind(std::string_view body) {
  TG_TRY(const json::object args, object_of(body));
  BindCall call;
  TG_TRY(call.pod.space, name_in(args, {"PodNamespace"}, "PodNamespace"));
  TG_TRY(call.pod.name, name_in(args, {"PodName"}, "PodName"));
  TG_TRY(call.pod.uid, name_in(args, {"PodUID"}, "PodUID", kUidBytesMax));
  TG_TRY(call.node, name_in(args, {"Node"}, "Node"));
  return call;
}

std::string write_filter(const FilterAnswer& answer) {
  return write_result(nullptr, list_of(answer.fitting), refusals_of(answer.refused),
                      refusals_of(answer.unresolvable), "");
}

std::string write_all_pass(const Question& question) {
  if (!question.node_list.is_null()) return write_result(question.node_list, nullptr, {}, {}, "");
  return write_result(nullptr, list_of(question.nodes), {}, {}, "");
}

std::string write_filter_error(const Error& error) {
  return write_result(nullptr, nullptr, {}, {}, error_text(error));
}

std::string write_scores(std::span<const std::string> nodes, std::span<const std::int64_t> scores) {
  json::array list;
  list.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size() && i < scores.size(); ++i) {
    list.push_back(json::object{{"Host", nodes[i]}, {"Score", scores[i]}});
  }
  return json::serialize(list);
}

std::string write_bound() {
  return R"({"Error":""})";
}

std::string write_bind_error(const Error& error) {
  json::object result;
  result["Error"] = error_text(error);
  return json::serialize(result);
}

}  // namespace tangram::kube::extender
