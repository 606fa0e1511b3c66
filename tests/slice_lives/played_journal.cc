#include "slice_lives/played_journal.h"

#include <variant>

#include "wire/texts.h"

namespace tangram::lives {

void PlayedJournal::open() {
  if (!migrated_) fate_.pass("journal.migrating");
  migrated_ = true;
  if (!has_version_) fate_.pass("journal.before_version");
  has_version_ = true;
  if (!has_mark_) fate_.pass("journal.before_mark_file");
  has_mark_ = true;
}

Result<std::uint64_t> PlayedJournal::append(std::span<const NewRecord> records) {
  fate_.pass("journal.before_append");
  if (fate_.happens("journal full", 200)) {
    return fail(Code::kUnavailable, "journal.disk_full", "cannot write the journal: no space left");
  }
  fate_.meanwhile();
  fate_.pass("journal.before_commit");
  auto first = store_.append(records);
  for (const NewRecord& record : records) note(record);
  fate_.pass("journal.before_mark");
  fate_.pass("journal.after_append");
  return first;
}

Result<void> PlayedJournal::read_after(std::uint64_t sequence,
                                       const std::function<Result<void>(const StoredRecord&)>& visit) {
  return store_.read_after(sequence, visit);
}

Result<void> PlayedJournal::save_snapshot(const Snapshot& snapshot) {
  fate_.pass("journal.before_snapshot");
  auto saved = store_.save_snapshot(snapshot);
  fate_.pass("journal.after_snapshot");
  return saved;
}

Result<std::optional<Snapshot>> PlayedJournal::snapshot_before(std::uint64_t sequence) {
  return store_.snapshot_before(sequence);
}

Result<void> PlayedJournal::compact(TimeMs before) {
  fate_.pass("journal.compacting");
  return store_.compact(before);
}

Result<StoredEvents> PlayedJournal::read_events(const EventRange& range) {
  return store_.read_events(range);
}

void PlayedJournal::note(const NewRecord& record) {
  const auto decoded = wire::decode_record(record.kind, record.body);
  if (!decoded) {
    fate_.broken("a record that cannot be read: " + decoded.error().to_string());
    return;
  }
  // In these are the id of this machine's boot, and the hash of a lease's secret.
  const bool is_of_this_run = std::holds_alternative<wire::DaemonStarted>(*decoded) ||
                              std::holds_alternative<wire::JobSubmittedRecord>(*decoded);
  fate_.note(is_of_this_run ? record.kind : record.kind + record.body);
  if (const auto* order = std::get_if<wire::SliceOrdered>(&*decoded)) note_order(*order);
  if (const auto* made = std::get_if<wire::SliceMade>(&*decoded)) {
    const auto entry = slices_.find(made->slice);
    if (entry == slices_.end() || entry->second.ended) {
      fate_.broken("made: slice " + std::to_string(made->slice) + ", which nobody wants");
      return;
    }
    entry->second.made = true;
    ++made_;
  }
  if (const auto* returned = std::get_if<wire::SliceReturned>(&*decoded)) {
    const auto entry = slices_.find(returned->slice);
    if (entry == slices_.end() || !entry->second.ended) {
      fate_.broken("returned: slice " + std::to_string(returned->slice) + ", whose attempt has not ended");
      return;
    }
    if (on_returned) on_returned(entry->first, entry->second);
    slices_.erase(entry);
  }
  if (const auto* job = std::get_if<wire::JobSubmittedRecord>(&*decoded))
    unfinished_.insert(job->input.spec.id);
  if (const auto* started = std::get_if<JobStarted>(&*decoded)) active_.insert(started->job);
  if (const auto* ended = std::get_if<wire::AttemptEndedRecord>(&*decoded)) note_end(*ended);
  if (const auto* refused = std::get_if<JobRefused>(&*decoded)) unfinished_.erase(refused->job);
  if (const auto* cancelled = std::get_if<wire::JobCancelledRecord>(&*decoded)) {
    if (!active_.contains(cancelled->input.job)) unfinished_.erase(cancelled->input.job);
  }
}

void PlayedJournal::note_order(const wire::SliceOrdered& order) {
  ++ordered_;
  if (!is_slice_id(order.npu, order.slice)) fate_.broken("an order with an id that cannot be");
  Slice slice{order.job, {wire::format_job_id(order.job), order.attempt}, order.npu, order.template_name};
  if (!slices_.try_emplace(order.slice, slice).second) {
    fate_.broken("ordered: slice " + std::to_string(order.slice) + ", which has not been returned");
  }
}

void PlayedJournal::note_end(const wire::AttemptEndedRecord& end) {
  active_.erase(end.input.job);
  if (!end.input.requeue) unfinished_.erase(end.input.job);
  const AttemptKey attempt{wire::format_job_id(end.input.job), end.input.attempt};
  for (auto& [id, slice] : slices_) {
    if (slice.attempt == attempt) slice.ended = true;
  }
}

}  // namespace tangram::lives
