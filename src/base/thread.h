// What a thread asks of the kernel for itself. Hints: where the kernel does not take them, nothing changes.
// Thread-safe; each speaks of the thread that calls it.
#pragma once

namespace tangram {

// What top(1) and profilers show; at most 15 characters.
void name_this_thread(const char* name);

// For a thread that others wait for and that never computes for long: it gets the processor sooner when it
// wakes, in shorter turns, and no more of it in all. A process that it makes is like that, too. Linux 6.12
// and later; source: sched_setattr(2), sched_runtime of SCHED_OTHER.
void take_short_turns();

}  // namespace tangram
