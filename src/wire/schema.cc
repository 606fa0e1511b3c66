#include "wire/schema.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "wire/problem.h"
#include "wire/tables.h"

namespace tangram::wire {
namespace {

template <class T>
std::string write_whole(const Table<T>& table, const T& value) {
  return to_json(write_fields(table, value));
}

template <class T>
Result<Document> read_document_as(const Table<T>& table, Reader& reader, const Node& node,
                                  std::string where) {
  Document document;
  T value;
  read_fields(reader, table, node, value);
  if (!reader.ok()) return fail(reader.to_error(where));
  document.value = std::move(value);
  document.where = std::move(where);
  return document;
}

// `where` stands in front of messages unless the path says it.
Result<Document> read_document(Reader& reader, const Node& node, const std::string& where) {
  const Node* kind = node.kind == Node::Kind::kObject ? node.find("kind") : nullptr;
  if (kind != nullptr && kind->kind == Node::Kind::kText) {
    if (kind->text == "Tenant") return read_document_as(tenant_document_table(), reader, node, where);
    if (kind->text == "Job") return read_document_as(job_document_table(), reader, node, where);
  }
  if (node.kind != Node::Kind::kObject) {
    reader.wrong_type(node, "an object with apiVersion, kind, metadata and spec");
  } else {
    const PathScope scope(reader, "kind");
    if (kind == nullptr) {
      reader.problem(node, "input.missing_field", "is missing: what the document describes",
                     "add kind: Tenant or Job");
    } else {
      reader.bad_value(*kind, "input.bad_value", "Tenant or Job");
    }
  }
  return fail(reader.to_error(where));
}

std::string name_of(const Document& document) {
  if (const auto* tenant = std::get_if<TenantDoc>(&document.value)) return "Tenant " + tenant->name;
  const auto& job = std::get<JobSubmission>(document.value);
  return job.name.empty() ? std::string() : "Job " + job.tenant + '/' + job.name;
}

// Two documents of one name would depend on their order.
Result<void> check_names(const std::vector<Document>& documents) {
  std::set<std::string> seen;
  for (const Document& document : documents) {
    const std::string name = name_of(document);
    if (name.empty() || seen.insert(name).second) continue;
    return fail(Code::kInvalidArgument, "input.duplicate_key",
                document.where + ": metadata.name: " + name + " is described twice in one apply",
                "keep one of them", {{"field", "metadata.name"}, {"value", name}});
  }
  return {};
}

Result<std::vector<Document>> read_yaml_documents(std::string_view text) {
  TG_TRY(const std::vector<Node> nodes, parse_yaml(text, kBodyBytesMax, kDocumentsMax));
  std::vector<Document> documents;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string where =
        "document " + std::to_string(i + 1) + " (line " + std::to_string(nodes[i].line) + ")";
    Reader reader(Reading::kStrict);
    TG_TRY(Document document, read_document(reader, nodes[i], where));
    documents.push_back(std::move(document));
  }
  return documents;
}

Result<std::vector<Document>> read_json_documents(std::string_view text) {
  TG_TRY(const Node root, parse_json(text, kBodyBytesMax));
  std::vector<Document> documents;
  const Node* items = root.kind == Node::Kind::kObject ? root.find("items") : nullptr;
  if (items == nullptr) {
    Reader reader(Reading::kStrict);
    TG_TRY(Document document, read_document(reader, root, "document 1"));
    documents.push_back(std::move(document));
    return documents;
  }
  TG_TRY_VOID(check_items(root, kDocumentsMax));
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    Reader reader(Reading::kStrict);
    const PathScope list_scope(reader, "items");
    const PathScope item_scope(reader, i);
    TG_TRY(Document document, read_document(reader, items->items[i], reader.path()));
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace

Result<void> check_items(const Node& root, std::size_t count_max) {
  Reader reader(Reading::kStrict);
  report_duplicate(reader, root.members);
  for (const Member& member : root.members) {
    const PathScope scope(reader, member.key);
    if (member.key != "items") {
      reader.problem(member.value, "input.unknown_field", "is not a field beside items", "remove it");
    } else if (member.value.kind != Node::Kind::kList) {
      reader.wrong_type(member.value, "a list");
    } else if (member.value.items.empty() || member.value.items.size() > count_max) {
      reader.problem(member.value, "input.too_many",
                     "has " + std::to_string(member.value.items.size()) + " entries; 1 to " +
                         std::to_string(count_max) + " are allowed");
    }
  }
  if (!reader.ok()) return fail(reader.to_error());
  return {};
}

Result<std::vector<Document>> read_documents(std::string_view text, Format format) {
  Result<std::vector<Document>> documents =
      format == Format::kYaml ? read_yaml_documents(text) : read_json_documents(text);
  if (!documents) return documents;
  if (documents->empty()) {
    return fail(Code::kInvalidArgument, "input.missing_field", "there is no document in the text",
                "write one with apiVersion: tangram.dev/v1 and kind: Tenant or Job");
  }
  TG_TRY_VOID(check_names(*documents));
  return documents;
}

Result<JobSubmission> read_job_submission(std::string_view json) {
  TG_TRY(const Node node, parse_json(json, kBodyBytesMax));
  return read_whole(job_submission_table(), node, Reading::kStrict);
}

Result<LeaseRequest> read_lease_request(std::string_view json) {
  TG_TRY(const Node node, parse_json(json, kBodyBytesMax));
  return read_whole(lease_request_table(), node, Reading::kStrict);
}

Result<LeaseToken> read_lease_token(std::string_view json) {
  TG_TRY(const Node node, parse_json(json, kBodyBytesMax));
  return read_whole(lease_token_table(), node, Reading::kStrict);
}

Result<Quota> read_quota(std::string_view json) {
  TG_TRY(const Node node, parse_json(json, kBodyBytesMax));
  return read_whole(quota_table(), node, Reading::kStrict);
}

Result<Submissions> read_submissions(std::string_view json) {
  TG_TRY(const Node root, parse_json(json, kBatchBytesMax));
  Submissions result;
  const Node* items = root.kind == Node::Kind::kObject ? root.find("items") : nullptr;
  if (items == nullptr) {
    // One that stands alone has the smaller bound.
    if (json.size() > kBodyBytesMax) return fail(parse_json(json, kBodyBytesMax).error());
    TG_TRY(JobSubmission submission, read_whole(job_submission_table(), root, Reading::kStrict));
    result.items.emplace_back(std::move(submission));
    return result;
  }
  TG_TRY_VOID(check_items(root, kBatchItemsMax));
  result.batch = true;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    Reader reader(Reading::kStrict);
    const PathScope list_scope(reader, "items");
    const PathScope item_scope(reader, i);
    JobSubmission submission;
    read_fields(reader, job_submission_table(), items->items[i], submission);
    if (reader.ok()) {
      result.items.emplace_back(std::move(submission));
    } else {
      result.items.emplace_back(fail(reader.to_error()));
    }
  }
  return result;
}

std::string write(const JobSubmission& submission) {
  return write_whole(job_submission_table(), submission);
}
std::string write_lease_request(const LeaseRequest& request) {
  return write_whole(lease_request_table(), request);
}
std::string write(const LeaseToken& token) {
  return write_whole(lease_token_table(), token);
}
std::string write(const Quota& quota) {
  return write_whole(quota_table(), quota);
}
std::string write(const TenantDoc& tenant) {
  return write_whole(tenant_document_table(), tenant);
}

std::string write(const Document& document) {
  if (const auto* tenant = std::get_if<TenantDoc>(&document.value)) return write(*tenant);
  return write_whole(job_document_table(), std::get<JobSubmission>(document.value));
}

std::string write_batch(std::span<const JobSubmission> submissions) {
  Node items = Node::list();
  for (const JobSubmission& submission : submissions) {
    items.items.push_back(write_fields(job_submission_table(), submission));
  }
  Node root = Node::object();
  root.add("items", std::move(items));
  return to_json(root);
}

std::string write(const JobView& view) {
  return write_whole(job_view_table(), view);
}
std::string write(const LeaseView& view) {
  return write_whole(lease_view_table(), view);
}
std::string write(const JobList& list) {
  return write_whole(job_list_table(), list);
}
std::string write(const StatusView& view) {
  return write_whole(status_view_table(), view);
}
std::string write(const QuotaView& view) {
  return write_whole(quota_view_table(), view);
}
std::string write(const QuotaList& list) {
  return write_whole(quota_list_table(), list);
}
std::string write(const WhyView& view) {
  return write_whole(why_view_table(), view);
}
std::string write(const VersionView& view) {
  return write_whole(version_view_table(), view);
}
std::string write(const ApplyAnswer& answer) {
  return write_whole(apply_answer_table(), answer);
}

std::string write(const SubmitAnswer& answer) {
  Node items = Node::list();
  for (const Result<JobView>& item : answer.items) {
    Node entry = Node::object();
    if (item) {
      entry.add("job", write_fields(job_view_table(), *item));
    } else {
      entry.add("error", problem_node(item.error()));
    }
    items.items.push_back(std::move(entry));
  }
  Node root = Node::object();
  root.add("items", std::move(items));
  return to_json(root);
}

Result<JobView> read_job_view(std::string_view json) {
  return read_answer(job_view_table(), json);
}
Result<LeaseView> read_lease_view(std::string_view json) {
  return read_answer(lease_view_table(), json);
}
Result<JobList> read_job_list(std::string_view json) {
  return read_answer(job_list_table(), json);
}
Result<StatusView> read_status_view(std::string_view json) {
  return read_answer(status_view_table(), json);
}
Result<QuotaView> read_quota_view(std::string_view json) {
  return read_answer(quota_view_table(), json);
}
Result<QuotaList> read_quota_list(std::string_view json) {
  return read_answer(quota_list_table(), json);
}
Result<WhyView> read_why_view(std::string_view json) {
  return read_answer(why_view_table(), json);
}
Result<VersionView> read_version_view(std::string_view json) {
  return read_answer(version_view_table(), json);
}
Result<ApplyAnswer> read_apply_answer(std::string_view json) {
  return read_answer(apply_answer_table(), json);
}

Result<SubmitAnswer> read_submit_answer(std::string_view json) {
  TG_TRY(const Node root, parse_json(json, kAnswerBytesMax));
  const Node* items = root.kind == Node::Kind::kObject ? root.find("items") : nullptr;
  Reader reader(Reading::kTolerant);
  if (items == nullptr || items->kind != Node::Kind::kList) {
    reader.wrong_type(root, "an object with a list of items");
    return fail(reader.to_error());
  }
  SubmitAnswer answer;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    const PathScope list_scope(reader, "items");
    const PathScope item_scope(reader, i);
    const Node& item = items->items[i];
    const Node* job = item.kind == Node::Kind::kObject ? item.find("job") : nullptr;
    const Node* error = item.kind == Node::Kind::kObject ? item.find("error") : nullptr;
    if (job != nullptr) {
      const PathScope scope(reader, "job");
      JobView view;
      read_fields(reader, job_view_table(), *job, view);
      answer.items.emplace_back(std::move(view));
    } else if (error != nullptr) {
      const PathScope scope(reader, "error");
      answer.items.emplace_back(fail(read_problem_node(reader, *error)));
    } else {
      reader.wrong_type(item, "an object with job or error");
    }
  }
  if (!reader.ok()) return fail(reader.to_error());
  return answer;
}

