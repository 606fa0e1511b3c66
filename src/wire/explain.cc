#include "wire/explain.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "wire/catalogue.h"
#include "wire/errors.h"
#include "wire/node.h"
#include "wire/texts.h"

namespace tangram::wire {
namespace {

constexpr Text kWaits{"the job waits, and starts by itself when this is no longer so",
                      "任务等待，该情况消失后自动启动"};
constexpr Text kRefused{"the job is refused: waiting would not help", "任务被拒绝：等待无济于事"};

constexpr Text kForeignAnswer{
    "something between here and the daemon, or another server, answered with this HTTP status",
    "中间的某个服务或另一个服务端返回了该 HTTP 状态"};
constexpr Text kForeignRemedy{"check that the socket or the server is tangramd's: tangram version",
                              "确认套接字或服务端属于 tangramd：tangram version"};

struct ClassText {
  Code code;
  Text meaning;
  Text remedy;
};

constexpr std::array kClasses{
    ClassText{Code::kInvalidArgument,
              {"the request itself is wrong", "请求本身有误"},
              {"correct it: sending it again changes nothing", "改正请求：原样重发没有用"}},
    ClassText{
        Code::kNotFound,
        {"what was named is not there, or not for the caller's eyes", "所指对象不存在，或调用者无权查看"},
        {"check the name: tangram queue --all, tangram quota",
         "检查名称：tangram queue --all，tangram quota"}},
    ClassText{Code::kAlreadyExists,
              {"the name or number is taken", "名称或编号已被占用"},
              {"choose another one", "换一个"}},
    ClassText{Code::kPermissionDenied,
              {"the caller is known, and may not do this", "调用者身份已知，但无权执行"},
              {"ask the operator", "联系管理员"}},
    ClassText{Code::kUnauthenticated,
              {"the caller is not known", "调用者身份未知"},
              {"ask the operator to list your uid in a tenant", "请管理员把您的 uid 列入租户"}},
    ClassText{
        Code::kFailedPrecondition,
        {"the request is right, and the state of things does not allow it", "请求正确，但当前状态不允许"},
        {"change what the message names, then try again", "先改变错误信息所指的状态，再重试"}},
    ClassText{
        Code::kPolicyRefused,
        {"refused by a quota or a policy, now and later", "被配额或策略拒绝，以后也是如此"},
        {"ask for less, or have the limit raised: tangram quota", "减少请求，或提高上限：tangram quota"}},
    ClassText{
        Code::kNotNow,
        {"not possible at present, and refused because of --no-wait", "目前无法满足，因 --no-wait 而被拒绝"},
        {"submit it without --no-wait, or later", "去掉 --no-wait，或稍后提交"}},
    ClassText{Code::kResourceExhausted,
              {"a limit of the service itself is reached", "达到服务自身的上限"},
              {"send less, or try again in a moment", "减少请求，或稍后重试"}},
    ClassText{
        Code::kAborted, {"lost a race with another request", "与另一请求竞争失败"}, {"try again", "重试"}},
    ClassText{
        Code::kUnavailable,
        {"what is asked is away: the daemon, its journal, a device", "所需的守护进程、账本或设备不可用"},
        {"try again; look at the daemon's log", "重试；查看守护进程日志"}},
    ClassText{Code::kDeadlineExceeded, {"the answer took too long", "未及时回答"}, {"try again", "重试"}},
    ClassText{Code::kDataLoss,
              {"something that was kept cannot be read", "保存的内容无法读取"},
              {"look at the daemon's log; put back a backup", "查看守护进程日志；恢复备份"}},
    ClassText{Code::kUnimplemented,
              {"this version cannot do that", "此版本不支持"},
              {"leave it out, or install a newer version", "省略它，或安装更新的版本"}},
    ClassText{Code::kInternal,
              {"a bug of the daemon", "守护进程的缺陷"},
              {"report it with the daemon's log", "请连同守护进程日志一起报告"}},
};

struct ExitText {
  int code;
  Text meaning;
  Text remedy;
};

constexpr std::array kExitCodes{
    ExitText{kExitOk, {"done", "成功"}, {"nothing", "无需处理"}},
    ExitText{kExitNo,
             {"the answer is no: not startable now, not ended in time, or ended without a status of its own",
              "答案为否：目前无法启动、未及时结束，或结束时没有退出状态"},
             {"see what became of the job: tangram describe JOB", "查看任务情况：tangram describe JOB"}},
    ExitText{kExitBadInput,
             {"bad input: an option, a file, a value", "输入有误：选项、文件或值"},
             {"the message names it and what would be right", "错误信息说明了问题和正确写法"}},
    ExitText{kExitRefused,
             {"refused by quota or policy", "被配额或策略拒绝"},
             {"see the limits: tangram quota", "查看上限：tangram quota"}},
    ExitText{kExitNotFound,
             {"not found", "不存在"},
             {"check the name: tangram queue --all, tangram quota",
              "检查名称：tangram queue --all，tangram quota"}},
    ExitText{kExitNotAllowed, {"not allowed", "不允许"}, {"ask the operator", "联系管理员"}},
    ExitText{kExitUnavailable,
             {"the daemon is not reachable, overloaded, or fails", "守护进程无法连接、过载或出错"},
             {"see whether tangramd runs, and its log", "查看 tangramd 是否运行及其日志"}},
    ExitText{
        kExitConflict,
        {"conflict: name in use, tenant busy, job already ended", "冲突：名称已占用、租户忙、任务已结束"},
        {"change what the message names, then try again", "先改变错误信息所指的状态，再重试"}},
    ExitText{kExitBug, {"a bug of this program", "本程序的缺陷"}, {"report it", "请报告"}},
};

CodeEntry entry_of(const ReasonText& reason, Language language) {
  const bool chinese = language == Language::kChinese;
  CodeEntry entry;
  entry.code = reason.token;
  entry.meaning = chinese ? reason.chinese : reason.english;
  entry.remedy = chinese ? reason.chinese_hint : reason.english_hint;
  const auto code = find_reason_code(reason.token);
  const ReasonTemplate* words = code ? find_template(*code) : nullptr;
  if (words != nullptr) entry.effect = (words->never ? kRefused : kWaits).in(language);
  return entry;
}

// "http.502": of an answer that carried no document of ours.
std::optional<CodeEntry> foreign_status(std::string_view code, Language language) {
  constexpr std::string_view kPrefix = "http.";
  if (!code.starts_with(kPrefix) || code.size() != kPrefix.size() + 3) return std::nullopt;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::ranges::all_of(code.substr(kPrefix.size()), is_digit)) return std::nullopt;
  return CodeEntry{std::string(code), CodeEntry::Kind::kReason, std::string(kForeignAnswer.in(language)), "",
                   std::string(kForeignRemedy.in(language))};
}

Node node_of(const CodeEntry& entry) {
  Node node = Node::object();
  node.add("code", Node::of(entry.code));
  node.add("kind", Node::of(std::string(to_string(entry.kind))));
  node.add("meaning", Node::of(entry.meaning));
  if (!entry.effect.empty()) node.add("effect", Node::of(entry.effect));
  node.add("remedy", Node::of(entry.remedy));
  return node;
}

}  // namespace

