// The tables of all documents. Private to wire.
#pragma once

#include "wire/doctor.h"
#include "wire/event.h"
#include "wire/fit.h"
#include "wire/patterns.h"
#include "wire/record.h"
#include "wire/slices.h"
#include "wire/table.h"
#include "wire/tokens.h"
#include "wire/types.h"

namespace tangram::wire {

// What clients send.
const Table<HostLimitsDoc>& host_limits_table();
const Table<Quota>& quota_table();
const Table<JobSubmission>& job_submission_table();
const Table<JobSubmission>& job_document_table();  // apiVersion, kind, metadata, spec
const Table<JobSubmission>& job_metadata_table();
const Table<JobSubmission>& job_spec_table();
const Table<SliceRequest>& slice_request_table();
const Table<LeaseRequest>& lease_request_table();
const Table<LeaseToken>& lease_token_table();
const Table<TenantDoc>& tenant_table();  // flat, inside of answers
const Table<TenantDoc>& tenant_document_table();
const Table<TenantDoc>& tenant_metadata_table();
const Table<TenantDoc>& tenant_spec_table();
const Table<TokenRequest>& token_request_table();
const Table<TokenRotation>& token_rotation_table();

// What the service answers.
const Table<ReasonView>& reason_view_table();
const Table<SliceView>& slice_view_table();
const Table<NpuSliceView>& npu_slice_view_table();
const Table<JobView>& job_view_table();
const Table<LeaseView>& lease_view_table();
const Table<JobList>& job_list_table();
const Table<NpuStatusView>& npu_status_view_table();
const Table<StatusView>& status_view_table();
const Table<Usage>& usage_table();
const Table<QuotaView>& quota_view_table();
const Table<QuotaList>& quota_list_table();
const Table<RemedyView>& remedy_view_table();
const Table<WhyView>& why_view_table();
const Table<VersionView>& version_view_table();
const Table<ApplyItem>& apply_item_table();
const Table<ApplyAnswer>& apply_answer_table();
const Table<EventView>& event_view_table();
const Table<EventList>& event_list_table();
const Table<TokenView>& token_view_table();
const Table<TokenList>& token_list_table();
const Table<StandingSliceView>& standing_slice_table();
const Table<SliceCutView>& slice_cut_table();
const Table<SliceMixView>& slice_mix_table();
const Table<NpuSlicesView>& npu_slices_table();
const Table<SlicesView>& slices_view_table();
const Table<FitView>& fit_view_table();
const Table<FindingView>& finding_table();
const Table<DoctorView>& doctor_view_table();

// Restart policy and count, which share one field: "on-failure:3".
template <class T>
Field<T> restart_field(std::string doc) {
  Field<T> field;
  field.info = FieldInfo{"restart", "never, on-lost or on-failure:N", false, std::move(doc),
                         R"({"type":"string","pattern":")" + std::string(kRestartPattern) + "\"}"};
  field.read = [](Reader& reader, const Node& node, T& into) {
    constexpr std::string_view kWanted = "never, on-lost or on-failure:N with N from 0 to 1000";
    if (node.kind != Node::Kind::kText) return reader.wrong_type(node, kWanted);
    const Result<Restart> restart = parse_restart(node.text, reader.path());
    if (!restart) return reader.bad_value(node, "input.bad_value", kWanted);
    into.restart = restart->policy;
    into.restarts_max = restart->restarts_max;
  };
  field.write = [](const T& from, Node& object) {
    object.add("restart", Node::of(format_restart(from.restart, from.restarts_max)));
  };
  return field;
}

template <class T>
Field<T> constant(std::string name, std::string value) {
  Field<T> field;
  field.info = FieldInfo{name, '"' + value + '"', true, "always " + value,
                         R"({"type":"string","const":")" + value + "\"}"};
  field.read = [value](Reader& reader, const Node& node, T&) {
    if (node.kind != Node::Kind::kText || node.text != value) {
      reader.bad_value(node, "input.bad_value", '"' + value + '"');
    }
  };
  field.write = [name = std::move(name), value = std::move(value)](const T&, Node& object) {
    object.add(name, Node::of(value));
  };
  return field;
}

}  // namespace tangram::wire
