#include "wire/words.h"

namespace tangram::wire {
namespace {

std::string_view choose(std::string_view english, std::string_view chinese, Language language) {
  return language == Language::kChinese ? chinese : english;
}

std::string_view chinese(JobState state) {
  switch (state) {
    case JobState::kReady:
      return "就绪";
    case JobState::kWaiting:
      return "等待";
    case JobState::kStarting:
      return "启动中";
    case JobState::kRunning:
      return "运行中";
    case JobState::kEnded:
      return "已结束";
  }
  return "未知";
}

std::string_view chinese(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSucceeded:
      return "成功";
    case Outcome::kFailed:
      return "失败";
    case Outcome::kTimedOut:
      return "超时";
    case Outcome::kCancelled:
      return "已取消";
    case Outcome::kNotStarted:
      return "未能启动";
    case Outcome::kLost:
      return "丢失";
    case Outcome::kDeviceLost:
      return "设备丢失";
    case Outcome::kRefused:
      return "被拒绝";
  }
  return "未知";
}

std::string_view chinese(SliceStanding standing) {
  switch (standing) {
    case SliceStanding::kHeld:
      return "占用中";
    case SliceStanding::kResidual:
      return "残留";
    case SliceStanding::kForeign:
      return "外来";
  }
  return "未知";
}

std::string_view chinese(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "错误";
    case Severity::kWarning:
      return "警告";
    case Severity::kNotice:
      return "提示";
  }
  return "未知";
}

std::string_view chinese(Priority priority) {
  switch (priority) {
    case Priority::kHigh:
      return "高";
    case Priority::kNormal:
      return "中";
    case Priority::kLow:
      return "低";
  }
  return "未知";
}

std::string_view chinese(Health health) {
  switch (health) {
    case Health::kUnknown:
      return "未知";
    case Health::kOk:
      return "正常";
    case Health::kWarning:
      return "一般告警";
    case Health::kAlarm:
      return "重要告警";
    case Health::kCritical:
      return "紧急告警";
    case Health::kAbsent:
      return "不在位";
  }
  return "未知";
}

std::string_view chinese(NpuMode mode) {
  switch (mode) {
    case NpuMode::kFree:
      return "空闲";
    case NpuMode::kWhole:
      return "独占";
    case NpuMode::kSliced:
      return "切片";
    case NpuMode::kShared:
      return "共享";
  }
  return "未知";
}

std::string_view chinese(Dimension dimension) {
  switch (dimension) {
    case Dimension::kNpus:
      return "NPU 数";
    case Dimension::kMemoryPerNpu:
      return "单 NPU 内存";
    case Dimension::kMemoryTotal:
      return "设备内存总量";
    case Dimension::kAiCores:
      return "AI Core 数";
    case Dimension::kRunningJobs:
      return "并发任务数";
    case Dimension::kRunTime:
      return "运行时长";
    case Dimension::kPriorities:
      return "可用优先级";
    case Dimension::kBandwidth:
      return "带宽";
  }
  return "未知";
}

std::string_view chinese(Role role) {
  switch (role) {
    case Role::kOperator:
      return "管理员";
    case Role::kTenant:
      return "租户";
    case Role::kViewer:
      return "只读者";
  }
  return "未知";
}

std::string_view chinese(TokenState state) {
  switch (state) {
    case TokenState::kActive:
      return "有效";
    case TokenState::kExpired:
      return "已过期";
    case TokenState::kRevoked:
      return "已吊销";
  }
  return "未知";
}

}  // namespace

std::string_view word(JobState state, Language language) {
  return choose(to_string(state), chinese(state), language);
}

std::string_view word(Outcome outcome, Language language) {
  return choose(to_string(outcome), chinese(outcome), language);
}

std::string_view word(Priority priority, Language language) {
  return choose(to_string(priority), chinese(priority), language);
}

std::string_view word(Health health, Language language) {
  return choose(to_string(health), chinese(health), language);
}

std::string_view word(NpuMode mode, Language language) {
  return choose(to_string(mode), chinese(mode), language);
}

std::string_view word(Dimension dimension, Language language) {
  return choose(to_string(dimension), chinese(dimension), language);
}

std::string_view word(Role role, Language language) {
  return choose(role_name(role), chinese(role), language);
}

std::string_view word(TokenState state, Language language) {
  return choose(token_state_name(state), chinese(state), language);
}
std::string_view word(SliceStanding standing, Language language) {
  return choose(to_string(standing), chinese(standing), language);
}
std::string_view word(Severity severity, Language language) {
  return choose(to_string(severity), chinese(severity), language);
}

}  // namespace tangram::wire
