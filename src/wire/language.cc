#include "wire/language.h"

#include <algorithm>

#include "base/invariant.h"

namespace tangram::wire {
namespace {

constexpr int kQualityMost = 1000;  // q=1.000

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// "q=0.8" as 800; what is not well-formed does not weigh.
int quality_of(std::string_view parameter) {
  if (parameter.size() < 3 || (parameter[0] != 'q' && parameter[0] != 'Q') || parameter[1] != '=') return 0;
  const std::string_view number = parameter.substr(2);
  if (number[0] == '1') return kQualityMost;
  if (number[0] != '0') return 0;
  int quality = 0;
  int weight = kQualityMost / 10;
  for (std::size_t i = 2; i < number.size() && weight > 0; ++i, weight /= 10) {
    if (number[1] != '.' || number[i] < '0' || number[i] > '9') return 0;
    quality += (number[i] - '0') * weight;
  }
  return quality;
}

// Whether a range like "zh-Hans" means the language of that tag.
bool means(std::string_view range, std::string_view tag) {
  if (range.size() < tag.size()) return false;
  for (std::size_t i = 0; i < tag.size(); ++i) {
    const char lower =
        range[i] >= 'A' && range[i] <= 'Z' ? static_cast<char>(range[i] - 'A' + 'a') : range[i];
    if (lower != tag[i]) return false;
  }
  return range.size() == tag.size() || range[tag.size()] == '-';
}

}  // namespace

Language language_of(std::string_view locale) {
  return locale.starts_with("zh") ? Language::kChinese : Language::kEnglish;
}

Language accepted_language(std::string_view header) {
  int english = 0;
  int chinese = 0;
  while (!header.empty()) {
    const std::string_view item = header.substr(0, header.find(','));
    header.remove_prefix(std::min(item.size() + 1, header.size()));
    const std::size_t semicolon = item.find(';');
    const std::string_view range = trimmed(item.substr(0, semicolon));
    const int quality =
        semicolon == std::string_view::npos ? kQualityMost : quality_of(trimmed(item.substr(semicolon + 1)));
    if (means(range, language_tag(Language::kEnglish))) english = std::max(english, quality);
    if (means(range, language_tag(Language::kChinese))) chinese = std::max(chinese, quality);
  }
  return chinese > english ? Language::kChinese : Language::kEnglish;
}

std::string_view language_tag(Language language) {
  return language == Language::kChinese ? "zh" : "en";
}

std::string fill(std::string_view text, Places places) {
  std::string filled;
  while (true) {
    const std::size_t open = text.find('{');
    filled += text.substr(0, open);
    if (open == std::string_view::npos) return filled;
    const std::size_t close = text.find('}', open);
    TG_ASSERT(close != std::string_view::npos, "a place in a text has no end");
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const auto* place =
        std::find_if(places.begin(), places.end(), [&](const Place& p) { return p.name == name; });
    TG_ASSERT(place != places.end(), "a place in a text has no value");
    filled += place->value;
    text.remove_prefix(close + 1);
  }
}

}  // namespace tangram::wire