Result<std::string> to_yaml(std::string_view json) {
  return parse_json(json, kAnswerBytesMax).map([](const Node& node) { return to_yaml_text(node); });
}

Result<std::string> to_pretty_json(std::string_view json) {
  return parse_json(json, kAnswerBytesMax).map([](const Node& node) { return to_indented_json(node); });
}

std::vector<DocumentInfo> documents() {
  return {tenant_document_table().info(), tenant_metadata_table().info(),
          tenant_spec_table().info(),     quota_table().info(),
          host_limits_table().info(),     job_document_table().info(),
          job_metadata_table().info(),    job_spec_table().info(),
          job_submission_table().info(),  slice_request_table().info(),
          lease_request_table().info(),   lease_token_table().info(),
          lease_view_table().info(),      job_view_table().info(),
          slice_view_table().info(),      job_list_table().info(),
          reason_view_table().info(),     why_view_table().info(),
          remedy_view_table().info(),     status_view_table().info(),
          npu_status_view_table().info(), npu_slice_view_table().info(),
          quota_view_table().info(),      tenant_table().info(),
          usage_table().info(),           quota_list_table().info(),
          apply_answer_table().info(),    apply_item_table().info(),
          event_view_table().info(),      event_list_table().info(),
          version_view_table().info(),    token_request_table().info(),
          token_rotation_table().info(),  token_view_table().info(),
          token_list_table().info(),      slices_view_table().info(),
          npu_slices_table().info(),      standing_slice_table().info(),
          slice_cut_table().info(),       slice_mix_table().info(),
          fit_view_table().info(),        doctor_view_table().info(),
          finding_table().info(),         problem_info()};
}

}  // namespace tangram::wire
