// A Pod as an Event names it. Pure.
#pragma once

#include "kube/api/event_recorder.h"
#include "kube/extender/placer.h"

namespace tangram::kube::manager {

inline ObjectReference reference_of(const extender::PodRef& pod) {
  return {"v1", "Pod", pod.space, pod.name, pod.uid, {}};
}

}  // namespace tangram::kube::manager
