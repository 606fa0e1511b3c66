#include "ascendsim/ctl/script.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <sstream>

namespace ascendsim::ctl {
namespace {

// Not the distributions of the standard library: those differ from one to the other.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + below(most - least + 1); }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 engine_;
};

struct Line {
  std::uint64_t at_ms = 0;
  std::string text;
};

struct Trouble {
  std::string begin;
  std::string end;  // empty: it ends by itself
};

std::string on_line(std::size_t number, const std::string& what) {
  return "line " + std::to_string(number) + ": " + what;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

// What ends every trouble of an NPU.
std::vector<std::string> cures(std::uint32_t npu) {
  const std::string name = std::to_string(npu);
  return {"return " + name, "slow " + name + " 0", "fail-create " + name + " 0",
          "refuse-destroy " + name + " 0"};
}

Trouble random_trouble(const ChaosPlan& plan, Dice& dice) {
  const std::string npu = " " + std::to_string(dice.one_of(plan.npus));
  const std::uint64_t kinds = plan.reboots ? 10 : 9;
  switch (dice.below(kinds)) {
    case 0:
      return {"remove" + npu, "return" + npu};
    case 1:
      return {"health" + npu + (dice.below(2) == 0 ? " alarm" : " critical"), "health" + npu + " ok"};
    case 2:
      return {"ecc" + npu + " single " + std::to_string(dice.between(1, 20)), ""};
    case 3:
      return {"ecc" + npu + " double 1", "clear" + npu + " all"};
    case 4:
      return {"hang" + npu, "slow" + npu + " 0"};
    case 5:
      return {"slow" + npu + " " + std::to_string(dice.between(100, 3000)), "slow" + npu + " 0"};
    case 6:
      return {"fail-create" + npu + " " + std::to_string(dice.between(1, 3)) +
                  (dice.below(2) == 0 ? " leak" : ""),
              "fail-create" + npu + " 0"};
    case 7:
      return {"refuse-destroy" + npu + " on", "refuse-destroy" + npu + " off"};
    case 8:
      if (plan.templates.empty()) return {"fault" + npu + " 81AD8605", "clear" + npu + " all"};
      return {"leak" + npu + " " + dice.one_of(plan.templates), ""};
    default:
      return {"reboot", ""};
  }
}

}  // namespace

std::optional<std::vector<Step>> parse_script(const std::string& text, std::string* complaint) {
  std::vector<Step> steps;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    Step step;
    const std::string& time = words[0];
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), step.at_ms);
    if (error != std::errc() || end != time.data() + time.size()) {
      *complaint = on_line(number, "'" + time + "' is not a time in milliseconds");
      return std::nullopt;
    }
    words.erase(words.begin());
    const auto action = parse_action(words, complaint);
    if (!action) {
      *complaint = on_line(number, *complaint);
      return std::nullopt;
    }
    step.action = *action;
    step.text = joined(words);
    steps.push_back(std::move(step));
  }
  std::ranges::stable_sort(steps, {}, &Step::at_ms);
  return steps;
}

std::string random_script(const ChaosPlan& plan) {
  Dice dice(plan.seed);
  std::vector<Line> lines;
  if (plan.npus.empty()) return "";
  const std::uint64_t gap_ms = std::max<std::uint64_t>(plan.mean_gap_ms, 1);
  for (std::uint64_t at_ms = dice.between(0, 2 * gap_ms); at_ms < plan.duration_ms;
       at_ms += dice.between(1, 2 * gap_ms)) {
    const Trouble trouble = random_trouble(plan, dice);
    lines.push_back({at_ms, trouble.begin});
    const std::uint64_t end_ms = std::min(at_ms + dice.between(gap_ms, 6 * gap_ms), plan.duration_ms);
    if (!trouble.end.empty()) lines.push_back({end_ms, trouble.end});
  }
  for (const std::uint32_t npu : plan.npus) {
    for (const std::string& cure : cures(npu)) lines.push_back({plan.duration_ms, cure});
  }
  std::ranges::stable_sort(lines, {}, &Line::at_ms);
  std::string text;
  for (const Line& line : lines) {
    text += std::to_string(line.at_ms);
    text += ' ';
    text += line.text;
    text += '\n';
  }
  return text;
}

}  // namespace ascendsim::ctl
