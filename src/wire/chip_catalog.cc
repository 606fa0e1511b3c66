#include "wire/chip_catalog.h"

#include <charconv>
#include <optional>
#include <utility>

#include "catalog/catalog.h"
#include "wire/chip_tables.h"
#include "wire/codecs.h"
#include "wire/schema.h"
#include "wire/tables.h"

namespace tangram::wire {
namespace {

constexpr std::int64_t kAmountMax = 1'000'000;

// A chip and a template as they are written; what is left out has a meaning of its own.
struct MediaDoc {
  std::array<std::optional<std::int64_t>, kChipResourceCount> units;

  friend bool operator==(const MediaDoc&, const MediaDoc&) = default;
};

struct TemplateDoc {
  std::string name;
  std::int64_t ai_cores = 0;
  std::int64_t ai_cpus = 0;
  Bytes memory;
  std::optional<Bytes> usable_memory;
  std::optional<Bytes> device_memory;
  MediaDoc media;
  std::int32_t count_max = 0;
  bool owns_dvpp = false;
  bool offered = true;
};

struct ChipDoc {
  std::string name;
  ChipMatch match;
  std::int64_t ai_cores = 0;
  std::optional<std::int64_t> ai_cpus;
  std::optional<std::int64_t> ai_cpus_uncut;
  std::optional<Bytes> memory;
  MediaDoc media;
  std::int32_t slices_max = kSlicesPerChipMax;
  std::int32_t vgroups = 0;
  bool needs_probe = false;
  std::string not_cut;
  std::vector<TemplateDoc> templates;
};

Field<MediaDoc> media_field(ChipResource resource) {
  const std::size_t at = index_of(resource);
  const Codec<std::int64_t> codec = int64_range(0, kAmountMax);
  Field<MediaDoc> field;
  field.info = {std::string(to_string(resource)), codec.type, false, "units", codec.schema};
  field.read = [at, codec](Reader& reader, const Node& node, MediaDoc& into) {
    std::int64_t value = 0;
    codec.read(reader, node, value);
    into.units[at] = value;
  };
  field.write = [at, resource](const MediaDoc& from, Node& object) {
    if (from.units[at]) object.add(std::string(to_string(resource)), Node::of(*from.units[at]));
  };
  return field;
}

const Table<MediaDoc>& media_table() {
  static const Table<MediaDoc> table = [] {
    Table<MediaDoc> made{"Media", "Units of the media engines (DVPP).", {}, nullptr};
    for (std::size_t i = index_of(ChipResource::kVpc); i < kChipResourceCount; ++i)
      made.fields.push_back(media_field(kChipResources[i]));
    return made;
  }();
  return table;
}

// 67, 0x43 or "0x43".
Codec<std::uint32_t> board_id() {
  static constexpr std::string_view kWanted = "a board id such as 0x33";
  return {"board id",
          [](Reader& reader, const Node& node, std::uint32_t& into) {
            if (node.kind == Node::Kind::kInt) return uint32_range(0, 0xffff).read(reader, node, into);
            if (node.kind != Node::Kind::kText) return reader.wrong_type(node, kWanted);
            std::string_view digits = node.text;
            if (!digits.starts_with("0x")) return reader.bad_value(node, "input.bad_value", kWanted);
            digits.remove_prefix(2);
            std::uint32_t value = 0;
            const auto [end, failed] =
                std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
            if (failed != std::errc{} || end != digits.data() + digits.size() || value > 0xffff)
              return reader.bad_value(node, "input.bad_value", kWanted);
            into = value;
          },
          [](const std::uint32_t& from) { return Node::of(std::int64_t{from}); },
          R"({"type":["integer","string"]})"};
}

const Table<ChipMatch>& match_table() {
  static const Table<ChipMatch> table{
      "ChipMatch",
      "Which NPUs a description stands for: all that is given must hold.",
      {
          required("chips", &ChipMatch::chips, list(text(kNameLengthMax), 64),
                   "names that the driver reports"),
          optional("boards", &ChipMatch::boards, list(board_id(), 256), "board ids; left out: any"),
          optional("aiCores", &ChipMatch::ai_cores, int32_range(1, 1'000'000), "left out: any number"),
          optional("chipsOnCard", &ChipMatch::chips_on_card, int32_range(1, kChipsOnCardMax),
                   "of the board together; left out: any number"),
          optional("memoryAbove", &ChipMatch::memory_above, bytes_text(0), "reported memory is above this"),
          optional("memoryMost", &ChipMatch::memory_most, bytes_text(0), "and at most this"),
      },
      nullptr};
  return table;
}

const Table<TemplateDoc>& template_table() {
  static const Table<TemplateDoc> table{
      "SliceTemplate",
      "One shape of a slice.",
      {
          required("name", &TemplateDoc::name, text(kNameLengthMax), "as the driver names it"),
          required("aiCores", &TemplateDoc::ai_cores, int64_range(1, kAmountMax), "AI cores"),
          optional("aiCpus", &TemplateDoc::ai_cpus, int64_range(0, kAmountMax), "AICPU; left out: none"),
          required("memory", &TemplateDoc::memory, bytes_text(1), "nominal: what requests and quotas count"),
          optional("usableMemory", &TemplateDoc::usable_memory, bytes_text(1),
                   "what a program finds; left out: as memory"),
          optional("deviceMemory", &TemplateDoc::device_memory, bytes_text(0),
                   "what the device sets aside; left out: as usableMemory"),
          optional("media", &TemplateDoc::media, object(media_table()), "left out: none"),
          optional("countMax", &TemplateDoc::count_max, int32_range(0, kSlicesPerChipMax),
                   "0: no limit of its own"),
          optional("ownsDvpp", &TemplateDoc::owns_dvpp, boolean(),
                   "no other slice with media engines beside it"),
          optional("offered", &TemplateDoc::offered, boolean(),
                   "false: only known, never given to a request"),
      },
      nullptr};
  return table;
}

const Table<ChipDoc>& chip_doc_table() {
  static const Table<ChipDoc> table{
      "Chip",
      "A chip model and how it may be cut.",
      {
          required("name", &ChipDoc::name, text(kNameLengthMax), "in messages and tables"),
          required("match", &ChipDoc::match, object(match_table()), "which NPUs"),
          required("aiCores", &ChipDoc::ai_cores, int64_range(1, kAmountMax), "AI cores to share"),
          optional("aiCpus", &ChipDoc::ai_cpus, int64_range(0, kAmountMax),
                   "once it is cut; left out: not checked"),
          optional("aiCpusUncut", &ChipDoc::ai_cpus_uncut, int64_range(0, kAmountMax),
                   "before the first cut; left out: as aiCpus"),
          optional("memory", &ChipDoc::memory, bytes_text(1),
                   "to set aside for slices; left out: not checked"),
          optional("media", &ChipDoc::media, object(media_table()),
                   "engines that are left out are not checked"),
          optional("slicesMax", &ChipDoc::slices_max, int32_range(1, kSlicesPerChipMax), "slices at once"),
          optional("vgroups", &ChipDoc::vgroups, int32_range(0, kSlicesPerChipMax), "0: none"),
          optional("needsProbe", &ChipDoc::needs_probe, boolean(), "only if the device agrees"),
          optional("notCut", &ChipDoc::not_cut, text(kNotCutLengthMax),
                   "why none is cut for jobs; left out: they are"),
          required("templates", &ChipDoc::templates, list(object(template_table()), kTemplatesMax),
                   "of one size: the one to give first stands first"),
      },
      nullptr};
  return table;
}

ChipAmounts amounts_of(const MediaDoc& media, std::int64_t absent) {
  ChipAmounts amounts{};
  for (std::size_t i = 0; i < kChipResourceCount; ++i) amounts[i] = media.units[i].value_or(absent);
  return amounts;
}

MediaDoc media_of(const ChipAmounts& amounts, std::int64_t absent) {
  MediaDoc media;
  for (std::size_t i = index_of(ChipResource::kVpc); i < kChipResourceCount; ++i) {
    if (amounts[i] != absent) media.units[i] = amounts[i];
  }
  return media;
}

ChipModel to_model(const ChipDoc& doc) {
  ChipModel chip;
  chip.name = doc.name;
  chip.match = doc.match;
  chip.has = amounts_of(doc.media, kUnlimited);
  chip.has[index_of(ChipResource::kAiCores)] = doc.ai_cores;
  chip.has[index_of(ChipResource::kAiCpus)] = doc.ai_cpus.value_or(kUnlimited);
  chip.has[index_of(ChipResource::kMemory)] = doc.memory.value_or(Bytes::unlimited()).count;
  chip.ai_cpus_uncut = doc.ai_cpus_uncut.value_or(doc.ai_cpus.value_or(0));
  chip.slices_max = doc.slices_max;
  chip.vgroups = doc.vgroups;
  chip.needs_probe = doc.needs_probe;
  chip.not_cut = doc.not_cut;
  for (const TemplateDoc& from : doc.templates) {
    SliceTemplate shape;
    shape.name = from.name;
    shape.memory = from.memory;
    shape.usable_memory = from.usable_memory.value_or(from.memory);
    shape.takes = amounts_of(from.media, 0);
    shape.takes[index_of(ChipResource::kAiCores)] = from.ai_cores;
    shape.takes[index_of(ChipResource::kAiCpus)] = from.ai_cpus;
    shape.takes[index_of(ChipResource::kMemory)] = from.device_memory.value_or(shape.usable_memory).count;
    shape.count_max = from.count_max;
    shape.owns_dvpp = from.owns_dvpp;
    shape.offered = from.offered;
    chip.templates.push_back(std::move(shape));
  }
  return chip;
}

ChipDoc to_doc(const ChipModel& chip) {
  ChipDoc doc;
  doc.name = chip.name;
  doc.match = chip.match;
  doc.ai_cores = chip.has[index_of(ChipResource::kAiCores)];
  if (const std::int64_t cpus = chip.has[index_of(ChipResource::kAiCpus)]; cpus != kUnlimited)
    doc.ai_cpus = cpus;
  doc.ai_cpus_uncut = chip.ai_cpus_uncut;
  if (const Bytes memory(chip.has[index_of(ChipResource::kMemory)]); !memory.is_unlimited())
    doc.memory = memory;
  doc.media = media_of(chip.has, kUnlimited);
  doc.slices_max = chip.slices_max;
  doc.vgroups = chip.vgroups;
  doc.needs_probe = chip.needs_probe;
  doc.not_cut = chip.not_cut;
  for (const SliceTemplate& shape : chip.templates) {
    TemplateDoc to;
    to.name = shape.name;
    to.ai_cores = shape.ai_cores();
    to.ai_cpus = shape.ai_cpus();
    to.memory = shape.memory;
    to.usable_memory = shape.usable_memory;
    to.device_memory = Bytes(shape.takes[index_of(ChipResource::kMemory)]);
    to.media = media_of(shape.takes, 0);
    to.count_max = shape.count_max;
    to.owns_dvpp = shape.owns_dvpp;
    to.offered = shape.offered;
    doc.templates.push_back(std::move(to));
  }
  return doc;
}

// "templates[2].usableMemory" below `node`; as deep as it is written there.
const Node& node_at(const Node& node, std::string_view path) {
  const Node* at = &node;
  while (!path.empty()) {
    const std::size_t end = path.find_first_of(".[");
    const Node* next = nullptr;
    if (path.front() == '[') {
      std::size_t index = 0;
      const std::size_t close = path.find(']');
      std::from_chars(path.data() + 1, path.data() + close, index);
      if (index < at->items.size()) next = &at->items[index];
      path.remove_prefix(close + 1);
    } else {
      next = at->find(path.substr(0, end));
      path.remove_prefix(end == std::string_view::npos ? path.size() : end);
    }
    if (path.starts_with('.')) path.remove_prefix(1);
    if (next == nullptr) return *at;
    at = next;
  }
  return *at;
}

void report(Reader& reader, const Node& node, const Error& error) {
  std::string_view field;
  for (const auto& [key, value] : error.details) {
    if (key == "field" && std::holds_alternative<std::string>(value)) field = std::get<std::string>(value);
  }
  reader.problem(node_at(node, field), error.reason, "makes no sense: " + error.message, error.hint);
}

struct ChipCatalogDoc {
  std::vector<ChipModel> chips;
};

const Table<ChipCatalogDoc>& chip_catalog_table() {
  static const Table<ChipCatalogDoc> table{
      "ChipCatalog",
      "Chips in front of the built-in ones.",
      {constant<ChipCatalogDoc>("apiVersion", "tangram.dev/v1"),
       constant<ChipCatalogDoc>("kind", "ChipCatalog"),
       required("chips", &ChipCatalogDoc::chips, list(chip_codec(), kOperatorChipsMax), "chip models")},
      nullptr};
  return table;
}

}  // namespace

Codec<ChipModel> chip_codec() {
  return {"Chip",
          [](Reader& reader, const Node& node, ChipModel& into) {
            ChipDoc doc;
            const bool was_ok = reader.ok();
            read_fields(reader, chip_doc_table(), node, doc);
            if (was_ok != reader.ok()) return;
            into = to_model(doc);
            if (const Result<void> checked = check_chip(into); !checked) {
              return report(reader, node, checked.error());
            }
            // That may take a tenth of a second for a chip.
            if (reader.is_full()) return;
            if (const Result<SliceTable> table = SliceTable::build(into); !table)
              report(reader, node, table.error());
          },
          [](const ChipModel& from) { return write_fields(chip_doc_table(), to_doc(from)); },
          schema_reference("Chip")};
}

std::vector<DocumentInfo> chip_documents() {
  return {chip_doc_table().info(), match_table().info(), template_table().info(), media_table().info()};
}

Result<std::vector<ChipModel>> read_chips(std::string_view yaml, std::string_view file) {
  const auto in_file = [&file](Error error) {
    error.message = std::string(file) + ": " + error.message;
    return fail(std::move(error));
  };
  const Result<std::vector<Node>> nodes = parse_yaml(yaml, kBodyBytesMax, 1);
  if (!nodes) return in_file(nodes.error());
  if (nodes->empty()) {
    return fail(Code::kInvalidArgument, "input.missing_field", std::string(file) + ": holds no document",
                "describe at least one chip, or take the file out of the configuration");
  }
  Result<ChipCatalogDoc> doc = read_whole(chip_catalog_table(), nodes->front(), Reading::kStrict);
  if (!doc) return in_file(doc.error());
  if (const auto catalog = Catalog::with(doc->chips); !catalog) return in_file(catalog.error());
  return std::move(doc->chips);
}

std::string write_chips(const std::vector<ChipModel>& chips) {
  return to_yaml_text(write_fields(chip_catalog_table(), ChipCatalogDoc{chips}));
}

}  // namespace tangram::wire
