// Small phrases that reasons and remedies share. Private to wire.
#pragma once

#include <string>
#include <vector>

#include "wire/texts.h"

namespace tangram::wire {

std::string job_name(JobId job, const Names& names);  // "train-017", else "j-17"

// "a, b and c"; "a、b、c".
std::string name_list(const std::vector<JobId>& jobs, const Names& names, Language language);

// "slice 100 (vir04) of NPU 7": where they are, so that who must can return them. Of NPUs without a name: "".
std::string slice_list(const std::vector<ResidualSlice>& slices, const Names& names, Language language);

}  // namespace tangram::wire
