#include "kube/node/kubelet_link.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include <grpcpp/grpcpp.h>

#include <deviceplugin/v1beta1/api.grpc.pb.h>
#include <podresources/v1/api.grpc.pb.h>
#include "base/log.h"
#include "base/quote.h"

namespace tangram::kube::node {
namespace {

constexpr std::chrono::seconds kCallSeconds{10};
// A kubelet that has just started again is waited for, and one that is away holds up the looks no longer.
constexpr std::chrono::seconds kViewSeconds{3};
// How soon a stream sees that its other end is gone.
constexpr std::chrono::milliseconds kStreamWait{500};
// Of the answer that lists all Pods of a node.
constexpr int kAnswerBytesMax = 16 << 20;

grpc::StatusCode status_code_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Code::kAlreadyExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case Code::kPermissionDenied:
    case Code::kPolicyRefused:
      return grpc::StatusCode::PERMISSION_DENIED;
    case Code::kUnauthenticated:
      return grpc::StatusCode::UNAUTHENTICATED;
    case Code::kFailedPrecondition:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case Code::kResourceExhausted:
    case Code::kNotNow:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Code::kAborted:
      return grpc::StatusCode::ABORTED;
    case Code::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case Code::kDeadlineExceeded:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case Code::kDataLoss:
      return grpc::StatusCode::DATA_LOSS;
    case Code::kUnimplemented:
      return grpc::StatusCode::UNIMPLEMENTED;
    case Code::kInternal:
      break;
  }
  return grpc::StatusCode::INTERNAL;
}

std::vector<std::string> strings_of(const google::protobuf::RepeatedPtrField<std::string>& list) {
  return {list.begin(), list.end()};
}

tl::unexpected<Error> away(const std::string& what, const grpc::Status& status) {
  return fail(Code::kUnavailable, "node.kubelet.away", what + ": " + printable(status.error_message()));
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
  // A kubelet that comes back is found at once, and not after a pause that has grown.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  return grpc::CreateCustomChannel("unix://" + socket, grpc::InsecureChannelCredentials(), arguments);
}

void set_deadline(grpc::ClientContext& context, std::chrono::seconds most) {
  context.set_deadline(std::chrono::system_clock::now() + most);
}

v1beta1::ListAndWatchResponse response_of(const Offer& offer) {
  v1beta1::ListAndWatchResponse response;
  for (const OfferedShare& share : offer.shares) {
    v1beta1::Device* device = response.add_devices();
    device->set_id(share.id);
    device->set_health(share.healthy ? "Healthy" : "Unhealthy");
    if (share.numa) device->mutable_topology()->add_nodes()->set_id(*share.numa);
  }
  return response;
}

class Plugin final : public v1beta1::DevicePlugin::Service {
 public:
  Plugin(Agent& agent, std::string resource) : agent_(agent), resource_(std::move(resource)) {}

  void stop() { stopping_ = true; }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext* /*context*/, const v1beta1::Empty* /*request*/,
                                      v1beta1::DevicePluginOptions* options) override {
    options->set_pre_start_required(true);
    options->set_get_preferred_allocation_available(true);
    return grpc::Status::OK;
  }

  // A new stream begins with the whole list.
  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty* /*request*/,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override {
    Offer offer = agent_.offer(resource_);
    bool told = stream->Write(response_of(offer));
    while (told && !stopping_ && !context->IsCancelled()) {
      Offer next = agent_.wait_offer(resource_, offer.version, kStreamWait);
      if (next.version == offer.version) continue;
      offer = std::move(next);
      told = stream->Write(response_of(offer));
    }
    return grpc::Status::OK;
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext* /*context*/,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    for (const auto& one : request->container_requests()) {
      const auto ids =
          agent_.prefer(strings_of(one.available_deviceids()), strings_of(one.must_include_deviceids()),
                        static_cast<std::size_t>(std::max(0, one.allocation_size())));
      auto* container = response->add_container_responses();
      for (const std::string& id : ids) container->add_deviceids(id);
    }
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext* /*context*/, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    for (const auto& one : request->container_requests()) {
      const AllocateAnswer answer = agent_.allocate(strings_of(one.devices_ids()));
      auto* container = response->add_container_responses();
      for (const AllocateAnswer::Device& device : answer.devices) {
        v1beta1::DeviceSpec* spec = container->add_devices();
        spec->set_host_path(device.host);
        spec->set_container_path(device.container);
        spec->set_permissions("rw");
      }
      for (const HostMount& mount : answer.mounts) {
        v1beta1::Mount* spec = container->add_mounts();
        spec->set_host_path(mount.host);
        spec->set_container_path(mount.container);
        spec->set_read_only(true);
      }
      for (const auto& [name, value] : answer.environment) (*container->mutable_envs())[name] = value;
    }
    return grpc::Status::OK;
  }

  grpc::Status PreStartContainer(grpc::ServerContext* /*context*/,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse* /*response*/) override {
    const Result<void> ready = agent_.pre_start(strings_of(request->devices_ids()));
    if (ready) return grpc::Status::OK;
    return {status_code_of(ready.error().code), ready.error().to_string()};
  }

 private:
  Agent& agent_;
  const std::string resource_;
  std::atomic<bool> stopping_ = false;
};

