// What `apply` takes, as YAML and as JSON, and catalogues of chips: all of it read, written and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "catalog/catalog.h"
#include "input.h"
#include "require.h"
#include "wire/chip_catalog.h"
#include "wire/schema.h"

namespace tangram::fuzz {
namespace {

void check_documents(std::string_view text, wire::Format format) {
  const auto documents = wire::read_documents(text, format);
  if (!documents) return require_presentable(documents.error());
  require(!documents->empty(), "a stream that is taken has a document");
  for (const wire::Document& document : *documents) {
    const std::string json = wire::write(document);
    const auto again = wire::read_documents(json, wire::Format::kJson);
    require(again && again->size() == 1 && again->front().value == document.value, "JSON says the same");
    const auto yaml = wire::to_yaml(json);
    require(yaml.has_value(), "JSON can be written as YAML");
    const auto from_yaml = wire::read_documents(*yaml, wire::Format::kYaml);
    require(from_yaml && from_yaml->size() == 1 && from_yaml->front().value == document.value,
            "YAML says the same");
  }
}

void check_chips(std::string_view text) {
  const auto chips = wire::read_chips(text, "chips.yaml");
  if (!chips) return require_presentable(chips.error());
  const auto again = wire::read_chips(wire::write_chips(*chips), "chips.yaml");
  require(again && *again == *chips, "a catalogue that is written says the same");
}

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = tangram::fuzz::Input(data, size).rest();
  tangram::fuzz::check_documents(text, tangram::wire::Format::kYaml);
  tangram::fuzz::check_documents(text, tangram::wire::Format::kJson);
  tangram::fuzz::check_chips(text);
  return 0;
}
