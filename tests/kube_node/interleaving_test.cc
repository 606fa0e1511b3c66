// Pods with their own templates come, start, restart and go on a node whose kubelet, API server, driver and
// agent each take their time: whatever the order, each container gets what its own Pod was given.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/node/claim.h"
#include "kube/node/hand_out.h"

namespace tangram::kube::node {
namespace {

using Kind = HandOutStep::Kind;
using Progress = PodContainer::Progress;

constexpr int kInterleavings = 500;
constexpr int kSteps = 400;
constexpr int kCores = 7;  // as a 310P counts what is cut of it
constexpr int kSharesOfNpu = 7;
const std::vector<std::pair<std::string, int>> kTemplates{{"vir01", 1}, {"vir02", 2}, {"vir04", 4}};

// A slice on the hardware.
struct Cut {
  std::uint32_t npu = 0;
  std::string template_name;
};

struct LiveContainer {
  ShareIds ids;
  bool running = false;
  bool done = false;        // an init container that has ended well
  std::uint32_t slice = 0;  // that it runs in; 0: whole NPUs
};

// A Pod as it really is; `shown` is what the API server has of it.
struct LivePod {
  NodePod shown;
  std::map<std::string, LiveContainer> containers;
  bool seen_by_kubelet = false;
  bool deleted = false;  // at the API server
};

class Node {
 public:
  explicit Node(unsigned seed) : chance_(seed) {
    for (std::uint32_t npu = 0; npu < 2; ++npu) {
      const std::string uuid = npu == 0 ? "A" : "B";
      uuids_.emplace_back(uuid, npu * 3);
      for (int i = 0; i < kSharesOfNpu; ++i) free_ids_.insert(uuid + "-" + std::to_string(i));
    }
  }

  void step() {
    switch (pick(12)) {
      case 0:
      case 1:
        return bind_pod();
      case 2:
      case 3:
        return admit_pod();
      case 4:
      case 5:
      case 6:
        return start_container();
      case 7:
        return end_container();
      case 8:
        return delete_pod();
      case 9:
        return drop_pod();
      case 10:
        return work_for_the_agent();
      default:
        return pick(4) == 0 ? restart_agent() : sweep();
    }
  }

  // Everything goes, and nothing may be left.
  void end() {
    for (auto& pod : pods_) pod.deleted = true;
    while (!pods_.empty()) drop_pod();
    sweep();
    for (int i = 0; i < 2'000 && !(orders_.empty() && returns_.empty()); ++i) work_for_the_agent();
    EXPECT_TRUE(cuts_.empty());
    EXPECT_TRUE(book_.entries().empty());
  }

  int started() const { return started_; }
  int refused() const { return refused_; }

 private:
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(chance_); }

  // ---- the cluster: an extender that never gives more than there is

  int load_of(std::uint32_t npu) const {
    int load = 0;
    for (const LivePod& pod : pods_) {
      for (const PodContainer& container : pod.shown.containers) {
        for (const NpuRef& ref : container.grant->npus) {
          if (ref.index != npu) continue;
          load += container.grant->slice ? cores_of(container.grant->template_name) : kCores + 1;
        }
      }
    }
    return load;
  }
  static int cores_of(const std::string& name) {
    return std::ranges::find(kTemplates, name, &std::pair<std::string, int>::first)->second;
  }

  void bind_pod() {
    const auto& [uuid, npu] = uuids_[static_cast<std::size_t>(pick(2))];
    const std::string number = std::to_string(++names_);
    // Names come again, UIDs do not.
    LivePod pod{{"team", "pod-" + std::to_string(pick(6)), "uid-" + number, false, {}, ""}, {}, false, false};
    const bool taken = std::ranges::any_of(
        pods_, [&pod](const LivePod& other) { return !other.deleted && other.shown.name == pod.shown.name; });
    if (taken) return;
    int load = load_of(npu);
    if (load == 0 && pick(3) == 0) {
      pod.shown.containers = {{"main", false, Progress::kUnknown, Grant{false, "", {{uuid, npu}}}}};
    } else {
      const std::vector<std::pair<std::string, bool>> all{{"setup", true}, {"one", false}, {"two", false}};
      for (const auto& [name, init] : all) {
        if (pick(2) == 0) continue;
        const auto& [shape, cores] = kTemplates[static_cast<std::size_t>(pick(3))];
        if (load + cores > kCores) continue;
        load += cores;
        pod.shown.containers.push_back({name, init, Progress::kUnknown, Grant{true, shape, {{uuid, npu}}}});
      }
    }
    if (!pod.shown.containers.empty()) pods_.push_back(std::move(pod));
  }

