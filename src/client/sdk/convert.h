// Between the documents of the wire and the values of include/tangram. Pure functions.
#pragma once

#include "base/error.h"
#include "base/result.h"
#include "client/api_client.h"
#include "client/lease_keeper.h"
#include "tangram/client.h"
#include "wire/types.h"

namespace tangram::client {

api::Error to_api(const tangram::Error& error);
api::Quota to_api(const tangram::Quota& quota);
api::TenantStatus to_api(const wire::QuotaView& view);
api::Job to_api(const wire::JobView& view);
api::Explanation to_api(const wire::WhyView& view);
api::Status to_api(const wire::StatusView& view);
api::LeaseNews to_api(const LeaseNews& news);
api::Health to_api(Health health);
api::Event to_api(const FollowedEvent& event);

// A number that no document can carry is an error that names its field.
Result<tangram::Quota> to_wire(const api::Quota& quota);
Result<wire::TenantDoc> to_wire(const api::Tenant& tenant);
wire::JobSubmission to_wire(const api::JobRequest& request);
wire::LeaseRequest to_wire(const api::LeaseRequest& request);
JobFilter to_wire(const api::JobQuery& query);
EventQuery to_wire(const api::EventQuery& query);  // all but where it begins

// The value, or the error in its place.
template <class T>
api::Result<decltype(to_api(std::declval<T>()))> answer(const Result<T>& result) {
  if (!result) return to_api(result.error());
  return to_api(*result);
}

inline api::Result<void> answer(const Result<void>& result) {
  if (!result) return to_api(result.error());
  return {};
}

}  // namespace tangram::client
