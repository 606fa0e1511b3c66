#include "scheduler/hold.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "scheduler/state.h"

namespace tangram {
namespace {

void book(CoreState& state, JobRecord& job, std::uint32_t number, HeldPart& part, bool require_free) {
  if (part.place.slice) {
    TG_ASSERT(part.place.npus.size() == 1, "a slice is of one NPU");
    state.fleet.take_slice(job.spec.id, part.place.npus.front(), *part.place.slice, false, number);
  } else {
    state.fleet.take(job.spec.id, part.place.npus, require_free);
  }
  part.booked = true;
  if (!job.first_npu.valid()) job.first_npu = part.place.npus.front();
}

std::uint32_t new_list(HoldTable& holds, std::vector<HeldPart> parts) {
  auto handle = static_cast<std::uint32_t>(holds.lists.size());
  if (holds.free.empty()) {
    holds.lists.emplace_back();
  } else {
    handle = holds.free.back();
    holds.free.pop_back();
  }
  holds.lists[handle] = std::move(parts);
  return handle;
}

// In the order of jobs and parts, so that it does not matter how the state came about.
void book_contested(CoreState& state) {
  if (state.holds.contested == 0) return;
  for (const Handle handle : state.queue.jobs()) {
    JobRecord& job = state.queue.job(handle);
    if (job.held == kNoHandle) continue;
    std::vector<HeldPart>& parts = state.holds.lists[job.held];
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      if (parts[i].booked || parts[i].place.npus.empty() || !can_be_booked(state, parts[i].place)) continue;
      book(state, job, i, parts[i], false);
      --state.holds.contested;
    }
  }
}

}  // namespace

bool can_be_booked(const CoreState& state, const PartPlace& place) {
  return std::all_of(place.npus.begin(), place.npus.end(), [&](NpuIndex index) {
    const Fleet::Npu& npu = state.fleet.npu(index);
    if (!place.slice) return !npu.is_held();
    return !npu.job.valid() && npu.slices.size() < static_cast<std::size_t>(kSlicesPerChipMax);
  });
}

void hold(CoreState& state, Handle handle, const std::vector<PartPlace>& places, bool require_free) {
  JobRecord& job = state.queue.job(handle);
  TG_ASSERT(!has_place(job), "a job has one place at a time");
  if (!job.spec.request.has_parts()) {
    TG_ASSERT(places.size() == 1 && !places.front().npus.empty(), "a job without parts has one place");
    job.first_npu = places.front().npus.front();
    take(state.fleet, job.spec.id, places.front().npus, places.front().slice,
         require_free && !places.front().slice);
    return;
  }
  std::vector<HeldPart> parts;
  parts.reserve(places.size());
  for (const PartPlace& place : places) parts.push_back({place, false});
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    if (parts[i].place.npus.empty()) continue;
    if (can_be_booked(state, parts[i].place)) {
      book(state, job, i, parts[i], require_free);
    } else {
      TG_ASSERT(!require_free, "what is chosen is free");
      ++state.holds.contested;
    }
  }
  job.held = new_list(state.holds, std::move(parts));
}

void hold_again(CoreState& state, Handle handle, std::vector<HeldPart> parts) {
  JobRecord& job = state.queue.job(handle);
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    if (parts[i].booked) {
      book(state, job, i, parts[i], false);
    } else if (!parts[i].place.npus.empty()) {
      ++state.holds.contested;
    }
  }
  job.held = new_list(state.holds, std::move(parts));
}

void let_go(CoreState& state, Handle handle) {
  JobRecord& job = state.queue.job(handle);
  if (job.held == kNoHandle) {
    if (job.first_npu.valid()) state.fleet.release(job.spec.id, job.first_npu);
  } else {
    const std::vector<HeldPart> parts = std::exchange(state.holds.lists[job.held], {});
    state.holds.free.push_back(std::exchange(job.held, kNoHandle));
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      if (parts[i].booked && parts[i].place.slice) {
        state.fleet.release_slice(job.spec.id, parts[i].place.npus.front(), i);
      } else if (parts[i].booked) {
        state.fleet.release(job.spec.id, parts[i].place.npus.front());
      } else if (!parts[i].place.npus.empty()) {
        --state.holds.contested;
      }
    }
  }
  job.first_npu = NpuIndex();
  book_contested(state);
}

bool has_place(const JobRecord& job) {
  return job.first_npu.valid() || job.held != kNoHandle;
}

const std::vector<HeldPart>& held_parts(const CoreState& state, const JobRecord& job) {
  TG_ASSERT(job.held != kNoHandle, "only a job of several parts has a list of them");
  return state.holds.lists[job.held];
}

}  // namespace tangram
