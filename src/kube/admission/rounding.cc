#include "kube/admission/rounding.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/quote.h"
#include "kube/admission/quantity.h"
#include "kube/protocol/names.h"

namespace tangram::kube::admission {
namespace {

constexpr std::int64_t kAmountMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::string_view kChipPrefix = "huawei.com/Ascend";

tl::unexpected<Error> invalid(std::string message, std::string hint) {
  return fail(Code::kInvalidArgument, "admission.request.invalid", std::move(message), std::move(hint));
}

std::string field_of(const ContainerView& container, std::string_view name) {
  return container.field + ".resources.limits[" + quoted(name) + "]";
}

// The quantity as it is written; empty: none. Limits and requests of such a resource must agree.
Result<std::string> amount_text(const ContainerView& container, const std::string& name) {
  const auto limit = container.limits.find(name);
  const auto request = container.requests.find(name);
  if (limit == container.limits.end()) {
    return request == container.requests.end() ? std::string() : request->second;
  }
  if (request == container.requests.end() || request->second == limit->second) return limit->second;
  const auto a = whole_quantity(limit->second);
  const auto b = whole_quantity(request->second);
  if (a && b && *a == *b) return limit->second;
  return invalid(field_of(container, name) + " is " + quoted(limit->second) +
                     ", but the same in requests is " + quoted(request->second),
                 "write the same amount in both, or leave out requests");
}

Result<std::optional<std::int64_t>> amount(const ContainerView& container, const std::string& name) {
  TG_TRY(const std::string text, amount_text(container, name));
  if (text.empty()) return std::optional<std::int64_t>();
  const auto value = whole_quantity(text);
  if (!value) {
    return invalid(field_of(container, name) + " is " + quoted(text) +
                       " and must be a whole number: " + std::string(to_string(value.error())),
                   "write a whole number; memory is counted in MiB");
  }
  if (*value < 0) {
    return invalid(field_of(container, name) + " is " + quoted(text) + " and cannot be negative",
                   "write 0 or more");
  }
  if (*value > kAmountMax) {
    std::string hint = "write at most " + std::to_string(kAmountMax);
    if (*value % kMib == 0) {
      hint = "the unit is MiB, so " + quoted(text) + " is written as " + std::to_string(*value / kMib);
    }
    return invalid(field_of(container, name) + " is " + quoted(text) + ", which is too much",
                   std::move(hint));
  }
  return std::optional(*value);
}

struct Ask {
  const wire::NpuResource* resource = nullptr;
  std::optional<std::int64_t> count, memory_mib, cores;
};

Result<Ask> ask_for(const wire::NpuResource& resource, const ContainerView& container) {
  Ask ask{&resource, {}, {}, {}};
  TG_TRY(ask.count, amount(container, names::resource(resource.word)));
  TG_TRY(ask.memory_mib, amount(container, names::memory_resource(resource.word)));
  TG_TRY(ask.cores, amount(container, names::core_resource(resource.word)));
  return ask;
}

// Whether the container asks for an NPU, or what is wrong with how it does.
Result<bool> is_request(const Ask& ask, const ContainerView& container) {
  const std::string& word = ask.resource->word;
  const std::int64_t memory = ask.memory_mib.value_or(0);
  const std::int64_t cores = ask.cores.value_or(0);
  if (cores > 0) {
    return fail(Code::kUnimplemented, "admission.request.unsupported",
                field_of(container, names::core_resource(word)) + " is " + std::to_string(cores) +
                    ", but a share of the cores cannot be asked for: they come with the slice's memory",
                "remove it, and ask for memory");
  }
  if (ask.count ? *ask.count > 0 : memory > 0) return true;
  if (memory == 0) return false;
  return invalid(field_of(container, names::resource(word)) + " is 0, but " + std::to_string(memory) +
                     " MiB of memory are asked for",
                 "write 1, or remove " + names::memory_resource(word));
}

ContainerRequest request_of(const Ask& ask, const ContainerView& container) {
  ContainerRequest request;
  request.container = container.name;
  request.sidecar = container.role == ContainerRole::kSidecar;
  request.init = container.role == ContainerRole::kInit || request.sidecar;
  request.resource = names::resource(ask.resource->word);
  request.count = ask.count.value_or(1);
  request.memory_mib = ask.memory_mib;
  return request;
}

const wire::NpuTemplate* smallest_with(const wire::NpuResource& resource, std::int64_t memory_mib) {
  const auto at =
      std::find_if(resource.templates.begin(), resource.templates.end(),
                   [memory_mib](const wire::NpuTemplate& one) { return one.memory_mib >= memory_mib; });
  return at == resource.templates.end() ? nullptr : &*at;
}

std::string mib(std::int64_t amount) {
  return std::to_string(amount) + " MiB";
}

Result<Rounded> slice(const wire::NpuResource& resource, const wire::NpuTemplate& shape,
                      const ContainerRequest& request, const std::string& field) {
  const std::int64_t asked = request.memory_mib.value_or(0);
  if (request.count > 1) {
    return invalid(field + " asks for " + std::to_string(request.count) + " NPUs with " + mib(asked) +
                       " each, but a slice is of one NPU",
                   "ask for 1 of " + request.resource + ", or for more than " +
                       mib(resource.templates.back().memory_mib) + " of each to have them whole");
  }
  Rounded rounded{request, {request, GrantKind::kSlice, shape.name, {}}, shape.ai_cores, {}};
  rounded.granted.request.memory_mib = shape.memory_mib;
  if (asked != shape.memory_mib) {
    rounded.granted.why =
        mib(asked) + " asked for; " + shape.name + " is the smallest template that has as much";
  }
  if (asked > shape.usable_mib) {
    rounded.warnings.push_back(field + " asks for " + mib(asked) + "; of the " + mib(shape.memory_mib) +
                               " of " + shape.name + " a program can use " + mib(shape.usable_mib));
  }
  return rounded;
}

Result<Rounded> whole(const wire::NpuResource& resource, const ContainerRequest& request,
                      const std::string& field) {
  Rounded rounded{request, {request, GrantKind::kWhole, {}, {}}, 0, {}};
  std::int64_t& count = rounded.granted.request.count;
  if (resource.in_pairs && count % 2 != 0) {
    if (count > 1) {
      return invalid(field + " asks for " + std::to_string(count) + " of " + request.resource +
                         ", but whole ones are given in pairs, as they sit on their boards",
                     "ask for " + std::to_string(count - 1) + " or " + std::to_string(count + 1));
    }
    count = 2;
    rounded.granted.why = "whole NPUs of this chip are given in pairs";
  } else if (request.memory_mib && *request.memory_mib != resource.whole_mib) {
    rounded.granted.why = mib(*request.memory_mib) + " asked for; " +
                          (resource.not_cut.empty() ? "no template has as much" : resource.not_cut);
  }
  rounded.granted.request.memory_mib = resource.whole_mib;
  rounded.ai_cores = resource.ai_cores * count;
  return rounded;
}

}  // namespace

Result<Rounded> round_request(const wire::NpuResource& resource, const ContainerRequest& request,
                              const std::string& field) {
  if (request.count < 1 || request.count > kNpusPerContainerMax) {
    return invalid(field + " asks for " + std::to_string(request.count) + " of " + request.resource,
                   "ask for 1 to " + std::to_string(kNpusPerContainerMax));
  }
  if (!request.memory_mib) return whole(resource, request, field);
  if (*request.memory_mib > resource.whole_mib) {
    return invalid(field + " asks for " + mib(*request.memory_mib) + " of each " + request.resource +
                       ", but a whole one has " + mib(resource.whole_mib),
                   "ask for at most " + std::to_string(resource.whole_mib) +
                       ", or leave the memory out to have all of it");
  }
  if (const wire::NpuTemplate* const shape = smallest_with(resource, *request.memory_mib)) {
    return slice(resource, *shape, request, field);
  }
  return whole(resource, request, field);
}

Result<std::optional<Rounded>> round_container(std::span<const wire::NpuResource> resources,
                                               const ContainerView& container) {
  if (container.limits.empty() && container.requests.empty()) return std::optional<Rounded>();
  std::optional<Ask> asked;
  for (const wire::NpuResource& resource : resources) {
    TG_TRY(const Ask ask, ask_for(resource, container));
    TG_TRY(const bool is_one, is_request(ask, container));
    if (!is_one) continue;
    if (asked) {
      return fail(Code::kUnimplemented, "admission.request.unsupported",
                  container.field + " asks for " + names::resource(asked->resource->word) + " and for " +
                      names::resource(resource.word) + ", but a container gets NPUs of one kind",
                  "remove one of them, or put them into two containers");
    }
    asked = ask;
  }
  if (!asked) return std::optional<Rounded>();
  if (container.role == ContainerRole::kEphemeral) {
    return fail(Code::kUnimplemented, "admission.request.unsupported",
                container.field + " asks for NPUs, which a Pod that runs cannot be given any more",
                "ask for them in a container of a new Pod");
  }
  TG_TRY(Rounded rounded, round_request(*asked->resource, request_of(*asked, container), container.field));
  return std::optional(std::move(rounded));
}

std::vector<std::string> unknown_resources(std::span<const wire::NpuResource> resources,
                                           const ContainerView& container) {
  std::set<std::string> known;
  for (const wire::NpuResource& resource : resources) {
    known.insert({names::resource(resource.word), names::memory_resource(resource.word),
                  names::core_resource(resource.word)});
  }
  std::set<std::string> unknown;
  for (const auto* const amounts : {&container.limits, &container.requests}) {
    for (const auto& [name, amount] : *amounts) {
      if (name.starts_with(kChipPrefix) && !known.contains(name)) unknown.insert(name);
    }
  }
  return {unknown.begin(), unknown.end()};
}

}  // namespace tangram::kube::admission