  void delete_pod() {
    if (!pods_.empty()) pods_[static_cast<std::size_t>(pick(static_cast<int>(pods_.size())))].deleted = true;
  }

  std::vector<NodePod> api() const {
    std::vector<NodePod> shown;
    for (const LivePod& pod : pods_) {
      if (!pod.deleted) shown.push_back(pod.shown);
    }
    return shown;
  }

  // ---- the kubelet: any ids, whatever NPU they name; an init container's go on to the next container

  void admit_pod() {
    for (LivePod& pod : pods_) {
      if (pod.seen_by_kubelet || pod.deleted) continue;
      std::vector<std::string> reuse;
      for (const PodContainer& container : pod.shown.containers) {
        LiveContainer& live = pod.containers[container.name];
        if (reuse.empty()) {
          if (free_ids_.empty()) return;
          auto id = free_ids_.begin();
          std::advance(id, pick(static_cast<int>(free_ids_.size())));
          live.ids = {*id};
          free_ids_.erase(id);
        } else {
          live.ids = std::exchange(reuse, {});
        }
        if (container.init) reuse = live.ids;
      }
      pod.seen_by_kubelet = true;
      return;
    }
  }

  KubeletView view() const {
    KubeletView view{{}, std::vector<Recorded>()};
    for (const LivePod& pod : pods_) {
      for (const PodContainer& container : pod.shown.containers) {
        const auto live = pod.containers.find(container.name);
        if (live == pod.containers.end() || live->second.ids.empty()) continue;
        view.recorded->push_back({pod.shown.uid, container.name, live->second.ids});
        if (!container.init) {
          view.listed.push_back({pod.shown.space, pod.shown.name, container.name, live->second.ids});
        }
      }
    }
    std::ranges::shuffle(*view.recorded, random_);
    return view;
  }

  void start_container() {
    if (pods_.empty()) return;
    LivePod& pod = pods_[static_cast<std::size_t>(pick(static_cast<int>(pods_.size())))];
    if (!pod.seen_by_kubelet) return;
    const bool setting_up = pod.containers.contains("setup") && !pod.containers["setup"].done;
    for (auto& [name, live] : pod.containers) {
      if ((name == "setup") != setting_up || live.running || live.ids.empty()) continue;
      pre_start(pod, name, live);
      return;
    }
  }

  void pre_start(LivePod& pod, const std::string& name, LiveContainer& live) {
    const KubeletView now = view();
    const std::vector<NodePod> pods = api();
    const auto who =
        who_starts(live.ids, now, pods, [&](const ContainerRef& one) { return book_.given(one, live.ids); });
    if (!who) {
      ++refused_;
      return;
    }
    ASSERT_EQ(who->uid, pod.shown.uid);
    // Containers that come one after the other and are given the same need not be told apart.
    const Grant& grant = *find_container(pod.shown, name)->grant;
    ASSERT_EQ(*find_container(pod.shown, who->container)->grant, grant);
    const auto step = book_.begin(*who, live.ids, &grant, ground(), now);
    if (!step) {
      ++refused_;
      return;
    }
    for (const std::uint32_t id : step->end) returns_.insert(id);
    if (step->kind == Kind::kMake) orders_.emplace(step->handed.slice_id, step->handed);
    if (step->kind == Kind::kReady) run(step->handed, grant, live);
  }

