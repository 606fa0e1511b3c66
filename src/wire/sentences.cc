#include "wire/sentences.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wire/texts.h"
#include "wire/words.h"

namespace tangram::wire {
namespace {

using Values = std::vector<std::pair<std::string_view, std::string_view>>;  // place, what stands there

bool has_joint(std::string_view text) {
  return text.find(": ") != std::string_view::npos || text.find("; ") != std::string_view::npos;
}

// Only what ends a sentence may be made of several itself; what a stranger wrote stands in quotes.
bool may_stand_for(std::string_view place, std::string_view value) {
  static constexpr std::array<std::string_view, 5> kOpen{"about", "body", "error", "reason", "what"};
  const bool quoted = value.starts_with('"') && value.ends_with('"');
  return quoted || !has_joint(value) || std::ranges::find(kOpen, place) != kOpen.end();
}

// What stands in the places of the pattern, if the sentence is made after it. The shortest text that lets the
// rest match is taken for a place.
std::optional<Values> match(std::string_view pattern, std::string_view sentence) {
  Values values;
  while (true) {
    const std::size_t open = std::min(pattern.find('{'), pattern.size());
    if (!sentence.starts_with(pattern.substr(0, open))) return std::nullopt;
    sentence.remove_prefix(open);
    pattern.remove_prefix(open);
    if (pattern.empty()) return sentence.empty() ? std::optional(std::move(values)) : std::nullopt;
    const std::size_t close = pattern.find('}');
    const std::string_view name = pattern.substr(1, close - 1);
    pattern.remove_prefix(close + 1);
    const std::string_view next = pattern.substr(0, pattern.find('{'));
    // The last place reaches to the last occurrence of what closes the sentence.
    const bool closes = next.size() == pattern.size();
    const std::size_t end = next.empty() ? sentence.size()
                            : closes     ? sentence.rfind(next)
                                         : sentence.find(next);
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    if (!may_stand_for(name, sentence.substr(0, end))) return std::nullopt;
    values.emplace_back(name, sentence.substr(0, end));
    sentence.remove_prefix(end);
  }
}

std::optional<std::string> translated_whole(std::string_view sentence);

// Part of a character that ASCII does not have. In a Chinese text those are Chinese.
bool is_chinese(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

// A name, or a quoted one.
bool is_choice(std::string_view word) {
  const bool quoted = word.size() > 1 && word.starts_with('"') && word.ends_with('"');
  const std::string_view inner = quoted ? word.substr(1, word.size() - 2) : word;
  return !inner.empty() && inner.find_first_of(" \"") == std::string_view::npos;
}

// "high, normal or low": names, one of which is meant.
std::optional<std::string> translated_choice(std::string_view value) {
  constexpr std::string_view kOr = " or ";
  const std::size_t last = value.rfind(kOr);
  if (last == std::string_view::npos || !is_choice(value.substr(last + kOr.size()))) return std::nullopt;
  std::string text;
  std::string_view rest = value.substr(0, last);
  while (true) {
    const std::size_t comma = std::min(rest.find(", "), rest.size());
    if (!is_choice(rest.substr(0, comma))) return std::nullopt;
    text.append(text.empty() ? "" : "、").append(rest.substr(0, comma));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 2);
  }
  return text.append(" 或 ").append(value.substr(last + kOr.size()));
}

// A value may be a phrase itself: "a list", "a whole number from 1 to 8". Names have no spaces, and what a
// stranger wrote stands in quotes.
std::string translated_value(std::string_view value) {
  const bool is_phrase = value.find(' ') != std::string_view::npos;
  auto phrase = is_phrase ? translated_whole(value) : std::nullopt;
  if (is_phrase && !phrase) phrase = translated_choice(value);
  return phrase.value_or(std::string(value));
}

// What stands for a state of the model is one word, and looks like a name.
std::string translated_outcome(std::string_view value) {
  static constexpr std::array kOutcomes{Outcome::kSucceeded,  Outcome::kFailed,     Outcome::kTimedOut,
                                        Outcome::kCancelled,  Outcome::kNotStarted, Outcome::kLost,
                                        Outcome::kDeviceLost, Outcome::kRefused};
  for (const Outcome outcome : kOutcomes) {
    if (to_string(outcome) == value) return std::string(word(outcome, Language::kChinese));
  }
  return std::string(value);
}

// Chinese has a space beside names and numbers, and none between its own characters.
void append(std::string& text, std::string_view more) {
  const bool surplus = text.ends_with(' ') && text.size() > 1 && is_chinese(text[text.size() - 2]);
  if (surplus && !more.empty() && is_chinese(more.front())) text.pop_back();
  const bool follows = more.size() > 1 && more.front() == ' ' && is_chinese(more[1]);
  if (follows && !text.empty() && is_chinese(text.back())) more.remove_prefix(1);
  text += more;
}

std::string filled(std::string_view pattern, const Values& values) {
  std::string text;
  while (true) {
    const std::size_t open = std::min(pattern.find('{'), pattern.size());
    append(text, pattern.substr(0, open));
    pattern.remove_prefix(open);
    if (pattern.empty()) return text;
    const std::size_t close = pattern.find('}');
    const std::string_view name = pattern.substr(1, close - 1);
    for (const auto& [place, value] : values) {
      if (place == name)
        append(text, place == "outcome" ? translated_outcome(value) : translated_value(value));
    }
    pattern.remove_prefix(close + 1);
  }
}

std::size_t fixed_length(std::string_view pattern, const Values& values) {
  std::size_t length = pattern.size();
  for (const auto& [place, value] : values) length -= place.size() + 2;
  return length;
}

struct Match {
  const Text* text = nullptr;
  Values values;
  std::size_t fixed = 0;  // letters outside of places
};

// Of several patterns the one with the fewest letters in its places is meant.
void match_best(std::span<const Text> texts, std::string_view sentence, Match& best) {
  for (const Text& text : texts) {
    const std::string_view pattern = text.in(Language::kEnglish);
    auto values = match(pattern, sentence);
    if (!values || fixed_length(pattern, *values) <= best.fixed) continue;
    best = {&text, {}, fixed_length(pattern, *values)};
    best.values = std::move(*values);
  }
}

std::optional<std::string> translated_whole(std::string_view sentence) {
  Match best;
  match_best(sentences(), sentence, best);
  match_best(system_sentences(), sentence, best);
  if (best.text == nullptr) return std::nullopt;
  return filled(best.text->in(Language::kChinese), best.values);
}

// Whether anything in the text is Chinese already: an answer of the daemon, in the language that was asked
// for.
bool has_chinese(std::string_view text) {
  // The blocks of CJK ideographs begin with the bytes E4 to E9 in UTF-8.
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xE4 && byte <= 0xE9;
  });
}

