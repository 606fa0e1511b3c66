// Which events a reader gets: those it may see, of what it asked for. Values; not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "ports/store.h"

namespace tangram::service {

// Follows one job through the events in their order: its own ones, while it is in the queue those of the jobs
// that wait with it, those of its slices, and while it holds NPUs what happens to their health.
class JobTrack {
 public:
  // `group`: the topic of those that wait with it, empty while it is not known.
  JobTrack(std::string topic, std::string group, bool queued)
      : topic_(std::move(topic)), group_(std::move(group)), queued_(queued) {}

  const std::string& topic() const { return topic_; }
  const std::string& group() const { return group_; }
  // After the events so far.
  bool queued() const { return queued_; }
  const std::vector<std::string>& held() const { return held_; }  // topics of the NPUs that it has
  bool has_slice() const { return has_slice_; }                   // of the attempt that runs, or ran last
  bool passes(const NewEvent& event);
  // What happens to an NPU, whoever holds it.
  static bool is_of_health(const NewEvent& event);
  // Of a slice that was cut for the job.
  bool is_of_slice(const NewEvent& event) const;

 private:
  void note(const NewEvent& own);

  std::string topic_;
  std::string group_;
  bool queued_;
  std::vector<std::string> held_;
  bool has_slice_ = false;
};

struct EventFilter {
  std::optional<TenantId> viewer;  // sees what is its subtree's or everybody's; none: all
  std::optional<TenantId> tenant;  // only of its subtree
  std::optional<JobTrack> job;
  std::string topic;               // only with this one
  std::vector<std::string> types;  // only these; "job.*" stands for all that begin so. None: all

  // In the order of the events: the track of the job goes on with each.
  bool passes(const NewEvent& event);
};

// Whether the event is one that `viewer` may see at all.
bool may_see(const NewEvent& event, const std::optional<TenantId>& viewer);

}  // namespace tangram::service
