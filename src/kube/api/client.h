// Requests to the API server, one at a time and typed as the API itself is: which object, which verb. Bodies
// are JSON text; nothing is decoded into models, so no field that this version does not know is ever lost.
//
// Threads: thread-safe. Calls block, and run side by side on connections of their own; there is no lock
// around I/O. A call ends at its deadline, or when its Interrupt is raised.
//
// Repetition: a call is sent again, with growing rests within its deadline, when the server asked for that
// (429, or 503 with Retry-After), and a call that only reads also after a lost connection or another 5xx. A
// write whose connection broke may have been carried out or not: that is the caller's to find out, so write
// with a resource version, an own name, or server-side apply. After a 401 the credentials are read again,
// once.
//
// Source: Kubernetes API concepts; k8s.io/api core/v1 Binding, policy/v1 Eviction, meta/v1 DeleteOptions.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api/backoff.h"
#include "kube/api/config.h"
#include "kube/api/credentials.h"
#include "kube/api/failure.h"
#include "kube/api/json.h"
#include "kube/api/resource.h"
#include "kube/api/timing.h"
#include "net/http.h"
#include "net/interrupt.h"

namespace tangram::kube {

struct ClientSettings {
  std::string user_agent = "tangram";
  std::string field_manager = "tangram";      // who writes, in managedFields
  std::chrono::milliseconds timeout{30'000};  // of a call with its repetitions; of the head of a watch
  int tries_max = 5;                          // of one call
  BackoffLimits rests{std::chrono::milliseconds(250), std::chrono::milliseconds(5'000),
                      std::chrono::milliseconds(60'000)};
  std::size_t answer_bytes_max = std::size_t{64} << 20;  // of one answer, or one page of a list
  // Of one event of a watch. An object has at most 1.5 MiB in etcd; its JSON may be some times that.
  std::size_t watch_line_bytes_max = std::size_t{12} << 20;
};

struct CallOptions {
  const net::Interrupt* interrupt = nullptr;           // must outlive the call
  std::optional<std::chrono::milliseconds> timeout{};  // another than that of the settings
};

struct Selection {
  Resource resource;
  std::string space{};           // namespace; empty: all
  std::string label_selector{};  // "app=train,tier!=x"
  std::string field_selector{};  // "spec.nodeName=node-a"
  bool metadata_only = false;    // PartialObjectMetadata instead of the objects
};

struct ListQuery {
  Selection selection;
  std::size_t limit = 500;  // objects a page; 0: all in one
  // Empty: what is there now. "0": whatever the server has at hand, in one page, perhaps old.
  std::string resource_version{};
};

struct WatchQuery {
  Selection selection;
  std::string resource_version{};  // from where on
  bool initial_events = false;     // WatchList: first all that is there, then a bookmark that says so
  std::chrono::seconds open_for{300};
};

// "If it is still this one." What is empty is not asked for.
struct Preconditions {
  std::string uid{};
  std::string resource_version{};
};

enum class Propagation : std::uint8_t { kDefault, kBackground, kForeground, kOrphan };

struct RemoveOptions {
  Preconditions only_if{};
  Propagation propagation = Propagation::kDefault;
  std::optional<int> grace_seconds{};
};

class ApiClient {
 public:
  // Errors as Credentials::open(). Nothing is sent yet.
  static Result<std::unique_ptr<ApiClient>> open(ClusterConfig config, ClientSettings settings = {},
                                                 std::shared_ptr<Timing> timing = system_timing());
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // ---- reading; the JSON text of what was asked for

  Result<std::string> get(const ObjectName& object, const CallOptions& options = {});
  // Any path: "/version", "/readyz".
  Result<std::string> get_path(const std::string& path, const CallOptions& options = {});

  // Gives each object, page by page, and returns the resource version of the list: what a watch goes on from.
  // Objects in a list carry neither apiVersion nor kind. An error of `on_item` ends it. kGone when the server
  // has forgotten the state of the first page before the last was read: what was given is then not a whole.
  Result<std::string> list(const ListQuery& query,
                           const std::function<Result<void>(const json::object&)>& on_item,
                           const CallOptions& options = {});

  // Gives each line of a watch until the server ends it (also after open_for), `on_line` returns false or an
  // error, or nothing has come for `silence`: kTimeout. The end of the server is a success.
  Result<void> watch(const WatchQuery& query, std::chrono::milliseconds silence,
                     const std::function<Result<bool>(std::string_view line)>& on_line,
                     const net::Interrupt* interrupt = nullptr);

  // ---- writing; the JSON text of what is there now

  // kAlreadyExists when it is there.
  Result<std::string> create(const Resource& resource, std::string_view space, std::string body,
                             const CallOptions& options = {});
  // Server-side apply: the fields of `body` (with apiVersion, kind and name) are this client's from now on.
  // kConflict when another manager has one of them and `force` is false.
  Result<std::string> apply(const ObjectName& object, std::string body, bool force = true,
                            const CallOptions& options = {});
  // `resource_version` not empty: compare and swap, kConflict when the object has another one.
  Result<std::string> merge_patch(const ObjectName& object, json::object patch,
                                  std::string_view resource_version = {}, const CallOptions& options = {});
  // The same with the operations of RFC 6902. An operation "test" that does not hold is kInvalid.
  Result<std::string> json_patch(const ObjectName& object, const json::array& operations,
                                 std::string_view resource_version = {}, const CallOptions& options = {});
  // kConflict when it is not the one of the preconditions. Success also when it only begins to end
  // (finalizers, grace).
  Result<void> remove(const ObjectName& object, const RemoveOptions& how = {},
                      const CallOptions& options = {});

  // ---- Pods

  // Asks the Pod to end, as its PodDisruptionBudget allows: kBudget when it does not.
  Result<void> evict(std::string_view space, std::string_view pod, std::string_view uid,
                     std::optional<int> grace_seconds = {}, const CallOptions& options = {});
  // kConflict when the Pod is bound already or has another uid.
  Result<void> bind(std::string_view space, std::string_view pod, std::string_view uid, std::string_view node,
                    const CallOptions& options = {});

  const ClusterConfig& config() const { return credentials_->config(); }
  Timing& timing() { return *timing_; }

 private:
  struct Ask;

  ApiClient(ClientSettings settings, std::shared_ptr<Timing> timing,
            std::unique_ptr<Credentials> credentials);

  Result<std::string> call(const Ask& ask, const CallOptions& options);
  net::ClientRequest request_of(const Ask& ask, const Session& session,
                                const net::Interrupt* interrupt) const;
  Result<net::Response> try_once(const Ask& ask, const Session& session, const net::Interrupt* interrupt,
                                 std::chrono::milliseconds timeout) const;
  Result<void> list_page(const Ask& ask, const CallOptions& options, std::string& go_on, std::string& version,
                         const std::function<Result<void>(const json::object&)>& on_item);
  Result<void> watch_once(const Ask& ask, const Session& session, std::chrono::milliseconds silence,
                          const std::function<Result<bool>(std::string_view line)>& on_line,
                          const net::Interrupt* interrupt) const;

  const ClientSettings settings_;
  const std::shared_ptr<Timing> timing_;
  const std::unique_ptr<Credentials> credentials_;
};

}  // namespace tangram::kube
