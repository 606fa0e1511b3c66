// The few fields of a Pod that admission looks at, copied out of whatever JSON a review carries. Fields that
// this version does not know are never touched: what is changed is a patch. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/api/json.h"

namespace tangram::kube::admission {

inline constexpr std::size_t kContainersMax = 512;  // of all kinds together
inline constexpr std::size_t kTextBytesMax = 64U << 10;

enum class ContainerRole : std::uint8_t {
  kInit,     // ends before the next begins
  kSidecar,  // an init container that goes on running (restartPolicy Always)
  kMain,
  kEphemeral,  // added to a running Pod
};

// The variable by which the vendor's runtime cuts a slice.
inline constexpr std::string_view kTemplateVariable = "ASCEND_VNPU_SPECS";

// An entry of a container's environment as admission itself writes it: kTemplateVariable, with its value taken
// from an annotation of the Pod that only the extender writes (names::template_annotation).
struct TemplateReference {
  std::size_t place = 0;  // in the list
  std::string field;      // "metadata.annotations['tangram.dev/template-0']"

  friend bool operator==(const TemplateReference&, const TemplateReference&) = default;
};
std::string template_field(std::string_view annotation);

struct ContainerView {
  std::string name;
  std::string pointer;  // "/spec/containers/0"
  std::string field;    // "spec.containers[0]", for messages
  ContainerRole role = ContainerRole::kMain;
  bool privileged = false;
  bool has_limits = false;  // whether the object is there at all
  bool has_requests = false;
  // Names that begin with "huawei.com/", and their quantities as they are written.
  std::map<std::string, std::string, std::less<>> limits;
  std::map<std::string, std::string, std::less<>> requests;
  bool has_environment = false;
  std::vector<std::string> environment;  // names that begin with "ASCEND_", but for the one below
  std::optional<TemplateReference> template_reference;
};

struct PodView {
  std::string name;  // what a generated one begins with, and "*"; for messages
  bool has_labels = false;
  bool has_annotations = false;
  bool has_gates = false;
  std::map<std::string, std::string, std::less<>> labels;       // all
  std::map<std::string, std::string, std::less<>> annotations;  // those of Tangram, HAMi and the CNI
  std::vector<std::string> gates;
  std::string node_name;
  std::string scheduler_name;
  std::string runtime_class;
  std::optional<std::int64_t> active_deadline_seconds;
  std::vector<ContainerView> containers;  // init, main, ephemeral
};

// kInvalidArgument "admission.review.invalid" for a field of another kind than it has to be, or more than the
// bounds above.
Result<PodView> read_pod(const json::object& pod);

}  // namespace tangram::kube::admission
