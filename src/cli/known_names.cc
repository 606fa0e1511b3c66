#include "cli/known_names.h"

#include <algorithm>
#include <set>

#include "cli/render.h"
#include "cli/text.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

std::string detail_of(const Error& error, std::string_view name) {
  for (const auto& [key, value] : error.details) {
    const auto* text = std::get_if<std::string>(&value);
    if (key == name && text != nullptr) return *text;
  }
  return {};
}

// "j-17", "t-3".
bool is_id(std::string_view text, std::string_view prefix) {
  return text.size() > prefix.size() && text.starts_with(prefix) &&
         text.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

bool is_job_id(std::string_view text) {
  return is_id(text, "j-");
}

// The names of jobs as somebody writes them: with the tenant in front, if `qualified`.
std::vector<std::string> names_of(const std::vector<wire::JobView>& jobs, bool qualified) {
  std::set<std::string> names;
  for (const wire::JobView& job : jobs) {
    if (job.name.empty() || is_job_id(job.name)) continue;
    names.insert(qualified ? job.tenant + '/' + job.name : job.name);
  }
  return {names.begin(), names.end()};
}

std::string nearest_of(const std::vector<KnownName>& known, const std::string& word) {
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const KnownName& one : known) names.push_back(one.name);
  return nearest(word, names).value_or("");
}

Result<wire::JobList> list_jobs(client::ApiClient& api, Jobs which) {
  client::JobFilter filter;
  filter.all = which == Jobs::kAll;
  return api.jobs(filter);
}

}  // namespace

std::vector<KnownName> known_jobs(client::ApiClient& api, Jobs which, wire::Language language) {
  const auto list = list_jobs(api, which);
  std::vector<KnownName> known;
  if (!list) return known;
  std::map<std::string, std::string> named;  // several jobs may have had one name: the last is meant
  for (const wire::JobView& job : list->items) {
    const bool has_name = !job.name.empty() && job.name != job.id;
    const std::string state = state_word(job, language);
    known.push_back({job.id, job.tenant + (has_name ? "/" + job.name : "") + ", " + state});
    if (has_name) named[job.name] = job.id + ", " + job.tenant + ", " + state;
  }
  for (const auto& [name, about] : named) known.push_back({name, about});
  return known;
}

std::vector<KnownName> known_tenants(client::ApiClient& api, wire::Language language) {
  const auto list = api.tenants();
  std::vector<KnownName> known;
  if (!list) return known;
  for (const wire::QuotaView& view : list->items) {
    const std::string jobs =
        count_of(view.used.running_jobs, wire::view::kOneJob, wire::view::kJobs, language);
    known.push_back({view.tenant.name, wire::fill(wire::view::kRunning, language, {{"jobs", jobs}})});
  }
  return known;
}

std::vector<KnownName> known_tokens(client::ApiClient& api, wire::Language language) {
  const auto list = api.tokens();
  std::vector<KnownName> known;
  if (!list) return known;
  for (const wire::TokenView& token : list->items) {
    if (token.state != wire::TokenState::kActive) continue;
    known.push_back({token.name, wire::fill(wire::view::kTokenAbout, language,
                                            {{"role", wire::word(token.role, language)},
                                             {"state", wire::word(token.state, language)}})});
  }
  return known;
}

std::string meant_name(client::ApiClient& api, const Error& error) {
  if (error.reason == "tenant.unknown")
    return nearest_of(known_tenants(api, wire::Language::kEnglish), detail_of(error, "tenant"));
  if (error.reason == "token.unknown") {
    const std::string token = detail_of(error, "token");
    return is_id(token, "t-") ? "" : nearest_of(known_tokens(api, wire::Language::kEnglish), token);
  }
  const std::string job = error.reason == "job.unknown" ? detail_of(error, "job") : std::string();
  if (job.empty() || is_job_id(job)) return {};
  const auto list = list_jobs(api, Jobs::kAll);
  if (!list) return {};
  return nearest(job, names_of(list->items, job.find('/') != std::string::npos)).value_or("");
}

}  // namespace tangram::cli
