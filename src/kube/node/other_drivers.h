// Whether somebody else hands out the NPUs of this node: then the agent must not start, because each would
// give away what the other has given. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/api/json.h"

namespace tangram::kube::node {

// What stands against a start, one sentence each; empty: nothing. `sockets`: names in the kubelet's directory
// of device plugins at which somebody answers, without our own. `resource`: ours; empty: after the chips that
// our annotation names. `node`: the Node, whose allocatable tells of plugins that are not here any more or do
// not listen there; our annotation on it tells that the numbers of our resource are ours.
std::vector<std::string> other_drivers(const std::vector<std::string>& sockets, std::string_view resource,
                                       const json::object& node);

}  // namespace tangram::kube::node
