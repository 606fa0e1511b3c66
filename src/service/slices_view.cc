#include "service/slices_view.h"

#include <algorithm>
#include <utility>

#include "service/cutting.h"
#include "service/device_use.h"
#include "service/npu_cuts.h"
#include "wire/sentences.h"
#include "wire/slice_texts.h"
#include "wire/slice_words.h"

namespace tangram::service {
namespace {

namespace say = wire::slices;
using wire::Language;

constexpr std::int32_t kMilli = 1'000;

class NpuSlices {
 public:
  NpuSlices(const State& state, const Caller& caller, const DeviceReadings& readings, const CutRules& rules,
            bool private_devices, const NpuView& npu)
      : state_(state),
        caller_(caller),
        readings_(readings),
        private_devices_(private_devices),
        npu_(npu),
        reading_(find_reading(readings, npu.report.physical_id)),
        id_(std::to_string(npu.report.physical_id)),
        cuts_(look_at_cuts(own_slices(state), rules, npu, reading_)),
        catalog_(*rules.catalog()),
        chip_(cuts_.chip == kNoChip ? nullptr : &catalog_.chip(cuts_.chip)),
        obstacle_(find_obstacle()) {}

  wire::NpuSlicesView view(const std::vector<std::string>& asked) const {
    const NpuReport& report = npu_.report;
    wire::NpuSlicesView view;
    view.npu = report.physical_id;
    if (reading_ != nullptr) {
      view.card = reading_->card_id;
      view.chip_on_card = reading_->chip_id;
    }
    view.chip = report.chip;
    if (chip_ != nullptr) view.model = chip_->model.name;
    view.health = report.health;
    view.mode = npu_.mode;
    if (report.ai_cores > 0) view.ai_cores = report.ai_cores;
    if (report.memory.count > 0) view.memory = report.memory;
    view.usable_memory = usable_whole(readings_, report.physical_id);
    if (npu_.job.valid()) name_holder(npu_.job, view);
    view.offered = report.cuttable;
    for (const CutSlice& slice : cuts_.slices) view.slices.push_back(slice_view(slice));
    // The state tells of every slice, the report only of those that the core was told of.
    if (!view.slices.empty() && view.mode == NpuMode::kFree) view.mode = NpuMode::kSliced;
    if (obstacle_) view.note = obstacle_->message;
    if (chip_ != nullptr && cuts_.state != kNoState) {
      view.free_ai_cores = npu_.job.valid() ? 0 : chip_->table.free_ai_cores(cuts_.state);
    }
    add_cuts(view);
    if (!asked.empty()) view.asked = mix_view(asked);
    return view;
  }

 private:
  Language language() const { return caller_.language; }

  // Names the holder to who may see the job.
  template <class View>
  void name_holder(JobId job, View& view) const {
    const auto status = state_.core().job(job);
    if (!status || !may_see(state_, caller_, status->spec.tenant)) return;
    const wire::Names names = names_of(state_);
    view.tenant = names.tenant(status->spec.tenant);
    view.job = wire::format_job_id(job);
    view.job_name = names.job(job);
  }

  wire::StandingSliceView slice_view(const CutSlice& slice) const {
    wire::StandingSliceView view;
    view.id = slice.id;
    view.template_name = slice.template_name;
    view.standing = slice.standing;
    // Of a chip without such groups drivers tell a 0 that means nothing.
    const bool has_vgroups = chip_ == nullptr || chip_->model.vgroups > 0;
    if (has_vgroups && slice.vgroup != kNoVgroup) view.vgroup = slice.vgroup;
    view.unseen = is_unseen(slice, reading_);
    if (slice.seen != nullptr) {
      const SliceResources& resources = slice.seen->resources;
      if (resources.ai_cores_milli.valid) view.ai_cores = resources.ai_cores_milli.value / kMilli;
      if (slice.seen->memory_usable.valid) view.usable_memory = slice.seen->memory_usable.value;
      if (slice.seen->memory_used.valid) view.memory_used = slice.seen->memory_used.value;
    }
    if (const SliceTemplate* shape = template_of(slice.template_name)) {
      view.ai_cores = shape->ai_cores();
      view.memory = shape->memory;
      view.usable_memory = shape->usable_memory;
    }
    if (slice.held == nullptr) return view;
    view.ai_cores = slice.held->placement.ai_cores;
    view.memory = slice.held->placement.memory;
    view.usable_memory = slice.held->placement.usable_memory;
    name_holder(slice.held->job, view);
    return view;
  }

  const SliceTemplate* template_of(const std::string& name) const {
    if (chip_ == nullptr) return nullptr;
    const std::uint32_t shape = find_template(chip_->model, name);
    return shape < chip_->model.templates.size() ? &chip_->model.templates[shape] : nullptr;
  }

  wire::ReasonView rule(std::string_view code, const wire::Text& text, wire::Places places = {}) const {
    return wire::make_rule(code, wire::fill(text, language(), places), language());
  }

