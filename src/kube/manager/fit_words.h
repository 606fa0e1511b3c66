// What the core says of a node, in the words that HAMi's users know. Pure.
#pragma once

#include <string_view>

#include "kube/extender/placer.h"
#include "model/reason.h"
#include "placement/node_verdict.h"

namespace tangram::kube::manager {

// HAMi's code, "CardTimeSlicingExhausted"; where HAMi has none, one like it. Source: HAMi's
// pkg/device/common/common.go.
std::string_view hami_word(ReasonCode reason);

// `known`: the book has that node. `word`: what is asked for, "Ascend310P".
extender::Fit fit_in_words(const NodeFit& fit, bool known, std::string_view word);

}  // namespace tangram::kube::manager
