// What the agent writes on its node: our own inventory, and the words of HAMi that other tools read. Pure.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "kube/node/npu_facts.h"
#include "kube/protocol/node_npus.h"

namespace tangram::kube::node {

// As the annotation tangram.dev/npus has it. NPUs that are left alone are not in it, here and below.
NodeNpus inventory_of(const MachineFacts& facts);

// Of HAMi's "hami.io/node-register-<commonWord>".
std::string hami_register_json(const MachineFacts& facts, std::string_view common_word);

// All annotations, by key. `now` stands in HAMi's handshake.
std::map<std::string, std::string> node_annotations(const MachineFacts& facts,
                                                    std::chrono::system_clock::time_point now);

}  // namespace tangram::kube::node