class Server final : public PluginServer {
 public:
  Server(Agent& agent, const std::string& resource) : plugin_(agent, resource) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override {
    plugin_.stop();
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  }

  Result<void> listen(const std::string& socket) {
    unlink(socket.c_str());
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix://" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(&plugin_);
    const mode_t before = umask(077);
    server_ = builder.BuildAndStart();
    umask(before);
    if (!server_) {
      return fail(
          Code::kUnavailable, "node.socket.unusable", "cannot listen at " + socket,
          "check that the kubelet's directory is mounted, and that the path is shorter than 108 bytes");
    }
    return {};
  }

 private:
  Plugin plugin_;
  std::unique_ptr<grpc::Server> server_;
};

class Kubelet final : public KubeletSource {
 public:
  Kubelet(KubeletPaths paths, IsOwnResource is_own)
      : paths_(std::move(paths)),
        is_own_(std::move(is_own)),
        lister_(v1::PodResourcesLister::NewStub(channel_to(paths_.pod_resources))) {}

  Result<KubeletView> view() override {
    grpc::ClientContext context;
    set_deadline(context, kViewSeconds);
    context.set_wait_for_ready(true);
    v1::ListPodResourcesResponse response;
    const grpc::Status status = lister_->List(&context, v1::ListPodResourcesRequest(), &response);
    if (!status.ok()) return away("pod-resources cannot be asked", status);
    KubeletView view;
    for (const v1::PodResources& pod : response.pod_resources()) {
      for (const v1::ContainerResources& container : pod.containers()) add_listed(pod, container, view);
    }
    view.recorded = read_record();
    return view;
  }

 private:
  // The ids of one resource may come in several groups, one for each NUMA node.
  void add_listed(const v1::PodResources& pod, const v1::ContainerResources& container,
                  KubeletView& view) const {
    std::map<std::string, ShareIds> by_resource;
    for (const v1::ContainerDevices& devices : container.devices()) {
      if (!is_own_(devices.resource_name())) continue;
      ShareIds& ids = by_resource[devices.resource_name()];
      ids.insert(ids.end(), devices.device_ids().begin(), devices.device_ids().end());
    }
    for (auto& [resource, ids] : by_resource) {
      std::ranges::sort(ids);
      if (!ids.empty())
        view.listed.push_back({pod.namespace_(), pod.name(), container.name(), std::move(ids)});
    }
  }

  std::optional<std::vector<Recorded>> read_record() const {
    std::ifstream file(paths_.record);
    if (!file) return std::nullopt;
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Result<std::vector<Recorded>> recorded = parse_kubelet_record(text, is_own_);
    if (recorded) return std::move(*recorded);
    log::warn(recorded.error().to_string());
    return std::nullopt;
  }

  const KubeletPaths paths_;
  const IsOwnResource is_own_;
  const std::unique_ptr<v1::PodResourcesLister::Stub> lister_;
};

}  // namespace

Result<std::unique_ptr<PluginServer>> serve_plugin(Agent& agent, const std::string& resource,
                                                   const std::string& socket) {
  auto server = std::make_unique<Server>(agent, resource);
  TG_TRY_VOID(server->listen(socket));
  return std::unique_ptr<PluginServer>(std::move(server));
}

Result<void> register_plugin(const std::string& kubelet_socket, const std::string& endpoint,
                             const std::string& resource) {
  const auto stub = v1beta1::Registration::NewStub(channel_to(kubelet_socket));
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  request.mutable_options()->set_pre_start_required(true);
  request.mutable_options()->set_get_preferred_allocation_available(true);
  grpc::ClientContext context;
  set_deadline(context, kCallSeconds);
  v1beta1::Empty response;
  const grpc::Status status = stub->Register(&context, request, &response);
  if (!status.ok()) return away("the kubelet does not take the device plugin", status);
  return {};
}

std::unique_ptr<KubeletSource> make_kubelet_source(KubeletPaths paths, IsOwnResource is_own) {
  return std::make_unique<Kubelet>(std::move(paths), std::move(is_own));
}

}  // namespace tangram::kube::node
