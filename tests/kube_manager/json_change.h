// JSON patches, merge patches, and conditions as server-side apply merges them: as much as the tests need.
#pragma once

#include "kube/api/json.h"

namespace tangram::kube::manager {

// RFC 6902 with the operations test, add, replace and remove. False, with some of it applied: one does not
// hold.
bool apply_json_patch(json::object& object, const json::array& operations);
// RFC 7386.
void merge(json::object& object, const json::object& patch);
// Conditions by their type, everything else replaced.
void merge_status(json::object& status, const json::object& applied);

}  // namespace tangram::kube::manager
