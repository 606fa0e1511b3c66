// The names that the daemon knows, for completion and for suggestions. Asking is a favour: a daemon that is
// away or slow has none.
#pragma once

#include <string>
#include <vector>

#include "client/api_client.h"

namespace tangram::cli {

struct KnownName {
  std::string name;
  std::string about;  // what it is, in a few words
};

enum class Jobs : std::uint8_t { kUnfinished, kAll };

// Ids and names, at most one page of them.
std::vector<KnownName> known_jobs(client::ApiClient& api, Jobs which, wire::Language language);
std::vector<KnownName> known_tenants(client::ApiClient& api, wire::Language language);
std::vector<KnownName> known_tokens(client::ApiClient& api, wire::Language language);  // active ones

// For an error that says that a job, a tenant or a token is unknown: the name that was meant, if one is near.
// Ids are not guessed: their neighbours are other jobs.
std::string meant_name(client::ApiClient& api, const Error& error);

}  // namespace tangram::cli
