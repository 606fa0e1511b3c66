// Explains a Pod, on a copy of the book. Pure, and expensive: what would help is tried.
#pragma once

#include "base/result.h"
#include "kube/manager/book_values.h"
#include "wire/language.h"

namespace tangram::kube::manager {

// Errors: those of Scheduler::explain(), which there are none of for a job of the question's core.
Result<PodWhy> explain(const WhyQuestion& question, TimeMs now, wire::Language language);

}  // namespace tangram::kube::manager
