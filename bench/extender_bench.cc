// What the extender's protocol costs by itself: reading a question and writing its answer, without the book.
#include <benchmark/benchmark.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "kube/extender/messages.h"

namespace tangram::kube::extender {
namespace {

// A Pod as the API server has it, some 6 KiB with its managed fields, and node names of a usual length.
std::string question(std::int64_t nodes) {
  json::object container{{"name", "main"}, {"image", "registry.example/train:1.2.3"}};
  container["resources"] = json::object{
      {"limits", json::object{{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "6144"}}}};
  json::array containers;
  containers.push_back(std::move(container));
  json::object metadata{{"name", "train-0"}, {"namespace", "team-a"}, {"uid", "0a1b2c3d-0000"}};
  metadata["labels"] = json::object{{"tangram.dev/managed", "true"}};
  json::array fields;
  for (int i = 0; i < 60; ++i) {
    fields.push_back(
        json::object{{"manager", "kube-controller-manager"}, {"fieldsV1", std::string(60, 'f')}});
  }
  metadata["managedFields"] = std::move(fields);
  json::object pod;
  pod["metadata"] = std::move(metadata);
  pod["spec"] = json::object{{"containers", std::move(containers)}};
  json::array names;
  for (std::int64_t i = 0; i < nodes; ++i) {
    names.emplace_back("npu-node-" + std::to_string(i) + ".cluster.example");
  }
  json::object args;
  args["Pod"] = std::move(pod);
  args["Nodes"] = nullptr;
  args["NodeNames"] = std::move(names);
  return json::serialize(args);
}

void read_a_question(benchmark::State& state) {
  const std::string body = question(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(read_question(body));
  state.counters["bytes"] = static_cast<double>(body.size());
}
BENCHMARK(read_a_question)->Arg(100)->Arg(1'000)->Arg(5'000);

// Half of the nodes fit.
void write_an_answer(benchmark::State& state) {
  const auto asked = read_question(question(state.range(0)));
  FilterAnswer answer;
  for (std::size_t i = 0; i < asked->nodes.size(); ++i) {
    if (i % 2 == 0) {
      answer.fitting.push_back(asked->nodes[i]);
    } else {
      answer.refused.push_back({asked->nodes[i], "CardInsufficientMemory"});
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(write_filter(answer));
}
BENCHMARK(write_an_answer)->Arg(100)->Arg(1'000)->Arg(5'000);

}  // namespace
}  // namespace tangram::kube::extender