  void run(const Handed& handed, const Grant& grant, LiveContainer& live) {
    ++started_;
    ASSERT_EQ(handed.slice, grant.slice);
    ASSERT_EQ(handed.npus, (std::vector<std::uint32_t>{grant.npus[0].index}));
    live.running = true;
    live.slice = grant.slice ? handed.slice_id : 0;
    if (!grant.slice) {
      for (const auto& [id, cut] : cuts_) ASSERT_NE(cut.npu, grant.npus[0].index);
      return;
    }
    ASSERT_TRUE(cuts_.contains(handed.slice_id));
    ASSERT_EQ(cuts_[handed.slice_id].template_name, grant.template_name);
    ASSERT_EQ(cuts_[handed.slice_id].npu, grant.npus[0].index);
    int users = 0;
    for (const LivePod& pod : pods_) {
      for (const auto& [name, other] : pod.containers) {
        users += other.running && other.slice == handed.slice_id ? 1 : 0;
      }
    }
    ASSERT_EQ(users, 1);
  }

  // Ends well or not; the status follows at once or, mostly for those that fail, later.
  void end_container() {
    if (pods_.empty()) return;
    LivePod& pod = pods_[static_cast<std::size_t>(pick(static_cast<int>(pods_.size())))];
    for (auto& container : pod.shown.containers) {
      LiveContainer& live = pod.containers[container.name];
      if (live.running) {
        live.running = false;
        live.done = container.init && pick(2) == 0;
        if (container.init && !live.done) container.progress = Progress::kFailed;
        if (container.init && live.done) container.progress = Progress::kRunning;
        return;
      }
      if (live.done) container.progress = Progress::kDone;
    }
  }

  // The containers of a deleted Pod end, and the kubelet forgets it.
  void drop_pod() {
    const auto gone = std::ranges::find_if(pods_, [](const LivePod& pod) { return pod.deleted; });
    if (gone == pods_.end()) return;
    for (const auto& [name, live] : gone->containers) free_ids_.insert(live.ids.begin(), live.ids.end());
    pods_.erase(gone);
  }

  // ---- the driver and its keeper

  NpuGround ground() const {
    NpuGround ground;
    for (const auto& [uuid, npu] : uuids_) ground.by_uuid.emplace(uuid, npu);
    for (const auto& [id, cut] : cuts_) ground.slices.insert(id);
    return ground;
  }

  void work_for_the_agent() {
    if (!orders_.empty() && pick(2) == 0) {
      const auto order = orders_.extract(orders_.begin());
      const Handed& handed = order.mapped();
      if (pick(8) == 0) {
        book_.not_made(order.key());
        returns_.insert(order.key());
        return;
      }
      ASSERT_FALSE(cuts_.contains(order.key()));
      cuts_[order.key()] = {handed.npus[0], handed.template_name};
      book_.made(order.key());
    } else if (!returns_.empty()) {
      const std::uint32_t id = *returns_.begin();
      if (orders_.contains(id)) return;
      returns_.erase(returns_.begin());
      for (const LivePod& pod : pods_) {
        for (const auto& [name, live] : pod.containers)
          ASSERT_FALSE(live.running && live.slice == id) << name;
      }
      cuts_.erase(id);
      book_.returned(id);
    }
  }

  void sweep() {
    for (const std::uint32_t id : book_.sweep(api(), view())) returns_.insert(id);
  }

  // The ledger has every entry; what was under way goes on.
  void restart_agent() { book_ = HandOut(std::vector<Handed>(book_.entries())); }

  std::mt19937 chance_;
  mutable std::mt19937 random_{7};
  std::vector<std::pair<std::string, std::uint32_t>> uuids_;
  std::set<std::string> free_ids_;
  std::vector<LivePod> pods_;
  HandOut book_;
  std::map<std::uint32_t, Handed> orders_;
  std::set<std::uint32_t> returns_;
  std::map<std::uint32_t, Cut> cuts_;
  int names_ = 0;
  int started_ = 0;
  int refused_ = 0;
};

// Without it a container gets, in some order of events, the template of another: the fault for which drivers
// lock a node, or take the oldest pending Pod for the one that is meant.
TEST(Interleaving, EachContainerGetsItsOwnWhateverTheOrder) {
  int started = 0;
  for (unsigned seed = 1; seed <= kInterleavings; ++seed) {
    Node node(seed);
    for (int step = 0; step < kSteps && !testing::Test::HasFatalFailure(); ++step) node.step();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
    started += node.started();
    node.end();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(started, kInterleavings * 5);  // or the orders were none
}

}  // namespace
}  // namespace tangram::kube::node
