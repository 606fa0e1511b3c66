#include "wire/slice_words.h"

#include <algorithm>
#include <utility>

#include "wire/slice_texts.h"
#include "wire/texts.h"

namespace tangram::wire {
namespace {

std::string amount(ChipResource resource, std::int64_t value) {
  return resource == ChipResource::kMemory ? format_bytes(Bytes(value)) : std::to_string(value);
}

std::string_view code_of(SliceRule rule) {
  switch (rule) {
    case SliceRule::kSlices:
      return "slice.rule.slices";
    case SliceRule::kResource:
      return "slice.rule.resource";
    case SliceRule::kTemplateCount:
      return "slice.rule.template";
    case SliceRule::kDvppOwned:
      return "slice.rule.dvpp";
    case SliceRule::kVgroups:
      return "slice.rule.vgroups";
    case SliceRule::kVgroupCores:
      return "slice.rule.vgroup_cores";
  }
  return {};
}

const Text& sentence_of(SliceRule rule) {
  switch (rule) {
    case SliceRule::kSlices:
      return slices::kTooManySlices;
    case SliceRule::kResource:
      return slices::kTooMuch;
    case SliceRule::kTemplateCount:
      return slices::kTooManyOfTemplate;
    case SliceRule::kDvppOwned:
      return slices::kMediaOwned;
    case SliceRule::kVgroups:
      return slices::kTooManyVgroups;
    case SliceRule::kVgroupCores:
      return slices::kTooManyVgroupCores;
  }
  return slices::kTooManySlices;
}

const Text& sentence_beside(SliceRule rule) {
  switch (rule) {
    case SliceRule::kSlices:
      return slices::kTooManySlicesMore;
    case SliceRule::kResource:
      return slices::kTooMuchMore;
    case SliceRule::kTemplateCount:
      return slices::kTooManyOfTemplateMore;
    case SliceRule::kDvppOwned:
      return slices::kMediaOwned;
    case SliceRule::kVgroups:
      return slices::kTooManyVgroupsMore;
    case SliceRule::kVgroupCores:
      return slices::kTooManyVgroupCoresMore;
  }
  return slices::kTooManySlicesMore;
}

}  // namespace

std::string word(ChipResource resource, Language language) {
  switch (resource) {
    case ChipResource::kAiCores:
      return std::string(slices::kAiCores.in(language));
    case ChipResource::kAiCpus:
      return std::string(slices::kAiCpus.in(language));
    case ChipResource::kMemory:
      return std::string(slices::kMemory.in(language));
    case ChipResource::kVpc:
    case ChipResource::kVenc:
    case ChipResource::kVdec:
    case ChipResource::kJpegd:
    case ChipResource::kJpege:
    case ChipResource::kPngdHalves:
      return fill(slices::kMediaEngines, language, {{"name", to_string(resource)}});
  }
  return {};
}

ReasonView make_rule(std::string_view code, std::string sentence, Language language) {
  ReasonView reason;
  reason.code = code;
  reason.message = std::move(sentence);
  if (const ReasonText* text = find_reason(code))
    reason.hint = language == Language::kChinese ? text->chinese_hint : text->english_hint;
  return reason;
}

ReasonView make_rule(const ChipModel& chip, const SliceViolation& violation, Language language) {
  const std::string resource = word(violation.resource, language);
  const std::string needed = amount(violation.resource, violation.needed);
  const std::string available = amount(violation.resource, violation.available);
  const std::string& shape = chip.templates[violation.shape].name;
  ReasonView reason = make_rule(
      code_of(violation.rule),
      fill(sentence_of(violation.rule), language,
           {{"resource", resource}, {"needed", needed}, {"available", available}, {"template", shape}}),
      language);
  reason.details = {{"needed", violation.needed}, {"available", violation.available}};
  if (violation.rule == SliceRule::kResource)
    reason.details.emplace_back("resource", std::string(to_string(violation.resource)));
  if (violation.rule == SliceRule::kTemplateCount || violation.rule == SliceRule::kDvppOwned)
    reason.details.emplace_back("template", shape);
  return reason;
}

ReasonView make_rule(const ChipModel& chip, const SliceViolation& violation, const SliceMix& standing,
                     Language language) {
  const std::int64_t there = counted(chip, standing, violation);
  const bool is_sum = violation.rule == SliceRule::kDvppOwned;  // who uses them, whenever it came
  const std::int64_t more = is_sum ? violation.needed : violation.needed - there;
  const std::int64_t left = std::max<std::int64_t>(0, violation.available - there);
  ReasonView reason = make_rule(chip, violation, language);
  const std::string resource = word(violation.resource, language);
  const std::string needed = amount(violation.resource, more);
  reason.message = fill(sentence_beside(violation.rule), language,
                        {{"resource", resource},
                         {"needed", needed},
                         {"more", needed},
                         {"left", amount(violation.resource, left)},
                         {"available", amount(violation.resource, violation.available)},
                         {"template", chip.templates[violation.shape].name}});
  for (auto& [key, value] : reason.details) {
    if (key == "needed") value = more;
  }
  if (!is_sum) reason.details.emplace_back("left", left);
  return reason;
}

}  // namespace tangram::wire
