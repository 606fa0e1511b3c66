// Chips as Pods ask for them and as nodes show them: the words of resources ("Ascend310P"), and the catalogue
// behind them, with what operators have described in ChipModels. Immutable, so thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "kube/protocol/node_npus.h"
#include "model/npu.h"
#include "wire/cluster.h"
#include "wire/npu_resource.h"

namespace tangram::kube::manager {

using ChipDocs = std::map<std::string, wire::ClusterChip, std::less<>>;  // by their names

class Chips {
 public:
  // Errors: those of Catalog::with().
  static Result<std::shared_ptr<const Chips>> with(const ChipDocs& operators);
  static std::shared_ptr<const Chips> builtin();

  const std::shared_ptr<const Catalog>& catalog() const { return catalog_; }

  // Under which word an NPU is asked for; empty: under none.
  std::string word_of(const NodeNpu& npu) const;
  // Which chip of the catalogue it is cut as; empty: it is not cut.
  std::string template_set_of(const NodeNpu& npu) const;
  // As the core knows it: its model is the word, so that a Pod's word finds it.
  NpuReport report_of(const NodeNpu& npu, bool usable) const;

  // A template by its name, of the chip behind the word, or (where `set` is not empty) of that chip of the
  // catalogue. Null: there is none.
  const SliceTemplate* find_template(std::string_view word, std::string_view name) const;
  const SliceTemplate* find_template_of(std::string_view set, std::string_view name) const;

 private:
  const ChipModel* find_model(std::string_view name) const;

  std::shared_ptr<const Catalog> catalog_;
  std::vector<wire::NpuResource> resources_;  // each word once; operators' before the built-in ones
};

}  // namespace tangram::kube::manager
