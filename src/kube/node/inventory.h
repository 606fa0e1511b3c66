// What the agent writes on its node: our own inventory, and the words of HAMi that other tools read. Pure.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "kube/node/npu_facts.h"

namespace tangram::kube::node {

// tangram.dev/npus: {"driver":"25.5.0","conditions":["…"],"npus":[{"uuid":"…","index":0,"chip":"310P3",
// "board":2,"health":"ok","allocatableMiB":21527,"aiCores":8,"shares":7,"templates":["vir01", …],
// "strays":[{"id":103,"template":"vir02"}]}]}. What is not known is left out; `note` says why an NPU is not
// healthy, `notCut` why it has no templates.
std::string inventory_json(const MachineFacts& facts);

// Of HAMi's "hami.io/node-register-<commonWord>".
std::string hami_register_json(const MachineFacts& facts, std::string_view common_word);

// "Ascend310P" for a chip as the driver names it; empty for one that HAMi does not know.
std::string common_word_of(std::string_view chip);

// All annotations, by key. `now` stands in HAMi's handshake.
std::map<std::string, std::string> node_annotations(const MachineFacts& facts,
                                                    std::chrono::system_clock::time_point now);

}  // namespace tangram::kube::node
