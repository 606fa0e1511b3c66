// The directories that containers get their devices from: one for each share, filled before the runtime reads
// it. A runtime that is given a directory as a device adds every node in it, with its number.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/node/hand_out.h"

namespace tangram::kube::node {

// Thread-safe as the file system is; calls about one share must not run side by side.
class DeviceTree {
 public:
  // `root`: where the directories are, which everybody may read and only root may change. `devices`: where
  // the driver's nodes are ("/dev").
  DeviceTree(std::string root, std::string devices) : root_(std::move(root)), devices_(std::move(devices)) {}

  std::string path_of(const std::string& share) const { return root_ + "/" + share; }

  // What the container of this entry finds in /dev: davinci<vNPU id> of a slice, davinci<N> of a whole NPU.
  // Whole NPUs are in the directories of the ids in their order. Errors: kUnavailable
  // "node.device.missing" when the driver's node is not there, or as the system says.
  Result<void> publish(const Handed& handed) const;
  // Removes it: nobody gets what stood there, and a container that is started all the same is not.
  Result<void> clear(const std::string& share) const;
  // Names of the nodes in each share's directory; those of empty ones are not there.
  std::map<std::string, std::vector<std::string>> contents() const;
  // Removes all directories but these.
  void keep_only(const std::vector<std::string>& shares) const;

  // The nodes of the driver that every user of an NPU needs, those of them that are there.
  std::vector<std::string> common_nodes() const;

 private:
  Result<void> make_empty(const std::string& share) const;
  Result<void> put(const std::string& share, const std::string& host_name, const std::string& name) const;

  const std::string root_;
  const std::string devices_;
};

}  // namespace tangram::kube::node
