// The machine: how its NPUs are cut, what would fit on them, what is wrong with it.
#include "server/exchange.h"

namespace tangram::server {
namespace {

service::SlicesQuery slices_query(const Parameters& parameters) {
  service::SlicesQuery query;
  if (const auto npu = parameters.number("npu")) query.npu = static_cast<std::uint32_t>(*npu);
  query.cut = parameters.texts("cut");
  return query;
}

Result<wire::LeaseRequest> read_request(const Parameters& parameters) {
  wire::LeaseRequest request;
  request.tenant = parameters.text("tenant");
  const auto npus = parameters.number("npus");
  const auto memory = parameters.number("memory");
  const auto slice_memory = parameters.number("sliceMemory");
  const auto slice_cores = parameters.number("sliceAiCores");
  if (slice_memory || slice_cores) {
    // One NPU is what a slice is of, said or not, as in a JobSubmission.
    if (npus.value_or(1) != 1 || memory) {
      return fail(Code::kInvalidArgument, "input.bad_value",
                  "a slice is of one NPU: npus and memory cannot stand beside it",
                  "ask for a slice of one NPU, or for whole NPUs");
    }
    request.slice.emplace();
    if (slice_memory) request.slice->memory = Bytes(*slice_memory);
    request.slice->ai_cores = static_cast<std::int32_t>(slice_cores.value_or(0));
  }
  request.npus = npus.value_or(1);
  if (memory) request.memory = Bytes(*memory);
  request.bandwidth_bps = parameters.number("bandwidth").value_or(0);
  if (const std::string priority = parameters.text("priority"); !priority.empty()) {
    TG_TRY(request.priority, wire::parse_priority(priority, "priority"));
  }
  request.time_limit_ms = parameters.number("timeLimit");
  return request;
}

}  // namespace

void get_slices(Exchange& exchange) {
  const service::SlicesQuery query = slices_query(exchange.parameters);
  exchange.responder.send(
      respond(200, exchange.service.slices(exchange.caller, query), exchange.caller.language));
}

void get_fit(Exchange& exchange) {
  const auto request = read_request(exchange.parameters);
  exchange.responder.send(
      request ? respond(200, exchange.service.fit(exchange.caller, *request), exchange.caller.language)
              : problem_response(request.error(), exchange.caller.language));
}

void get_doctor(Exchange& exchange) {
  exchange.responder.send(
      json_response(200, wire::write(exchange.service.diagnose(exchange.caller)), exchange.caller.language));
}

}  // namespace tangram::server
