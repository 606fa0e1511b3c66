#include "ascendsim/ctl/action.h"

#include <charconv>
#include <map>
#include <sstream>

#include "ascendsim/faults/fault_codes.h"

namespace ascendsim::ctl {
namespace {

using Words = std::vector<std::string>;

const std::map<std::string, Health> kHealths = {{"ok", Health::kOk},
                                                {"warning", Health::kWarning},
                                                {"alarm", Health::kAlarm},
                                                {"critical", Health::kCritical},
                                                {"absent", Health::kAbsent}};
const std::map<std::string, Severity> kSeverities = {{"suggestion", Severity::kSuggestion},
                                                     {"minor", Severity::kMinor},
                                                     {"major", Severity::kMajor},
                                                     {"critical", Severity::kCritical}};

constexpr std::uint32_t kMillisecondsMax = 600'000;
constexpr std::uint32_t kCountMax = 1'000'000;

std::optional<std::uint32_t> number(const std::string& text, std::uint32_t most, int base = 10) {
  const std::size_t skip = base == 16 && text.rfind("0x", 0) == 0 ? 2 : 0;
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + skip, end, value, base);
  if (error != std::errc() || stop != end || value > most) return std::nullopt;
  return value;
}

// Each reader fills the action from the words behind the NPU, or says what is wrong.
using Reader = std::string (*)(const Words&, Action*);

std::string read_health(const Words& words, Action* action) {
  const auto found = kHealths.find(words[0]);
  if (found == kHealths.end()) {
    return "health '" + words[0] + "' is not ok, warning, alarm, critical or absent";
  }
  action->type = RequestType::kSetHealth;
  action->health.health = found->second;
  return "";
}

std::string read_remove(const Words&, Action* action) {
  return read_health({"absent"}, action);
}

std::string read_return(const Words&, Action* action) {
  return read_health({"ok"}, action);
}

std::string read_fault(const Words& words, Action* action) {
  const auto code = number(words[0], 0xFFFFFFFF, 16);
  if (!code) return "fault code '" + words[0] + "' is not a hexadecimal number of 32 bits";
  const FaultCode* known = find_fault_code(*code);
  Severity severity = known != nullptr ? known->severity : Severity::kMajor;
  if (words.size() == 2) {
    const auto found = kSeverities.find(words[1]);
    if (found == kSeverities.end())
      return "severity '" + words[1] + "' is not suggestion, minor, major or critical";
    severity = found->second;
  }
  action->inject.injection = Injection::kRaiseFault;
  action->inject.first = *code;
  action->inject.second = static_cast<std::uint32_t>(severity);
  return "";
}

std::string read_clear(const Words& words, Action* action) {
  const auto code = words[0] == "all" ? std::optional(kAnyNumber) : number(words[0], 0xFFFFFFFE, 16);
  if (!code) return "fault code '" + words[0] + "' is neither a hexadecimal number nor all";
  action->inject.injection = Injection::kClearFault;
  action->inject.first = *code;
  return "";
}

std::string read_ecc(const Words& words, Action* action) {
  if (words[0] != "single" && words[0] != "double") return "'" + words[0] + "' is not single or double";
  const auto count = number(words[1], kCountMax);
  if (!count) return "'" + words[1] + "' is not a count up to " + std::to_string(kCountMax);
  action->inject.injection = Injection::kEccErrors;
  action->inject.first = *count;
  action->inject.second = words[0] == "double" ? 1 : 0;
  return "";
}

std::string read_slow(const Words& words, Action* action) {
  const auto ms = number(words[0], kMillisecondsMax);
  if (!ms) return "'" + words[0] + "' is not milliseconds up to " + std::to_string(kMillisecondsMax);
  action->inject.injection = Injection::kStall;
  action->inject.first = *ms;
  return "";
}

std::string read_hang(const Words&, Action* action) {
  action->inject.injection = Injection::kStall;
  action->inject.first = kAnyNumber;
  return "";
}

std::string read_fail_create(const Words& words, Action* action) {
  const auto count = number(words[0], kCountMax);
  if (!count) return "'" + words[0] + "' is not a count up to " + std::to_string(kCountMax);
  if (words.size() == 2 && words[1] != "leak") return "'" + words[1] + "' is not leak";
  action->inject.injection = Injection::kFailCreates;
  action->inject.first = *count;
  action->inject.second = words.size() == 2 ? 1 : 0;
  return "";
}

std::string read_refuse_destroy(const Words& words, Action* action) {
  const auto count = words[0] == "on"    ? std::optional(kAnyNumber)
                     : words[0] == "off" ? std::optional(0U)
                                         : number(words[0], kCountMax);
  if (!count) return "'" + words[0] + "' is not a count, on or off";
  action->inject.injection = Injection::kRefuseDestroys;
  action->inject.first = *count;
  return "";
}

std::string read_leak(const Words& words, Action* action) {
  if (words[0].size() >= sizeof action->inject.text) return "'" + words[0] + "' is not a template";
  action->inject.injection = Injection::kLeakVdev;
  words[0].copy(action->inject.text, sizeof action->inject.text - 1);
  return "";
}

struct Verb {
  std::size_t least = 0;  // words behind the NPU
  std::size_t most = 0;
  Reader read = nullptr;
};
const std::map<std::string, Verb> kVerbs = {{"health", {1, 1, read_health}},
                                            {"remove", {0, 0, read_remove}},
                                            {"return", {0, 0, read_return}},
                                            {"fault", {1, 2, read_fault}},
                                            {"clear", {1, 1, read_clear}},
                                            {"ecc", {2, 2, read_ecc}},
                                            {"slow", {1, 1, read_slow}},
                                            {"hang", {0, 0, read_hang}},
                                            {"fail-create", {1, 2, read_fail_create}},
                                            {"refuse-destroy", {1, 1, read_refuse_destroy}},
                                            {"leak", {1, 1, read_leak}}};

std::string parse_reboot(const Words& words, Action* action) {
  const auto ms = words.size() == 1 ? std::optional(0U) : number(words[1], kMillisecondsMax);
  if (!ms || words.size() > 2) return "reboot takes milliseconds up to " + std::to_string(kMillisecondsMax);
  action->inject.injection = Injection::kReboot;
  action->inject.first = *ms;
  action->npu = kAnyNumber;
  return "";
}

std::string parse(const Words& words, Action* action) {
  if (words.empty()) return "an action is missing";
  if (words[0] == "reboot") return parse_reboot(words, action);
  const auto verb = kVerbs.find(words[0]);
  if (verb == kVerbs.end()) return "'" + words[0] + "' is not an action";
  if (words.size() < 2) return words[0] + " needs an NPU";
  const auto npu = number(words[1], kNpusMax - 1);
  if (!npu) return "NPU '" + words[1] + "' is not a number below " + std::to_string(kNpusMax);
  action->npu = *npu;
  const Words rest(words.begin() + 2, words.end());
  if (rest.size() < verb->second.least || rest.size() > verb->second.most) {
    return words[0] + " has the wrong number of words; without arguments this program shows them";
  }
  return verb->second.read(rest, action);
}

}  // namespace

const char* const kActionUsage =
    "  health NPU ok|warning|alarm|critical|absent\n"
    "  remove NPU, return NPU        drops off the bus; comes back, well\n"
    "  fault NPU CODE [suggestion|minor|major|critical]\n"
    "                                a fault of that hexadecimal code, with its event\n"
    "  clear NPU CODE|all            the end of a fault, with its event\n"
    "  ecc NPU single|double COUNT   memory errors; double ones are a fault\n"
    "  slow NPU MS                   every call about the NPU takes that much longer; 0: no more\n"
    "  hang NPU                      calls about the NPU do not return before slow NPU 0\n"
    "  fail-create NPU COUNT [leak]  the next creates fail; leak: the device is there all the same\n"
    "  refuse-destroy NPU COUNT|on|off\n"
    "                                the next destroys are refused as if the device were in use\n"
    "  leak NPU TEMPLATE             a virtual device that nobody owns\n"
    "  reboot [MS]                   power off and on; chips are up after MS milliseconds\n";

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<Action> parse_action(const std::vector<std::string>& words, std::string* complaint) {
  Action action;
  *complaint = parse(words, &action);
  return complaint->empty() ? std::optional(action) : std::nullopt;
}

}  // namespace ascendsim::ctl