std::string_view to_string(CodeEntry::Kind kind) {
  switch (kind) {
    case CodeEntry::Kind::kReason:
      return "reason";
    case CodeEntry::Kind::kClass:
      return "class";
    case CodeEntry::Kind::kExitCode:
      return "exit-code";
  }
  return "reason";
}

std::vector<CodeEntry> code_entries(Language language) {
  std::vector<CodeEntry> entries;
  for (const ReasonText& reason : reason_catalogue()) entries.push_back(entry_of(reason, language));
  for (const ClassText& text : kClasses) {
    entries.push_back({std::string(tangram::to_string(text.code)), CodeEntry::Kind::kClass,
                       std::string(text.meaning.in(language)), "", std::string(text.remedy.in(language))});
  }
  for (const ExitText& text : kExitCodes) {
    entries.push_back({std::to_string(text.code), CodeEntry::Kind::kExitCode,
                       std::string(text.meaning.in(language)), "", std::string(text.remedy.in(language))});
  }
  return entries;
}

std::vector<CodeEntry> find_codes(std::string_view code, Language language) {
  const std::string prefix = std::string(code) + '.';
  std::vector<CodeEntry> below;
  for (CodeEntry& entry : code_entries(language)) {
    if (entry.code == code) return {std::move(entry)};
    if (entry.code.starts_with(prefix)) below.push_back(std::move(entry));
  }
  if (const auto foreign = foreign_status(code, language)) return {*foreign};
  return below;
}

std::string write(const CodeEntry& entry) {
  return to_json(node_of(entry));
}

std::string write(const std::vector<CodeEntry>& entries) {
  Node items = Node::list();
  for (const CodeEntry& entry : entries) items.items.push_back(node_of(entry));
  Node node = Node::object();
  node.add("items", std::move(items));
  return to_json(node);
}

}  // namespace tangram::wire