// A sentence cut at its joints.
struct Part {
  std::string_view text;   // from the beginning of the part
  std::size_t length = 0;  // to its own end
  std::string_view joint;  // behind it, in Chinese; empty: the last part
};

std::vector<Part> parts_of(std::string_view sentence) {
  constexpr std::size_t kPartsMax = 16;  // a stranger's text may be full of what looks like joints
  std::vector<Part> parts;
  while (true) {
    const std::size_t colon = sentence.find(": ");
    const std::size_t semicolon = sentence.find("; ");
    const std::size_t end = std::min({colon, semicolon, sentence.size()});
    if (end == sentence.size() || parts.size() + 1 == kPartsMax) {
      parts.push_back({sentence, sentence.size(), {}});
      return parts;
    }
    parts.push_back({sentence, end, colon < semicolon ? "：" : "；"});
    sentence.remove_prefix(end + 2);
  }
}

// From the left, the longest run of parts that is known together; parts that are not stay as they are.
std::optional<std::string> translated_parts(std::string_view sentence) {
  constexpr std::size_t kSentenceBytesMax = 4096;
  if (sentence.size() > kSentenceBytesMax) return std::nullopt;
  const std::vector<Part> parts = parts_of(sentence);
  std::string text;
  bool known = false;
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t last = parts.size();
    std::optional<std::string> whole;
    while (!whole && last-- > first) {
      const char* end = parts[last].text.data() + parts[last].length;
      const char* begin = parts[first].text.data();
      whole = translated_whole({begin, static_cast<std::size_t>(end - begin)});
    }
    known = known || whole;
    if (!whole) last = first;
    text += whole.value_or(std::string(parts[first].text.substr(0, parts[first].length)));
    text += parts[last].joint;
    first = last + 1;
  }
  return known ? std::optional(std::move(text)) : std::nullopt;
}

std::string with_general_sentence(const std::string& reason, const std::string& message) {
  const ReasonText* text = find_reason(reason);
  return text == nullptr ? message : std::string(text->chinese) + "（" + message + "）";
}

}  // namespace

std::string translated(std::string_view sentence, Language language) {
  if (language == Language::kEnglish || has_chinese(sentence)) return std::string(sentence);
  return translated_parts(sentence).value_or(std::string(sentence));
}

Error localised(Error error, Language language) {
  if (language == Language::kEnglish || has_chinese(error.message)) return error;
  if (auto known = translated_parts(error.message)) {
    error.message = std::move(*known);
  } else if (!error.cause) {
    // With a cause it only says where, and the cause says what.
    error.message = with_general_sentence(error.reason, error.message);
  }
  error.hint = translated(error.hint, language);
  if (error.cause) error.cause = std::make_shared<const Error>(localised(*error.cause, language));
  return error;
}

}  // namespace tangram::wire
