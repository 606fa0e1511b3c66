#include "kube_node/kubelet_server.h"

#include <algorithm>
#include <atomic>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <grpcpp/grpcpp.h>

#include <deviceplugin/v1beta1/api.grpc.pb.h>
#include <podresources/v1/api.grpc.pb.h>
#include "kube/api/json.h"

namespace tangram::kube::node {
namespace {

namespace fs = std::filesystem;

class Lister final : public v1::PodResourcesLister::Service {
 public:
  explicit Lister(const FakeKubelet& held) : held_(held) {}

  grpc::Status List(grpc::ServerContext* /*context*/, const v1::ListPodResourcesRequest* /*request*/,
                    v1::ListPodResourcesResponse* response) override {
    for (const Listed& one : held_.listed()) {
      v1::PodResources* pod = response->add_pod_resources();
      pod->set_name(one.pod);
      pod->set_namespace_(one.space);
      v1::ContainerResources* container = pod->add_containers();
      container->set_name(one.container);
      // One entry for each NUMA node, as the kubelet has it.
      for (const std::string& id : one.ids) {
        v1::ContainerDevices* devices = container->add_devices();
        devices->set_resource_name(kTestResource);
        devices->add_device_ids(id);
      }
      v1::ContainerDevices* other = container->add_devices();
      other->set_resource_name("example.com/other");
      other->add_device_ids("x-0");
    }
    return grpc::Status::OK;
  }

 private:
  const FakeKubelet& held_;
};

class KubeletImpl final : public KubeletServer, v1beta1::Registration::Service {
 public:
  explicit KubeletImpl(const Workplace& place)
      : directory_(place.path("plugins")), pod_resources_(place.path("pod-resources.sock")), lister_(held_) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix://" + pod_resources_, grpc::InsecureServerCredentials());
    builder.RegisterService(&lister_);
    lister_server_ = builder.BuildAndStart();
  }
  KubeletImpl(const KubeletImpl&) = delete;
  KubeletImpl& operator=(const KubeletImpl&) = delete;
  ~KubeletImpl() override {
    stop_all();
    lister_server_->Shutdown();
  }

  void start() override {
    for (const auto& entry : fs::directory_iterator(directory_)) fs::remove_all(entry.path());
    write_record();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix://" + directory_ + "/kubelet.sock", grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  void stop() override { stop_all(); }

  std::vector<std::string> registered() const override {
    const std::lock_guard lock(mutex_);
    return registered_;
  }
  std::vector<SeenDevice> devices_of(const std::string& resource) const override {
    const std::lock_guard lock(mutex_);
    const auto at = devices_.find(resource);
    return at == devices_.end() ? std::vector<SeenDevice>() : at->second;
  }

  std::vector<std::string> preferred(const std::vector<std::string>& available, int size) override {
    v1beta1::PreferredAllocationRequest request;
    auto* one = request.add_container_requests();
    for (const std::string& id : available) one->add_available_deviceids(id);
    one->set_allocation_size(size);
    v1beta1::PreferredAllocationResponse response;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    if (!plugin()->GetPreferredAllocation(&context, request, &response).ok()) return {};
    const auto& ids = response.container_responses(0).deviceids();
    return {ids.begin(), ids.end()};
  }

  std::vector<AllocatedDevice> allocate(const NodePod& pod, const std::string& container,
                                        const ShareIds& ids) override {
    v1beta1::AllocateRequest request;
    auto* one = request.add_container_requests();
    for (const std::string& id : ids) one->add_devices_ids(id);
    v1beta1::AllocateResponse response;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    if (!plugin()->Allocate(&context, request, &response).ok()) return {};
    held_.give(pod, container, ids);
    write_record();
    std::vector<AllocatedDevice> devices;
    for (const v1beta1::DeviceSpec& device : response.container_responses(0).devices()) {
      devices.push_back({device.host_path(), device.container_path(), device.permissions()});
    }
    return devices;
  }

  PluginAnswer pre_start(const ShareIds& ids) override {
    v1beta1::PreStartContainerRequest request;
    for (const std::string& id : ids) request.add_devices_ids(id);
    v1beta1::PreStartContainerResponse response;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const grpc::Status status = plugin()->PreStartContainer(&context, request, &response);
    return {status.ok(), status.error_code(), status.error_message()};
  }

  void forget(const std::string& uid) override {
    held_.forget(uid);
    write_record();
  }

  std::string pod_resources() const override { return pod_resources_; }
  std::string record() const override { return directory_ + "/kubelet_internal_checkpoint"; }

 private:
  grpc::Status Register(grpc::ServerContext* /*context*/, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty* /*response*/) override {
    if (request->version() != "v1beta1" || !request->options().pre_start_required()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "not a plugin for this test"};
    }
    const std::lock_guard lock(mutex_);
    registered_.push_back(request->resource_name() + " " + request->endpoint());
    const std::string endpoint = directory_ + "/" + request->endpoint();
    if (request->resource_name() == kTestResource) endpoint_ = endpoint;
    contexts_.push_back(std::make_unique<grpc::ClientContext>());
    contexts_.back()->set_wait_for_ready(true);  // as the kubelet dials
    watchers_.emplace_back([this, context = contexts_.back().get(), stub = stub_of(endpoint),
                            resource = request->resource_name()] {
      const auto stream = stub->ListAndWatch(context, v1beta1::Empty());
      for (v1beta1::ListAndWatchResponse list; stream->Read(&list);) note(resource, list);
    });
    return grpc::Status::OK;
  }

