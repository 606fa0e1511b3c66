#include "kube_node/fakes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

namespace tangram::kube::node {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMajor = 60;  // for experiments
std::atomic<int> places = 0;

bool make_node(const std::string& path, unsigned minor) {
  return mknod(path.c_str(), S_IFCHR | 0660, makedev(kMajor, minor)) == 0;
}

}  // namespace

Workplace::Workplace()
    : root_(fs::path("/tmp") / ("kn" + std::to_string(getpid()) + "-" + std::to_string(++places))) {
  for (const char* const name : {"dev", "state", "shares", "plugins"}) fs::create_directories(root_ / name);
  makes_nodes_ = make_node(path("dev/davinci_manager"), 4000);
}

Workplace::~Workplace() {
  std::error_code error;
  fs::remove_all(root_, error);
}

FakeDevices::FakeDevices(std::string device_directory, std::uint32_t npus)
    : directory_(std::move(device_directory)) {
  for (std::uint32_t i = 0; i < npus; ++i) {
    DeviceNpu npu;
    npu.physical_id = i;
    npu.card_id = static_cast<std::int32_t>(i);
    npu.chip = "310P3";
    npu.uuid = test_uuid(i);
    npu.health = Health::kOk;
    npu.ai_cores = Sample<std::int32_t>::known(8);
    npu.memory_total = Sample<Bytes>::known(Bytes::mib(21527));
    npu.slicing.support = SliceSupport::kListed;
    npu.slicing.slices.valid = true;
    npu.processes.valid = true;
    npus_.push_back(npu);
    make_node(directory_ + "/davinci" + std::to_string(i), i);
  }
}

Result<DeviceScan> FakeDevices::scan() {
  const std::lock_guard lock(mutex_);
  if (away_) return fail(Code::kUnavailable, "device.library.missing", "the driver is away");
  DeviceScan scan;
  scan.driver_version = "25.5.0";
  scan.npus = npus_;
  std::set<std::uint32_t> hidden;
  for (auto& [id, looks] : hidden_) {
    if (looks > 0) hidden.insert(id);
    --looks;
  }
  for (DeviceNpu& npu : scan.npus) {
    for (const auto& [id, slice] : slices_) {
      if (slice.npu != npu.physical_id || hidden.contains(id)) continue;
      DeviceSlice one;
      one.id = id;
      one.template_name = Sample<std::string>::known(slice.name);
      one.container_used = Sample<bool>::known(false);
      npu.slicing.slices.value.push_back(one);
    }
  }
  return scan;
}

Result<DeviceSlice> FakeDevices::create_slice(const SliceOrder& order) {
  const std::lock_guard lock(mutex_);
  if (refusals_ > 0) {
    --refusals_;
    return fail(Code::kInvalidArgument, std::string(slice_reason::kInvalid), "there is no such template");
  }
  if (!slices_.try_emplace(*order.id, Slice{order.physical_id, order.template_name}).second) {
    return fail(Code::kAlreadyExists, std::string(slice_reason::kExists), "the id is taken");
  }
  make_node(directory_ + "/vdavinci" + std::to_string(*order.id), *order.id);
  DeviceSlice slice;
  slice.id = *order.id;
  slice.template_name = Sample<std::string>::known(order.template_name);
  slice.container_used = Sample<bool>::known(false);
  return slice;
}

Result<void> FakeDevices::destroy_slice(std::uint32_t /*physical_id*/, std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  slices_.erase(id);
  unlink((directory_ + "/vdavinci" + std::to_string(id)).c_str());
  return {};
}

std::map<std::uint32_t, std::string> FakeDevices::slices() const {
  const std::lock_guard lock(mutex_);
  std::map<std::uint32_t, std::string> names;
  for (const auto& [id, slice] : slices_) names.emplace(id, slice.name);
  return names;
}

void FakeDevices::set_health(std::uint32_t npu, Health health) {
  const std::lock_guard lock(mutex_);
  npus_.at(npu).health = health;
}

void FakeDevices::set_chip(std::uint32_t npu, const std::string& chip) {
  const std::lock_guard lock(mutex_);
  npus_.at(npu).chip = chip;
}

void FakeDevices::hide(std::uint32_t id, int looks) {
  const std::lock_guard lock(mutex_);
  hidden_[id] = looks;
}

void FakeDevices::lose(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  slices_.erase(id);
  unlink((directory_ + "/vdavinci" + std::to_string(id)).c_str());
}

void FakeDevices::refuse_next(int creates) {
  const std::lock_guard lock(mutex_);
  refusals_ = creates;
}

void FakeDevices::set_away(bool away) {
  const std::lock_guard lock(mutex_);
  away_ = away;
}

void FakeDevices::add_stray(std::uint32_t npu, std::uint32_t id, const std::string& name) {
  const std::lock_guard lock(mutex_);
  slices_[id] = {npu, name};
}

Result<std::vector<NodePod>> FakePods::list() {
  const std::lock_guard lock(mutex_);
  if (away_) return fail(Code::kUnavailable, "kube.connection", "the API server is away");
  return pods_;
}

void FakePods::add(const NodePod& pod) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pods_, [&pod](const NodePod& one) { return one.uid == pod.uid; });
  pods_.push_back(pod);
}

void FakePods::remove(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pods_, [&uid](const NodePod& pod) { return pod.uid == uid; });
}

void FakePods::set_away(bool away) {
  const std::lock_guard lock(mutex_);
  away_ = away;
}

Result<KubeletView> FakeKubelet::view() {
  return KubeletView{listed(), recorded()};
}

void FakeKubelet::give(const NodePod& pod, const std::string& container, const ShareIds& ids) {
  const std::lock_guard lock(mutex_);
  held_.emplace_back(Listed{pod.space, pod.name, container, ids}, Recorded{pod.uid, container, ids});
}

void FakeKubelet::forget(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&uid](const auto& held) { return held.second.uid == uid; });
}

std::vector<Listed> FakeKubelet::listed() const {
  const std::lock_guard lock(mutex_);
  std::vector<Listed> listed;
  for (const auto& held : held_) listed.push_back(held.first);
  return listed;
}

std::vector<Recorded> FakeKubelet::recorded() const {
  const std::lock_guard lock(mutex_);
  std::vector<Recorded> recorded;
  for (const auto& held : held_) recorded.push_back(held.second);
  return recorded;
}

std::string test_uuid(std::uint32_t npu) {
  return "1A000000-00000001-0000000A-0000000B-0000000" + std::to_string(npu);
}

Grant slice_of(std::uint32_t npu, const std::string& template_name) {
  return {true, template_name, {{test_uuid(npu), npu}}};
}

Grant whole_of(std::uint32_t npu) {
  return {false, "", {{test_uuid(npu), npu}}};
}

NodePod make_pod(const std::string& name, const std::vector<std::pair<std::string, Grant>>& containers) {
  NodePod pod{"team-a", name, "uid-" + name, false, {}, ""};
  for (const auto& [container, grant] : containers) pod.containers.push_back({container, false, {}, grant});
  return pod;
}

AgentOptions test_options(const Workplace& place) {
  AgentOptions options;
  options.state_directory = place.path("state");
  options.share_directory = place.path("shares");
  options.devices = place.path("dev");
  options.facts = builtin_rules();
  options.scan_period = std::chrono::milliseconds(50);
  options.start_wait = std::chrono::seconds(10);
  options.slices.return_pause_ms = 20;
  options.slices.look_pause_ms = 20;
  options.slices.late_ms = 50;
  return options;
}

std::vector<std::string> nodes_of_share(const Workplace& place, const std::string& id) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place.path("shares/" + id), error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace tangram::kube::node