  // What forbids any cut here, however small: of the chip first, then what may pass.
  std::optional<wire::ReasonView> find_obstacle() const {
    constexpr std::string_view kUnavailable = "slice.rule.unavailable";
    const std::string shown_chip = npu_.report.chip.empty() ? "-" : npu_.report.chip;
    if (chip_ == nullptr)
      return rule("slice.rule.no_chip", say::kNotKnownChip, {{"npu", id_}, {"chip", shown_chip}});
    if (reading_ != nullptr && !reading_->slicing.slices.valid) {
      const std::string why = wire::translated(reading_->slicing.note, language());
      return rule(kUnavailable, say::kNotRead, {{"npu", id_}, {"why", why.empty() ? "-" : why}});
    }
    if (readings_.slices_for_containers.valid && !readings_.slices_for_containers.value)
      return rule(kUnavailable, say::kForMachines);
    if (npu_.report.health != Health::kOk) return rule(kUnavailable, say::kNotHealthy, {{"npu", id_}});
    if (npu_.job.valid()) return rule("slice.rule.whole", say::kIsWhole, {{"npu", id_}});
    if (cuts_.resting) return rule(kUnavailable, say::kRests, {{"npu", id_}});
    if (cuts_.state == kNoState) return rule("slice.rule.no_mix", say::kNotKnownMix, {{"npu", id_}});
    if (npu_.report.cuttable) return std::nullopt;
    return rule(kUnavailable, say::kNotOffered, {{"npu", id_}, {"why", why_not_offered()}});
  }

  std::string why_not_offered() const {
    if (reading_ == nullptr) return "-";
    const auto set = template_set_of(*reading_, readings_, &npu_.report, {catalog_, private_devices_});
    // What has changed since the last report is told with the next.
    return set ? "-" : wire::translated(set.error().message, language());
  }

  std::vector<wire::ReasonView> rules_broken_by(const SliceMix& mix) const {
    std::vector<wire::ReasonView> rules;
    for (const SliceViolation& violation : why_illegal(chip_->model, mix))
      rules.push_back(wire::make_rule(chip_->model, violation, cuts_.mix, language()));
    return rules;
  }

  void add_cuts(wire::NpuSlicesView& view) const {
    if (chip_ == nullptr) return;
    for (std::uint32_t shape = 0; shape < chip_->model.templates.size(); ++shape) {
      const SliceTemplate& known = chip_->model.templates[shape];
      if (!known.offered) continue;
      wire::SliceCutView& cut = view.cuts.emplace_back();
      cut.template_name = known.name;
      cut.ai_cores = known.ai_cores();
      cut.ai_cpus = known.ai_cpus();
      cut.memory = known.memory;
      cut.usable_memory = known.usable_memory;
      if (obstacle_) {
        cut.rules = {*obstacle_};
        continue;
      }
      cut.room = chip_->table.room(cuts_.state, shape);
      if (cut.room == 0) cut.rules = rules_broken_by(with_slice(chip_->model, cuts_.mix, shape));
    }
  }

  wire::SliceMixView mix_view(const std::vector<std::string>& asked) const {
    wire::SliceMixView view;
    view.templates = asked;
    if (obstacle_) {
      view.rules = {*obstacle_};
      return view;
    }
    const auto standing = static_cast<std::int64_t>(cuts_.slices.size());
    const auto all = standing + static_cast<std::int64_t>(asked.size());
    if (asked.size() > static_cast<std::size_t>(kSlicesPerChipMax)) {
      const SliceViolation many{SliceRule::kSlices, ChipResource::kAiCores, 0, all, chip_->model.slices_max};
      view.rules = {wire::make_rule(chip_->model, many, cuts_.mix, language())};
      return view;
    }
    SliceMix mix = cuts_.mix;
    std::string known;
    for (const SliceTemplate& shape : chip_->model.templates) {
      if (shape.offered) known.append(known.empty() ? "" : say::kComma.in(language())).append(shape.name);
    }
    for (const std::string& name : asked) {
      const std::uint32_t shape = find_template(chip_->model, name);
      const bool is_known = shape < chip_->model.templates.size();
      if (is_known && chip_->model.templates[shape].offered) {
        mix = with_slice(chip_->model, mix, shape);
        continue;
      }
      view.rules.push_back(rule(is_known ? "slice.rule.not_given" : "slice.rule.no_template",
                                is_known ? say::kNotGiven : say::kNoSuchTemplate,
                                {{"template", name}, {"model", chip_->model.name}, {"known", known}}));
    }
    if (view.rules.empty()) view.rules = rules_broken_by(mix);
    view.legal = view.rules.empty();
    return view;
  }

  const State& state_;
  const Caller& caller_;
  const DeviceReadings& readings_;
  const bool private_devices_;
  const NpuView& npu_;
  const DeviceNpu* reading_;
  const std::string id_;
  const NpuCuts cuts_;
  const Catalog& catalog_;
  const Catalog::Chip* chip_;
  const std::optional<wire::ReasonView> obstacle_;
};

}  // namespace

Result<wire::SlicesView> make_slices(const State& state, const Options& options, const Caller& caller,
                                     const DeviceReadings& readings, bool private_devices,
                                     const SlicesQuery& query) {
  wire::SlicesView view;
  view.node = options.node;
  const CutRules rules(state.core().catalog());
  const std::vector<NpuView> npus = state.core().npus();
  for (const NpuView& npu : npus) {
    if (query.npu && npu.report.physical_id != *query.npu) continue;
    view.npus.push_back(NpuSlices(state, caller, readings, rules, private_devices, npu).view(query.cut));
  }
  if (query.npu && view.npus.empty()) {
    return fail(Code::kNotFound, "npu.unknown", "no NPU " + std::to_string(*query.npu),
                "`tangram status` lists them", {{"npu", std::int64_t{*query.npu}}});
  }
  return view;
}

}  // namespace tangram::service