  void note(const std::string& resource, const v1beta1::ListAndWatchResponse& list) {
    std::vector<SeenDevice> devices;
    for (const v1beta1::Device& device : list.devices()) {
      SeenDevice seen{device.id(), device.health(), {}};
      for (const v1beta1::NUMANode& node : device.topology().nodes()) seen.numa.push_back(node.id());
      devices.push_back(std::move(seen));
    }
    const std::lock_guard lock(mutex_);
    devices_[resource] = std::move(devices);
  }

  static std::shared_ptr<v1beta1::DevicePlugin::Stub> stub_of(const std::string& endpoint) {
    return v1beta1::DevicePlugin::NewStub(
        grpc::CreateChannel("unix://" + endpoint, grpc::InsecureChannelCredentials()));
  }
  std::shared_ptr<v1beta1::DevicePlugin::Stub> plugin() const {
    const std::lock_guard lock(mutex_);
    return stub_of(endpoint_);
  }

  void stop_all() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
    std::vector<std::thread> watchers;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& context : contexts_) context->TryCancel();
      watchers = std::exchange(watchers_, {});
    }
    for (std::thread& watcher : watchers) watcher.join();
    const std::lock_guard lock(mutex_);
    contexts_.clear();
    devices_.clear();
  }

  void write_record() const {
    json::array entries;
    for (const Recorded& one : held_.recorded()) {
      json::array ids;
      for (const std::string& id : one.ids) ids.emplace_back(id);
      entries.push_back(json::object{{"PodUID", one.uid},
                                     {"ContainerName", one.container},
                                     {"ResourceName", kTestResource},
                                     {"DeviceIDs", json::object{{"-1", std::move(ids)}}},
                                     {"AllocResp", ""}});
    }
    const json::object record{{"Data", json::object{{"PodDeviceEntries", std::move(entries)}}},
                              {"Checksum", 1}};
    const std::lock_guard lock(mutex_);
    std::ofstream(KubeletImpl::record() + ".new") << json::serialize(record);
    fs::rename(KubeletImpl::record() + ".new", KubeletImpl::record());
  }

  const std::string directory_;
  const std::string pod_resources_;
  FakeKubelet held_;
  Lister lister_;
  std::unique_ptr<grpc::Server> lister_server_;
  std::unique_ptr<grpc::Server> server_;

  mutable std::mutex mutex_;
  std::vector<std::string> registered_;
  std::map<std::string, std::vector<SeenDevice>> devices_;
  std::string endpoint_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::thread> watchers_;
};

}  // namespace

std::unique_ptr<KubeletServer> make_kubelet_server(const Workplace& place) {
  return std::make_unique<KubeletImpl>(place);
}

}  // namespace tangram::kube::node
