// The body of every request of the API, and of every answer that a client reads. The first byte says which:
// see kBodies.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "input.h"
#include "require.h"
#include "wire/doctor.h"
#include "wire/errors.h"
#include "wire/event.h"
#include "wire/fit.h"
#include "wire/schema.h"
#include "wire/slices.h"
#include "wire/tokens.h"

namespace tangram::fuzz {
namespace {

template <auto read, auto write>
void round_trip(std::string_view text) {
  const auto value = read(text);
  if (!value) return require_presentable(value.error());
  const std::string written = write(*value);
  const auto again = read(written);
  require(again && *again == *value, "what is written says the same");
  require(write(*again) == written, "the same is written the same");
}

template <class T>
std::string write_document(const T& value) {
  return wire::write(value);
}

void submissions(std::string_view text) {
  const auto value = wire::read_submissions(text);
  if (!value) return require_presentable(value.error());
  require(value->batch || value->items.size() == 1, "one that is no batch is one");
  std::vector<wire::JobSubmission> good;
  for (const auto& item : value->items) {
    if (item) {
      good.push_back(*item);
    } else {
      require_presentable(item.error());
    }
  }
  if (good.empty()) return;
  const auto again = wire::read_submissions(wire::write_batch(good));
  require(again && again->items.size() == good.size(), "a batch that is written has all its items");
  for (std::size_t i = 0; i < good.size(); ++i) {
    require(again->items[i] && *again->items[i] == good[i], "an item that is written says the same");
  }
}

void submit_answer(std::string_view text) {
  const auto value = wire::read_submit_answer(text);
  if (!value) return require_presentable(value.error());
  require(wire::read_submit_answer(wire::write(*value)).has_value(), "an answer that is written can be read");
}

void problem(std::string_view text) {
  const Error error = wire::read_problem(422, text);
  const Error again = wire::read_problem(422, wire::write_problem(error));
  require(again.code == error.code && again.reason == error.reason,
          "a problem that is written says the same");
}

void render(std::string_view text) {
  const auto yaml = wire::to_yaml(text);
  if (!yaml) return require_presentable(yaml.error());
  require(wire::to_pretty_json(text).has_value(), "what can be shown as YAML can be shown as JSON");
}

struct Body {
  char letter;
  void (*check)(std::string_view text);
};

constexpr std::array kBodies = {
    Body{'s', submissions},
    Body{'j', round_trip<wire::read_job_submission, write_document<wire::JobSubmission>>},
    Body{'l', round_trip<wire::read_lease_request, wire::write_lease_request>},
    Body{'k', round_trip<wire::read_lease_token, write_document<wire::LeaseToken>>},
    Body{'q', round_trip<wire::read_quota, write_document<Quota>>},
    Body{'t', round_trip<wire::read_token_request, write_document<wire::TokenRequest>>},
    Body{'r', round_trip<wire::read_token_rotation, write_document<wire::TokenRotation>>},
    // Answers.
    Body{'J', round_trip<wire::read_job_view, write_document<wire::JobView>>},
    Body{'L', round_trip<wire::read_lease_view, write_document<wire::LeaseView>>},
    Body{'I', round_trip<wire::read_job_list, write_document<wire::JobList>>},
    Body{'S', round_trip<wire::read_status_view, write_document<wire::StatusView>>},
    Body{'C', round_trip<wire::read_slices_view, write_document<wire::SlicesView>>},
    Body{'F', round_trip<wire::read_fit_view, write_document<wire::FitView>>},
    Body{'D', round_trip<wire::read_doctor_view, write_document<wire::DoctorView>>},
    Body{'U', round_trip<wire::read_quota_view, write_document<wire::QuotaView>>},
    Body{'Q', round_trip<wire::read_quota_list, write_document<wire::QuotaList>>},
    Body{'W', round_trip<wire::read_why_view, write_document<wire::WhyView>>},
    Body{'V', round_trip<wire::read_version_view, write_document<wire::VersionView>>},
    Body{'A', round_trip<wire::read_apply_answer, write_document<wire::ApplyAnswer>>},
    Body{'T', round_trip<wire::read_token_list, write_document<wire::TokenList>>},
    Body{'N', round_trip<wire::read_token_view, write_document<wire::TokenView>>},
    Body{'v', round_trip<wire::read_event_view, write_document<wire::EventView>>},
    Body{'E', round_trip<wire::read_event_list, write_document<wire::EventList>>},
    Body{'B', submit_answer},
    Body{'P', problem},
    Body{'Y', render},
};

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tangram::fuzz::Input input(data, size);
  const char letter = static_cast<char>(input.byte());
  for (const auto& body : tangram::fuzz::kBodies) {
    if (body.letter != letter) continue;
    body.check(input.rest());
    return 0;
  }
  return -1;
}
