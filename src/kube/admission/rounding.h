// From what a container asks for to what it is given: a slice by one of the chip's templates, or whole NPUs.
//
//  - A number of NPUs alone is that many whole ones. Memory alone is of one NPU.
//  - Memory up to that of the largest template is the smallest template that has it; 0 is the smallest of
//  all.
//  - More is a whole NPU, up to what one has. Beyond that the request is refused: nobody is given less than
//  he
//    asks for.
//  - A slice is of one NPU: several NPUs with the memory of a template are refused.
//  - A number of 0 is no request.
// A grant asked for again is given again: what a Pod says after rounding rounds to itself.
//
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/admission/pod.h"
#include "kube/protocol/container_request.h"
#include "wire/npu_resource.h"

namespace tangram::kube::admission {

struct Rounded {
  ContainerRequest requested;
  ContainerGrant granted;
  std::int64_t ai_cores = 0;          // of all that is given
  std::vector<std::string> warnings;  // for whoever asked, a sentence each
};

// None: the container asks for no NPU. Errors, each with the field, its value and what would be right:
// kInvalidArgument "admission.request.invalid", kUnimplemented "admission.request.unsupported".
Result<std::optional<Rounded>> round_container(std::span<const wire::NpuResource> resources,
                                               const ContainerView& container);

// The same of a request that is known. `field` stands in messages: "spec.containers[0]".
Result<Rounded> round_request(const wire::NpuResource& resource, const ContainerRequest& request,
                              const std::string& field);

// Names of NPU resources that no chip goes by: "huawei.com/Ascend310P3". Others of "huawei.com/" are not
// Tangram's business.
std::vector<std::string> unknown_resources(std::span<const wire::NpuResource> resources,
                                           const ContainerView& container);

}  // namespace tangram::kube::admission
