// Marks the one Pod of Tangram's that leads, so that a Service can select it: the scheduler and Prometheus
// have questions that only the leader can answer. A label is not what makes a leader: whoever is led to
// another process is told so.
//
// Not thread-safe: belongs to one thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "kube/api/client.h"

namespace tangram::kube::process {

class LeaderLabel {
 public:
  // `client` must outlive it. `pod`: this process's own, in the namespace `space`.
  LeaderLabel(ApiClient& client, std::string space, std::string pod);

  // Brings the labels in line; to be called again and again, and calls the API only when something has
  // changed or the last time failed. Who leads takes the label from others first: one may have been stopped
  // with it. A Pod that is not there (the process runs outside of the cluster) is nothing to do.
  Result<void> pass(bool leads);

 private:
  Result<void> take_from_others();
  Result<void> write(const std::string& pod, bool leads);

  ApiClient& client_;
  const std::string space_;
  const std::string pod_;
  std::optional<bool> written_;
};

}  // namespace tangram::kube::process
