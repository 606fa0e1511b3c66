// The words of a request that say who asks, and of what: each is read before anything is known of its sender.
// The first byte says which: see kWords.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "input.h"
#include "net/http.h"
#include "require.h"
#include "service/token_text.h"
#include "wire/event.h"
#include "wire/language.h"

namespace tangram::fuzz {
namespace {

void authorization(std::string_view text) {
  const auto word = net::bearer_token(net::Headers{{"Authorization", std::string(text)}});
  require(word.has_value(), "a header that is there is not taken for none");
  require(text.ends_with(*word) && !word->starts_with(' '), "a token is the end of its header");
  require(word->empty() || net::same_ignoring_case(text.substr(0, 7), "bearer "),
          "only a bearer has a token");
  const auto token = service::TokenText::parse(*word);
  if (!token) return;
  require(token->secret.size() == 64, "a secret has all its digits");
  const auto again = service::TokenText::parse(token->to_string());
  require(again && again->id == token->id && again->secret == token->secret,
          "a token that is written says the same");
}

void parameters(std::string_view text) {
  for (const char* name : {"charset", "q", ""}) {
    for (const std::string& value : net::field_parameters(text, name))
      require(value.size() < text.size(), "a value is shorter than its field");
  }
  const std::string front = "a/b; charset=\"utf-8\";" + std::string(text);
  require(net::field_parameters(front, "charset").front() == "utf-8",
          "what follows does not change what was said");
}

void cursor(std::string_view text) {
  const auto value = wire::parse_cursor(text, "after");
  if (!value) return require_presentable(value.error());
  const std::string written = wire::format_cursor(*value);
  require(wire::parse_cursor(written, "after") == *value, "a cursor that is written says the same");
  require(written.size() <= text.size(), "a cursor has no shorter spelling");
}

void path(std::string_view text) {
  const auto segments = net::split_path(text);
  if (!segments) return require_presentable(segments.error());
  std::string written;
  for (const std::string& segment : *segments) written += "/" + net::encode_segment(segment);
  const auto again = net::split_path(written.empty() ? "/" : written);
  require(again && *again == *segments, "a path that is written leads to the same place");
}

void query(std::string_view text) {
  const auto value = net::Query::parse(text);
  if (!value) return require_presentable(value.error());
  const auto again = net::Query::parse(value->encode());
  require(again && again->encode() == value->encode(), "a query that is written says the same");
}

void language(std::string_view text) {
  const std::string_view tag = wire::language_tag(wire::accepted_language(text));
  require(tag == "en" || tag == "zh", "there are two languages");
}

struct Word {
  char letter;
  void (*check)(std::string_view text);
};

constexpr std::array kWords = {
    Word{'a', authorization}, Word{'m', parameters}, Word{'c', cursor},
    Word{'p', path},          Word{'q', query},      Word{'l', language},
};

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tangram::fuzz::Input input(data, size);
  const char letter = static_cast<char>(input.byte());
  for (const auto& word : tangram::fuzz::kWords) {
    if (word.letter != letter) continue;
    word.check(input.rest());
    return 0;
  }
  return -1;
}
