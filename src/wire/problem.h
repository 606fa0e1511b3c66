// An Error as a node of JSON, alone or inside of an answer. Private to wire.
#pragma once

#include "base/error.h"
#include "wire/node.h"
#include "wire/reader.h"
#include "wire/schema.h"

namespace tangram::wire {

Node problem_node(const Error& error);

// What is missing stays as in `kInternal`; what is wrong is reported.
Error read_problem_node(Reader& reader, const Node& node);

DocumentInfo problem_info();

// {"items":[…]} with 1 to `count_max` entries and nothing beside it.
Result<void> check_items(const Node& root, std::size_t count_max);

}  // namespace tangram::wire
