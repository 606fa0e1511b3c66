// A cluster's objects as the API shows them, and a book that is fed with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api/json.h"
#include "kube/manager/book.h"
#include "kube/manager/facts.h"
#include "kube/protocol/container_request.h"
#include "kube_api/fake_timing.h"

namespace tangram::kube::manager {

// One container of 310P3s: a slice by its template, or so many whole ones.
ContainerGrant slice_grant(std::string container, std::string template_name, std::int64_t mib);
ContainerGrant whole_grant(std::string container, std::int64_t count = 1);
ContainerGrant vir01();

struct PodShape {
  std::string name;
  std::string tenant = "team-a";
  std::vector<ContainerGrant> grants = {vir01()};
  int age = 0;  // seconds by which it is older than the others
  std::string uid{};
  std::string priority{};
};

// As admission has made it: labelled, granted, gated.
json::object gated_pod(const PodShape& shape);
// As a manager leaves it.
void open_gate(json::object& pod);
// As the extender leaves it, and the API server afterwards.
void allocate(json::object& pod, const Allocation& allocation);
void bind_to(json::object& pod, std::string_view node);
void end_with(json::object& pod, std::string_view phase);

// So many 310P3s, healthy, ready.
json::object node_with(std::string_view name, int npus);
void set_ready(json::object& node, bool ready);
// {"metadata":{"name":…},"spec":{"namespaceSelector":…,"quota":…}} with `quota` as JSON.
json::object tenant_with(std::string_view name, std::string_view quota, std::string_view parent = "");

extender::PodRef ref_of(const json::object& pod);

// A book with a clock of the test's.
class Bench {
 public:
  explicit Bench(BookOptions options = {});

  void put(const json::object& object);  // by its kind
  void remove_node(std::string_view name) { book.remove_node(name); }
  // Of a Pod that has to be there, on one node.
  extender::Fit fit(const json::object& pod, const std::string& node);
  // Admits everything that can be, and confirms it; the names in the order of admission.
  std::vector<std::string> admit_all();
  // Through the extender and the API: from reserved to bound.
  void place(json::object& pod, const std::string& node);
  std::int64_t used_npus(std::string_view tenant);

  FakeTiming timing;
  ClusterBook book;
};

}  // namespace tangram::kube::manager
