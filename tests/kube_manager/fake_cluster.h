// A small API server with a memory: objects that can be listed, watched, patched and applied, over real HTTP.
// What a test wants to go wrong goes wrong.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api/client.h"
#include "kube/api/json.h"
#include "kube_api/api_server.h"

namespace tangram::kube::manager {

class FakeCluster {
 public:
  FakeCluster();
  ~FakeCluster();

  std::unique_ptr<ApiClient> client(std::shared_ptr<Timing> timing = system_timing()) const;

  // Made or replaced, as by somebody else. Its path follows from its kind and name.
  void put(json::object object);
  void remove(const std::string& path);
  std::optional<json::object> get(const std::string& path) const;
  // Changes one object under the lock.
  void edit(const std::string& path, const std::function<void(json::object&)>& change);

  // Before a request is carried out: a status to answer with instead.
  using Refuse = std::function<std::optional<std::pair<int, std::string>>(const SeenRequest&)>;
  void set_refuse(Refuse refuse);
  // After it was carried out: whether the answer is lost.
  using Lose = std::function<bool(const SeenRequest&)>;
  void set_lose(Lose lose);
  // Called before a request is carried out, without a lock: for what happens at that very moment.
  void set_before(std::function<void(const SeenRequest&)> before);

  // Requests that change something, of a path that ends so.
  std::size_t writes(std::string_view path_end = "") const;

 private:
  struct Change {
    std::string type;
    std::string path;
    std::string text;
  };

  void handle(const SeenRequest& request, Conversation& conversation);
  void carry_out(const SeenRequest& request, Conversation& conversation);
  void list(const SeenRequest& request, Conversation& conversation);
  void watch(const SeenRequest& request, Conversation& conversation);
  // An answer: status and body.
  std::pair<int, std::string> write(const SeenRequest& request);
  std::pair<int, std::string> patch(const SeenRequest& request, const std::string& path, bool status);
  void store(const std::string& path, json::object object, const char* type);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, json::object> objects_;
  std::vector<Change> changes_;
  int version_ = 100;
  bool stopping_ = false;
  Refuse refuse_;
  Lose lose_;
  std::function<void(const SeenRequest&)> before_;
  std::unique_ptr<ApiServer> server_;  // last: its threads use all of the above
};

std::string pod_path(std::string_view name, std::string_view space = "team-a");

}  // namespace tangram::kube::manager
