// The agent of a node: offers its NPUs to the kubelet, gives each container what its Pod was given, and keeps
// the slices in step with the Pods. Knows the kubelet and the API server only as the interfaces below; gRPC
// and HTTP are elsewhere.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "kube/node/claim.h"
#include "kube/node/device_tree.h"
#include "kube/node/guarded_devices.h"
#include "kube/node/hand_out.h"
#include "kube/node/ledger.h"
#include "kube/node/npu_facts.h"
#include "kube/node/share.h"
#include "ports/devices.h"
#include "service/slice_keeper.h"

namespace tangram::kube::node {

// The Pods of this node. Thread-safe.
class PodSource {
 public:
  virtual ~PodSource() = default;

  // As the watch has them. An error: not all of them are known yet.
  virtual Result<std::vector<NodePod>> pods() = 0;
  // Asked now: what the kubelet has seen is among them.
  virtual Result<std::vector<NodePod>> fresh() = 0;
};

// What the kubelet says, asked now. Thread-safe.
class KubeletSource {
 public:
  virtual ~KubeletSource() = default;
  virtual Result<KubeletView> view() = 0;
};

// What is written into a Pod that has got something.
struct PodNote {
  std::string allocated;   // what all of its containers have by now: the value of tangram.dev/allocated
  std::string bind_phase;  // of HAMi; empty: it stays as it is

  friend bool operator==(const PodNote&, const PodNote&) = default;
};

// What the agent has to tell the cluster, on its own thread. Errors are told again with the next change.
struct AgentSink {
  std::function<Result<void>(const MachineFacts&)> facts{};
  std::function<Result<void>(const ContainerRef& pod, const PodNote& note)> handed{};
};

struct HostMount {
  std::string host;
  std::string container;
};

struct AgentOptions {
  std::string state_directory;   // of the ledger
  std::string share_directory;   // of the directories that containers get devices from
  std::string devices = "/dev";  // of the driver's nodes
  std::string sysfs = "/sys";
  std::string proc = "/proc";
  std::vector<HostMount> mounts;  // the driver's libraries, read-only; those that are there
  FactRules facts;                // until set_rules()
  service::SlicePolicy slices;
  std::chrono::milliseconds scan_period{5'000};
  // The kubelet gives a container's start 30 s.
  std::chrono::milliseconds start_wait{25'000};
};

struct OfferedShare {
  std::string id;
  bool healthy = false;
  std::optional<std::int64_t> numa;

  friend bool operator==(const OfferedShare&, const OfferedShare&) = default;
};

// Of one resource.
struct Offer {
  std::uint64_t version = 0;  // grows with each change, also of other resources
  std::vector<OfferedShare> shares;
};

struct AllocateAnswer {
  struct Device {
    std::string host;  // a node, or a directory of them
    std::string container;
  };
  std::vector<Device> devices;
  std::vector<HostMount> mounts;
  std::map<std::string, std::string> environment;
};

// Thread-safe after start().
class Agent {
 public:
  Agent(AgentOptions options, Devices& devices, PodSource& pods, KubeletSource& kubelet, AgentSink sink);
  ~Agent();  // stop()
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Reads the ledger and looks at the machine once; what ended Pods have left is returned at once. A ledger
  // that is damaged or gone is made anew with rebuild(), and said so in the conditions of the facts; until
  // the agent starts again, no slice of nobody's is then returned. Errors: what the system says of the
  // ledger, and of a damaged one whatever keeps it from being made anew: kubelet, API server or driver are
  // away. A driver that is away is else no error: its NPUs come when it does.
  Result<void> start();
  // Waits for the calls under way, which are bounded. Slices stay as they are.
  void stop();

  // What the operator wants of this node. The next look heeds it.
  void set_rules(FactRules rules);

  // Ascending; those that NPUs of this machine were ever offered as. Empty until a look has shown one.
  std::vector<std::string> resources() const;
  Offer offer(const std::string& resource) const;
  // Waits until there is another one than that version, or until the time has passed.
  Offer wait_offer(const std::string& resource, std::uint64_t version, std::chrono::milliseconds most) const;

  // ---- what the kubelet asks

  AllocateAnswer allocate(const std::vector<std::string>& ids) const;
  std::vector<std::string> prefer(const std::vector<std::string>& available,
                                  const std::vector<std::string>& must, std::size_t size);
  // Blocks until what the container was given stands in its places. Errors: those of who_starts() and
  // HandOut::begin(), kDeadlineExceeded "node.slice.pending", what the driver answered to the order.
  Result<void> pre_start(std::vector<std::string> ids);

  // ---- for tests and reports
  std::vector<Handed> entries() const;
  MachineFacts facts() const;
  std::string metrics() const;  // metrics_text() of the last look
  void look_now();              // the next look is due

  // The facts are told again, although they have not changed.
  void tell_again();

 private:
  using Clock = std::chrono::steady_clock;

  struct Start {
    ContainerRef who;
    std::optional<Grant> grant;
    KubeletView view;
  };

  static service::OwnSlice own_slice_of(const Handed& handed);
  Result<std::vector<Handed>> recall();
  Result<std::vector<Handed>> recall_without_ledger(bool damaged);
  bool may_reclaim();
  bool may_return(std::uint32_t npu, std::uint32_t slice) const;
  Result<Start> find_start(const ShareIds& ids);
  Result<void> pre_start_until(const ShareIds& ids, const Start& start, Clock::time_point deadline);
  // Locked; the ledger has it, or it is undone.
  Result<void> keep(const HandOutStep& step);
  void give_back(const std::vector<std::uint32_t>& slices);
  void on_slice(const service::SliceEvent& event);
  void on_lost(const Handed& handed);
  // Ends what the container has, if that is a slice that the hardware does not show any more.
  void end_lost(const ContainerRef& who);
  // Empties the places of those that have ended since.
  void clear_ended(const std::vector<Handed>& before);
  void clear_places(const Handed& handed);
  std::optional<std::set<std::int64_t>> own_processes(const DeviceScan& scan) const;

  void run();
  void look();
  MachineFacts with_notes(MachineFacts facts) const;
  void note_facts(MachineFacts facts);
  Offer offer_of(const std::string& resource) const;  // locked
  void sweep();
  void tell();
  void tell_facts();
  void tell_pods();
  void note_found(const std::set<std::uint32_t>& seen);
  std::string allocated_of(const std::string& uid) const;
  bool has_all(const NodePod& pod) const;

  const AgentOptions options_;
  GuardedDevices devices_;
  PodSource& pods_;
  KubeletSource& kubelet_;
  const AgentSink sink_;
  const Ledger ledger_;
  const DeviceTree tree_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  HandOut book_;
  std::uint64_t begun_ = 0;  // calls of HandOut::begin()
  MachineFacts facts_;
  NpuGround ground_;
  std::vector<DeviceNpu> readings_;  // none while the driver is away
  FactRules rules_;
  std::vector<std::string> notes_;  // conditions beside those of the facts
  std::map<std::string, std::vector<OfferedShare>> offers_;
  std::uint64_t version_ = 0;                   // of the offers
  std::map<std::uint32_t, Error> refused_;      // by id of the slice: why it was not made
  std::set<std::uint32_t> lost_;                // slices that are held, and that the hardware did not show
  std::map<std::string, ContainerRef> untold_;  // by UID: Pods whose annotation is not up to date
  bool facts_untold_ = false;
  bool look_due_ = false;
  bool stopping_ = false;
  bool rebuilt_ = false;

  std::unique_ptr<service::SliceKeeper> keeper_;
  std::thread thread_;
};

}  // namespace tangram::kube::node
