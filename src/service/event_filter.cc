#include "service/event_filter.h"

#include <algorithm>

#include "wire/event.h"

namespace tangram::service {
namespace {

using wire::EventType;

bool is(const NewEvent& event, EventType type) {
  return event.type == wire::to_string(type);
}

bool is_of(const NewEvent& event, TenantId tenant) {
  return std::find(event.tenants.begin(), event.tenants.end(), tenant.value) != event.tenants.end();
}

bool type_matches(std::string_view wanted, std::string_view type) {
  if (!wanted.ends_with('*')) return wanted == type;
  return type.starts_with(wanted.substr(0, wanted.size() - 1));
}

}  // namespace

bool JobTrack::passes(const NewEvent& event) {
  if (event.topic == topic_) {
    if (is(event, EventType::kJobSubmitted)) group_ = event.group;
    if (is(event, EventType::kJobSubmitted) || is(event, EventType::kJobRequeued)) {
      queued_ = true;
    } else if (!is(event, EventType::kJobForgotten)) {
      queued_ = false;
    }
    return true;
  }
  return queued_ && !group_.empty() && event.topic == group_;
}

bool EventFilter::passes(const NewEvent& event) {
  if (job && !job->passes(event)) return false;
  if (!topic.empty() && event.topic != topic) return false;
  if (tenant && !is_of(event, *tenant)) return false;
  if (!may_see(event, viewer)) return false;
  return types.empty() || std::any_of(types.begin(), types.end(), [&](const std::string& wanted) {
           return type_matches(wanted, event.type);
         });
}

bool may_see(const NewEvent& event, const std::optional<TenantId>& viewer) {
  return !viewer || event.tenants.empty() || is_of(event, *viewer);
}

}  // namespace tangram::service
