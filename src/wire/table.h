// How a table of fields is written down: a Codec turns one value into a Node and back, a Field ties it to a
// member, a Table is the list of fields of one document. Private to wire.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/node.h"
#include "wire/reader.h"
#include "wire/schema.h"

namespace tangram::wire {

// `read` reports to the reader and leaves the value alone when it is wrong.
template <class M>
struct Codec {
  std::string type;  // for documentation
  std::function<void(Reader&, const Node&, M&)> read;
  std::function<Node(const M&)> write;
  std::string schema = {};  // JSON Schema of what read() takes and write() gives
};

template <class T>
struct Field {
  FieldInfo info;
  std::function<void(Reader&, const Node&, T&)> read;
  std::function<void(const T&, Node&)> write;  // adds the member, or nothing when it is absent
  bool secret = false;
};

template <class T>
struct Table {
  std::string name;
  std::string doc;
  std::vector<Field<T>> fields;
  std::function<void(Reader&, const Node&, const T&)> check;  // of the whole, after the fields; may be empty
  std::string rule = {};  // JSON Schema of what `check` asks, where a client can be told of it

  DocumentInfo info() const {
    DocumentInfo result{name, doc, {}, rule};
    for (const Field<T>& field : fields) result.fields.push_back(field.info);
    return result;
  }
};

// A document in the place of a schema.
inline std::string schema_reference(std::string_view document) {
  return R"({"$ref":"#/components/schemas/)" + std::string(document) + "\"}";
}

// Must be there, and is always written.
template <class T, class M>
Field<T> required(std::string name, M T::* member, Codec<M> codec, std::string doc) {
  Field<T> field;
  field.info = FieldInfo{name, codec.type, true, std::move(doc), codec.schema};
  field.read = [member, read = codec.read](Reader& reader, const Node& node, T& into) {
    read(reader, node, into.*member);
  };
  field.write = [member, name = std::move(name), write = codec.write](const T& from, Node& object) {
    object.add(name, write(from.*member));
  };
  return field;
}

// May be left out, and is left out when it has the value of a new T.
template <class T, class M>
Field<T> optional(std::string name, M T::* member, Codec<M> codec, std::string doc) {
  Field<T> field = required(std::move(name), member, std::move(codec), std::move(doc));
  field.info.required = false;
  field.write = [member, write = std::move(field.write)](const T& from, Node& object) {
    static const T kAbsent{};
    if (!(from.*member == kAbsent.*member)) write(from, object);
  };
  return field;
}

// May be left out when read, but is always written.
template <class T, class M>
Field<T> shown(std::string name, M T::* member, Codec<M> codec, std::string doc) {
  Field<T> field = required(std::move(name), member, std::move(codec), std::move(doc));
  field.info.required = false;
  return field;
}

// An absent optional is left out.
template <class T, class M>
Field<T> optional(std::string name, std::optional<M> T::* member, Codec<M> codec, std::string doc) {
  Field<T> field;
  field.info = FieldInfo{name, codec.type, false, std::move(doc), codec.schema};
  field.read = [member, read = codec.read](Reader& reader, const Node& node, T& into) {
    M value{};
    read(reader, node, value);
    into.*member = std::move(value);
  };
  field.write = [member, name = std::move(name), write = codec.write](const T& from, Node& object) {
    if ((from.*member).has_value()) object.add(name, write(*(from.*member)));
  };
  return field;
}

// Its value, and everything below, is never repeated in a message.
template <class T>
Field<T> secret(Field<T> field) {
  field.secret = true;
  return field;
}

template <class T>
void report_unknown(Reader& reader, const Table<T>& table, const Member& member) {
  std::vector<std::string_view> known;
  std::string all;
  for (const Field<T>& field : table.fields) {
    known.push_back(field.info.name);
    all += (all.empty() ? "" : ", ") + field.info.name;
  }
  const std::string_view near = did_you_mean(member.key, known);
  std::string what = "is not a field of " + table.name;
  if (!near.empty()) what += " (did you mean \"" + std::string(near) + "\"?)";
  const PathScope scope(reader, member.key);
  reader.problem_at(member.line, member.column, "input.unknown_field", what,
                    near.empty() ? "known fields: " + all : "write \"" + std::string(near) + "\"");
}

inline void report_duplicate(Reader& reader, const std::vector<Member>& members) {
  const std::size_t at = find_duplicate(members);
  if (at == members.size()) return;
  const PathScope scope(reader, members[at].key);
  reader.problem_at(members[at].line, members[at].column, "input.duplicate_key", "is given twice",
                    "keep one of them");
}

// The fields of `node`; `into` keeps what the node does not say.
template <class T>
void read_fields(Reader& reader, const Table<T>& table, const Node& node, T& into) {
  if (node.kind != Node::Kind::kObject) return reader.wrong_type(node, "an object (" + table.name + ")");
  report_duplicate(reader, node.members);
  if (!reader.tolerant()) {
    for (const Member& member : node.members) {
      bool known = false;
      for (const Field<T>& field : table.fields) known = known || field.info.name == member.key;
      if (!known) report_unknown(reader, table, member);
    }
  }
  for (const Field<T>& field : table.fields) {
    const Node* value = node.find(field.info.name);
    const PathScope scope(reader, field.info.name);
    if (value == nullptr) {
      if (field.info.required) {
        reader.problem(node, "input.missing_field", "is missing: " + field.info.doc,
                       "add it (" + field.info.type + ")");
      }
      continue;
    }
    const bool outer_secret = reader.secret();
    reader.set_secret(outer_secret || field.secret);
    field.read(reader, *value, into);
    reader.set_secret(outer_secret);
  }
  if (table.check) table.check(reader, node, into);
}

template <class T>
Node write_fields(const Table<T>& table, const T& from) {
  Node object = Node::object();
  object.members.reserve(table.fields.size());
  for (const Field<T>& field : table.fields) field.write(from, object);
  return object;
}

// An object described by its own table.
template <class T>
Codec<T> object(const Table<T>& table) {
  return {table.name,
          [&table](Reader& reader, const Node& node, T& into) { read_fields(reader, table, node, into); },
          [&table](const T& from) { return write_fields(table, from); }, schema_reference(table.name)};
}

// An object whose fields are members of the surrounding value: `metadata`, `spec`.
template <class T>
Field<T> part(std::string name, const Table<T>& table, bool required, std::string doc) {
  Field<T> field;
  field.info = FieldInfo{name, table.name, required, std::move(doc), schema_reference(table.name)};
  field.read = [&table](Reader& reader, const Node& node, T& into) {
    read_fields(reader, table, node, into);
  };
  field.write = [&table, name = std::move(name), required](const T& from, Node& object) {
    Node inner = write_fields(table, from);
    if (required || !inner.members.empty()) object.add(name, std::move(inner));
  };
  return field;
}

template <class M>
Codec<std::vector<M>> list(Codec<M> item, std::size_t count_max) {
  return {"list of " + item.type,
          [read = item.read, count_max](Reader& reader, const Node& node, std::vector<M>& into) {
            if (node.kind != Node::Kind::kList) return reader.wrong_type(node, "a list");
            if (node.items.size() > count_max) {
              return reader.problem(node, "input.too_many",
                                    "has " + std::to_string(node.items.size()) + " entries; at most " +
                                        std::to_string(count_max) + " are allowed");
            }
            into.clear();
            into.reserve(node.items.size());
            for (std::size_t i = 0; i < node.items.size(); ++i) {
              const PathScope scope(reader, i);
              M value{};
              read(reader, node.items[i], value);
              into.push_back(std::move(value));
            }
          },
          [write = item.write](const std::vector<M>& from) {
            Node node = Node::list();
            node.items.reserve(from.size());
            for (const M& value : from) node.items.push_back(write(value));
            return node;
          },
          R"({"type":"array","items":)" + item.schema +
              (count_max == std::numeric_limits<std::size_t>::max()
                   ? std::string()
                   : ",\"maxItems\":" + std::to_string(count_max)) +
              "}"};
}

template <class T>
Result<T> read_whole(const Table<T>& table, const Node& node, Reading reading) {
  Reader reader(reading);
  T value{};
  read_fields(reader, table, node, value);
  if (!reader.ok()) return fail(reader.to_error());
  return value;
}

template <class T>
Result<T> read_answer(const Table<T>& table, std::string_view json) {
  TG_TRY(const Node node, parse_json(json, kAnswerBytesMax));
  return read_whole(table, node, Reading::kTolerant);
}

}  // namespace tangram::wire
