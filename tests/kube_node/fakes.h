// What stands around the agent in tests: a machine that cuts as it is told, Pods, and a kubelet's word.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kube/node/agent.h"

namespace tangram::kube::node {

inline constexpr const char* kTestResource = "huawei.com/Ascend310P";

// A directory that is removed with the object.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::string path(const std::string& name) const { return (root_ / name).string(); }
  // Whether device nodes can be made here: by root.
  bool makes_nodes() const { return makes_nodes_; }

 private:
  const std::filesystem::path root_;
  bool makes_nodes_ = false;
};

// 310P3s whose device nodes are real. Thread-safe.
class FakeDevices final : public Devices {
 public:
  FakeDevices(std::string device_directory, std::uint32_t npus);

  Result<DeviceScan> scan() override;
  Result<DeviceSlice> create_slice(const SliceOrder& order) override;
  Result<void> destroy_slice(std::uint32_t physical_id, std::uint32_t id) override;
  Result<void> set_slices_recover(bool /*on*/) override { return {}; }
  Result<void> set_device_share(std::uint32_t /*physical_id*/, bool /*on*/) override { return {}; }

  std::map<std::uint32_t, std::string> slices() const;  // template by id
  void set_health(std::uint32_t npu, Health health);
  void set_chip(std::uint32_t npu, const std::string& chip);
  // The next looks do not show the slice, although it is there.
  void hide(std::uint32_t id, int looks);
  // It is gone, as after a reset of the driver.
  void lose(std::uint32_t id);
  void refuse_next(int creates);
  void set_away(bool away);
  // Made by somebody else.
  void add_stray(std::uint32_t npu, std::uint32_t id, const std::string& name);

 private:
  struct Slice {
    std::uint32_t npu = 0;
    std::string name;
  };

  const std::string directory_;
  mutable std::mutex mutex_;
  std::vector<DeviceNpu> npus_;
  std::map<std::uint32_t, Slice> slices_;
  std::map<std::uint32_t, int> hidden_;  // looks to come, by id
  int refusals_ = 0;
  bool away_ = false;
};

// Thread-safe.
class FakePods final : public PodSource {
 public:
  Result<std::vector<NodePod>> pods() override { return list(); }
  Result<std::vector<NodePod>> fresh() override { return list(); }

  void add(const NodePod& pod);
  void remove(const std::string& uid);
  void set_away(bool away);

 private:
  Result<std::vector<NodePod>> list();

  std::mutex mutex_;
  std::vector<NodePod> pods_;
  bool away_ = false;
};

// Thread-safe.
class FakeKubelet final : public KubeletSource {
 public:
  Result<KubeletView> view() override;

  void give(const NodePod& pod, const std::string& container, const ShareIds& ids);
  void forget(const std::string& uid);
  std::vector<Listed> listed() const;
  std::vector<Recorded> recorded() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<Listed, Recorded>> held_;
};

std::string test_uuid(std::uint32_t npu);
Grant slice_of(std::uint32_t npu, const std::string& template_name);
Grant whole_of(std::uint32_t npu);
NodePod make_pod(const std::string& name, const std::vector<std::pair<std::string, Grant>>& containers);

AgentOptions test_options(const Workplace& place);

// Names of the nodes in the directory of a share.
std::vector<std::string> nodes_of_share(const Workplace& place, const std::string& id);

bool eventually(const std::function<bool()>& condition);

}  // namespace tangram::kube::node
