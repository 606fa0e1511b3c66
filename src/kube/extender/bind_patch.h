// What is written into a Pod right before it is bound: which NPUs it has, in Tangram's words and in HAMi's,
// as one guarded patch (RFC 6902). Pure functions.
//
// The guard: the Pod is still the one that was asked about, by its uid, and a manager has opened its gate. It
// names no resource version, so that somebody's unrelated change does not cost another try.
#pragma once

#include <chrono>
#include <string>

#include "kube/api/json.h"
#include "kube/extender/placer.h"
#include "kube/extender/pod_notes.h"

namespace tangram::kube::extender {

json::array bind_patch(const PodRef& pod, const Reservation& reservation, const PodNote& note,
                       std::chrono::system_clock::time_point now);

// Takes the allocation away again, if it is still this one.
json::array unbind_patch(const PodRef& pod, const Reservation& reservation);

}  // namespace tangram::kube::extender
