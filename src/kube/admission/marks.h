// The marks of a Pod that only Tangram's own parts set: gate, labels and annotations by which it is admitted,
// bound and given its NPUs, and the environment by which a container runtime hands out devices. Who could
// write them could have NPUs without a quota. Thread-safe: pure functions.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "kube/admission/pod.h"

namespace tangram::kube::admission {

// Of a new Pod: no mark of a decision, and no reserved environment; without NPUs also none of those that
// admission itself writes. `sliced`: containers that get a slice, which may have the variable that admission
// gives them: they come a second time when another webhook has changed the Pod. kPermissionDenied
// "admission.forged", kInvalidArgument "admission.environment.reserved", naming what and where.
Result<void> check_new(const PodView& pod, bool with_npus,
                       std::span<const ContainerView* const> sliced = {});

// Of a Pod that is changed by somebody who is none of Tangram's parts: all marks stay, and a container that
// is added gets neither a reserved environment nor privileges on a Pod with NPUs. Further:
// "admission.privileged".
Result<void> check_marks_kept(const PodView& before, const PodView& after);

// Whether a runtime takes devices from it.
bool is_reserved_variable(std::string_view name);

}  // namespace tangram::kube::admission
