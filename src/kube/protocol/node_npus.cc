#include "kube/protocol/node_npus.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <set>
#include <utility>

#include "base/quote.h"
#include "kube/protocol/container_request.h"
#include "kube/protocol/fields.h"
#include "kube/protocol/names.h"

namespace tangram::kube {
namespace {

using protocol::bad_field;

constexpr std::int64_t kIndexMax = 65'535;
constexpr std::int64_t kBoardMax = std::int64_t{0xffff'ffff};
constexpr std::int64_t kVgroupMax = 15;
constexpr std::int64_t kSharesMax = 1'000;
constexpr std::size_t kTextsMax = 64;
constexpr std::size_t kStraysMax = 64;

// Null when it is absent.
Result<const json::array*> optional_list(const json::object& object, std::string_view where,
                                         std::string_view field, std::size_t most) {
  const json::value* const value = object.if_contains(field);
  if (value == nullptr) return nullptr;
  const json::array* const list = value->if_array();
  if (list == nullptr || list->size() > most) {
    return bad_field(where, field, "a list of at most " + std::to_string(most) + " entries");
  }
  return list;
}

Result<std::vector<std::string>> texts_field(const json::object& object, std::string_view where,
                                             std::string_view field) {
  std::vector<std::string> texts;
  TG_TRY(const json::array* const list, optional_list(object, where, field, kTextsMax));
  if (list == nullptr) return texts;
  for (const json::value& value : *list) {
    const json::string* const text = value.if_string();
    if (text == nullptr || text->size() > protocol::kTextBytesMax) {
      return bad_field(where, field, "a list of texts of at most 1024 bytes");
    }
    texts.emplace_back(text->data(), text->size());
  }
  return texts;
}

Result<NodeStray> stray_of(const json::value& value, std::string_view where) {
  TG_TRY(const json::object* const object, protocol::object_of(value, where));
  NodeStray stray;
  if (!object->contains("id")) return bad_field(where, "id", "there");
  TG_TRY(const std::int64_t id, protocol::number_field(*object, where, "id", 0, kBoardMax));
  stray.id = static_cast<std::uint32_t>(id);
  TG_TRY(stray.template_name, protocol::text_field(*object, where, "template", false));
  if (object->contains("vgroup")) {
    TG_TRY(const std::int64_t vgroup, protocol::number_field(*object, where, "vgroup", 0, kVgroupMax));
    stray.vgroup = static_cast<std::int32_t>(vgroup);
  }
  return stray;
}

Result<std::vector<NodeStray>> strays_of(const json::object& object, std::string_view where) {
  std::vector<NodeStray> strays;
  TG_TRY(const json::array* const list, optional_list(object, where, "strays", kStraysMax));
  if (list == nullptr) return strays;
  for (const json::value& value : *list) {
    TG_TRY(NodeStray stray, stray_of(value, where));
    strays.push_back(std::move(stray));
  }
  std::sort(strays.begin(), strays.end(), [](const NodeStray& a, const NodeStray& b) { return a.id < b.id; });
  const auto same = std::adjacent_find(strays.begin(), strays.end(),
                                       [](const NodeStray& a, const NodeStray& b) { return a.id == b.id; });
  if (same != strays.end()) return bad_field(where, "strays", "a list that names each slice once");
  return strays;
}

Result<NodeNpu> npu_of(const json::value& value, std::string_view where) {
  TG_TRY(const json::object* const object, protocol::object_of(value, where));
  NodeNpu npu;
  TG_TRY(npu.uuid, protocol::text_field(*object, where, "uuid", true));
  if (!object->contains("index")) return bad_field(where, "index", "there");
  TG_TRY(const std::int64_t index, protocol::number_field(*object, where, "index", 0, kIndexMax));
  npu.index = static_cast<std::uint32_t>(index);
  TG_TRY(npu.chip, protocol::text_field(*object, where, "chip", false));
  if (object->contains("board")) {
    TG_TRY(const std::int64_t board, protocol::number_field(*object, where, "board", 0, kBoardMax));
    npu.board = static_cast<std::uint32_t>(board);
  }
  TG_TRY(const std::string health, protocol::text_field(*object, where, "health", true));
  npu.healthy = health == "ok";
  TG_TRY(npu.note, protocol::text_field(*object, where, "note", false));
  TG_TRY(npu.allocatable_mib, protocol::number_field(*object, where, "allocatableMiB", 0, kMemoryMibMax));
  TG_TRY(npu.ai_cores, protocol::number_field(*object, where, "aiCores", 0, 100'000));
  TG_TRY(npu.not_cut, protocol::text_field(*object, where, "notCut", false));
  TG_TRY(npu.templates, texts_field(*object, where, "templates"));
  TG_TRY(npu.strays, strays_of(*object, where));
  TG_TRY(npu.resource, protocol::text_field(*object, where, "resource", false));
  TG_TRY(npu.shares, protocol::number_field(*object, where, "shares", 1, kSharesMax));
  TG_TRY(npu.template_set, protocol::text_field(*object, where, "templateSet", false));
  return npu;
}

Result<void> check_each_once(const std::vector<NodeNpu>& npus) {
  std::set<std::string_view> uuids;
  for (std::size_t i = 0; i < npus.size(); ++i) {
    if (i > 0 && npus[i - 1].index == npus[i].index) {
      return bad_field(names::kNodeNpus, "index", "of one NPU alone");
    }
    if (!uuids.insert(npus[i].uuid).second) {
      return bad_field(names::kNodeNpus, "uuid", "of one NPU alone");
    }
  }
  return {};
}

std::string told(std::string_view text) {
  std::string out;
  text = cut_text(text, protocol::kTextBytesMax);
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

void put_text(json::object& object, std::string_view field, std::string_view text) {
  if (!text.empty()) object[field] = told(text);
}

void put_texts(json::object& object, std::string_view field, const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) list.emplace_back(told(text));
  if (!list.empty()) object[field] = std::move(list);
}

json::object object_of_npu(const NodeNpu& npu) {
  json::object object{{"uuid", told(npu.uuid)}, {"index", npu.index}};
  put_text(object, "chip", npu.chip);
  put_text(object, "resource", npu.resource);
  if (npu.board) object["board"] = *npu.board;
  object["health"] = npu.healthy ? "ok" : "bad";
  put_text(object, "note", npu.note);
  if (npu.allocatable_mib > 0) object["allocatableMiB"] = npu.allocatable_mib;
  if (npu.ai_cores > 0) object["aiCores"] = npu.ai_cores;
  object["shares"] = npu.shares;
  put_text(object, "templateSet", npu.template_set);
  put_texts(object, "templates", npu.templates);
  put_text(object, "notCut", npu.not_cut);
  json::array strays;
  for (const NodeStray& stray : npu.strays) {
    json::object one{{"id", stray.id}};
    put_text(one, "template", stray.template_name);
    const bool has_vgroup = stray.vgroup && *stray.vgroup >= 0 && *stray.vgroup <= kVgroupMax;
    if (has_vgroup) one["vgroup"] = *stray.vgroup;
    strays.push_back(std::move(one));
  }
  if (!strays.empty()) object["strays"] = std::move(strays);
  return object;
}

}  // namespace

std::string write_node_npus(const NodeNpus& node) {
  json::object object;
  put_text(object, "driver", node.driver);
  put_texts(object, "conditions", node.conditions);
  json::array npus;
  for (const NodeNpu& npu : node.npus) npus.push_back(object_of_npu(npu));
  object["npus"] = std::move(npus);
  return json::serialize(object);
}

Result<NodeNpus> read_node_npus(std::string_view text) {
  if (text.size() > kNodeAnnotationBytesMax) {
    return bad_field(names::kNodeNpus, "value",
                     "at most " + std::to_string(kNodeAnnotationBytesMax) + " bytes long");
  }
  const Result<json::object> object = parse_object(text);
  if (!object) return bad_field(names::kNodeNpus, "value", "a JSON object");
  NodeNpus node;
  TG_TRY(node.driver, protocol::text_field(*object, names::kNodeNpus, "driver", false));
  TG_TRY(node.conditions, texts_field(*object, names::kNodeNpus, "conditions"));
  TG_TRY(const json::array* const npus, optional_list(*object, names::kNodeNpus, "npus", kNpusPerNodeMax));
  if (npus == nullptr) return bad_field(names::kNodeNpus, "npus", "there");
  for (const json::value& value : *npus) {
    const std::string where =
        "entry " + std::to_string(node.npus.size()) + " of " + std::string(names::kNodeNpus);
    TG_TRY(NodeNpu npu, npu_of(value, where));
    node.npus.push_back(std::move(npu));
  }
  std::sort(node.npus.begin(), node.npus.end(),
            [](const NodeNpu& a, const NodeNpu& b) { return a.index < b.index; });
  TG_TRY_VOID(check_each_once(node.npus));
  return node;
}

}  // namespace tangram::kube
