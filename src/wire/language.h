// The languages in which Tangram speaks, and a text in each of them. Thread-safe: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tangram::wire {

enum class Language : std::uint8_t { kEnglish, kChinese };

// By locale: "zh", "zh_CN.UTF-8", "zh-Hans" -> Chinese; everything else English.
Language language_of(std::string_view locale);

// By an Accept-Language header (RFC 9110 §12.5.4): the one of our languages that the caller likes best;
// English when it names none of them, or both alike. A header that is not well-formed counts as far as it is.
Language accepted_language(std::string_view header);

// "en", "zh": for Accept-Language and Content-Language.
std::string_view language_tag(Language language);

// One text in every language. {name} stands for a value. A text that lacks a language, or whose languages
// have different places for values, does not compile.
class Text {
 public:
  // Not explicit: texts stand in tables.
  consteval Text(const char* english, const char* chinese) : english_(english), chinese_(chinese) {
    if (english_.empty() || chinese_.empty()) throw "a text lacks a language";
    if (!has_places_of(english_, chinese_) || !has_places_of(chinese_, english_))
      throw "a text's languages have different places for values";
  }

  constexpr std::string_view in(Language language) const {
    return language == Language::kChinese ? chinese_ : english_;
  }

 private:
  // Whether every {name} of `text` is in `other`.
  static constexpr bool has_places_of(std::string_view text, std::string_view other) {
    for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
      const std::size_t close = text.find('}', open);
      if (close == std::string_view::npos) return false;
      if (other.find(text.substr(open, close - open + 1)) == std::string_view::npos) return false;
    }
    return true;
  }

  std::string_view english_;
  std::string_view chinese_;
};

// The value for one {name}. Refers to its arguments.
struct Place {
  std::string_view name;
  std::string_view value;
};
using Places = std::initializer_list<Place>;

// The text with its places filled. A place without a value is a bug; values are not looked into.
std::string fill(std::string_view text, Places places);
inline std::string fill(const Text& text, Language language, Places places) {
  return fill(text.in(language), places);
}

}  // namespace tangram::wire
