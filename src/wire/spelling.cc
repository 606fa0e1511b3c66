// Spelling of single values, as the command line needs them too.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>

#include "base/quote.h"
#include "wire/codecs.h"
#include "wire/schema.h"

namespace tangram::wire {
namespace {

constexpr std::int64_t kCpusMilliMax = 1'000'000'000;

tl::unexpected<Error> malformed(std::string_view text, std::string_view field, const std::string& wanted,
                                std::string hint = {}) {
  return fail(Code::kInvalidArgument, "input.bad_value",
              std::string(field) + " must be " + wanted + ", not " + quoted(text), std::move(hint),
              {{"field", std::string(field)}, {"value", std::string(cut_text(text))}});
}

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_label_character(char c) {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') ||
         std::string_view("._-/").find(c) != std::string_view::npos;
}

// Through the codec of the word, so that there is one list of the allowed ones.
template <class E>
Result<E> parse_word(const Codec<E>& codec, std::string_view text, std::string_view field) {
  Reader reader(Reading::kStrict);
  reader.enter_field(field);
  E value{};
  codec.read(reader, Node::of(std::string(text)), value);
  if (!reader.ok()) return fail(reader.to_error());
  return value;
}

// Exactly `count` digits from the front, which are taken off.
bool take_digits(std::string_view& text, std::size_t count, int& into) {
  if (text.size() < count) return false;
  const auto [end, status] = std::from_chars(text.data(), text.data() + count, into);
  if (status != std::errc() || end != text.data() + count || text.front() == '-') return false;
  text.remove_prefix(count);
  return true;
}

bool take_character(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string_view spell_job_kind(JobKind kind) {
  switch (kind) {
    case JobKind::kProgram:
      return "program";
    case JobKind::kLease:
      return "lease";
  }
  return "program";
}

Result<void> check_name(std::string_view name, std::string_view field) {
  const bool good =
      !name.empty() && name.size() <= kNameLengthMax && is_lower_or_digit(name.front()) &&
      is_lower_or_digit(name.back()) &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
  if (good) return {};
  return malformed(name, field, "lower-case letters, digits and inner '-', at most 63 characters");
}

Result<void> check_label(std::string_view key, std::string_view value, std::string_view field) {
  const auto is_good = [](std::string_view text) {
    return text.size() <= kNameLengthMax && std::all_of(text.begin(), text.end(), is_label_character);
  };
  constexpr std::string_view kRule = "at most 63 characters of A-Z a-z 0-9 . _ - /";
  if (key.empty() || !is_good(key))
    return malformed(key, field, "a label's key: 1 and " + std::string(kRule));
  if (!is_good(value)) return malformed(value, field, "a label's value: " + std::string(kRule));
  return {};
}

Result<Restart> parse_restart(std::string_view text, std::string_view field) {
  constexpr std::string_view kOnFailure = "on-failure:";
  constexpr std::int32_t kRestartsMax = 1'000;
  if (text == "never") return Restart{};
  if (text == "on-lost") return Restart{RestartPolicy::kOnLost, 0};
  if (text.starts_with(kOnFailure)) {
    const std::string_view number = text.substr(kOnFailure.size());
    Restart restart{RestartPolicy::kOnFailure, 0};
    const auto [end, status] =
        std::from_chars(number.data(), number.data() + number.size(), restart.restarts_max);
    const bool whole = status == std::errc() && end == number.data() + number.size();
    if (whole && restart.restarts_max >= 0 && restart.restarts_max <= kRestartsMax && number != "-0")
      return restart;
  }
  return malformed(text, field, "never, on-lost or on-failure:N with N from 0 to 1000");
}

std::string format_restart(RestartPolicy policy, std::int32_t restarts_max) {
  std::string text(to_string(policy));
  if (policy == RestartPolicy::kOnFailure) text += ':' + std::to_string(restarts_max);
  return text;
}

Result<Priority> parse_priority(std::string_view text, std::string_view field) {
  return parse_word(priority_word(), text, field);
}

Result<JobState> parse_job_state(std::string_view text, std::string_view field) {
  return parse_word(job_state_word(), text, field);
}

Result<std::int64_t> parse_cpus(std::string_view text, std::string_view field) {
  const auto wrong = [&] {
    return malformed(text, field, "a number of cores from 0.001 to 1000000, in steps of 0.001");
  };
  std::string_view rest = text;
  std::int64_t cores = 0;
  const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), cores);
  if (status != std::errc() || rest.front() == '-' || cores > kCpusMilliMax / 1'000) return wrong();
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  std::int64_t milli = cores * 1'000;
  if (!rest.empty()) {
    if (!take_character(rest, '.') || rest.empty() || rest.size() > 3) return wrong();
    std::int64_t step = 100;
    for (const char c : rest) {
      if (c < '0' || c > '9') return wrong();
      milli += (c - '0') * step;
      step /= 10;
    }
  }
  if (milli < 1 || milli > kCpusMilliMax) return wrong();
  return milli;
}

std::string format_cpus(std::int64_t cpu_milli) {
  std::string text = std::to_string(cpu_milli / 1'000);
  std::int64_t rest = cpu_milli % 1'000;
  if (rest == 0) return text;
  text += '.';
  for (std::int64_t step = 100; rest > 0; step /= 10) {
    text += static_cast<char>('0' + rest / step);
    rest %= step;
  }
  return text;
}

std::string format_time(TimeMs time) {
  using std::chrono::days;
  using std::chrono::milliseconds;
  constexpr std::int64_t kLastMs = 253'402'300'799'999;  // the end of the year 9999
  const milliseconds since(std::clamp<std::int64_t>(time.value, 0, kLastMs));
  const auto day = std::chrono::floor<days>(std::chrono::sys_time<milliseconds>(since));
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(since - day.time_since_epoch());
  char text[32];
  const int length =
      std::snprintf(text, sizeof(text), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                    static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return std::string(text, static_cast<std::size_t>(length));
}

Result<TimeMs> parse_time(std::string_view text, std::string_view field) {
  std::string_view rest = text;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, milli = 0;
  bool good = take_digits(rest, 4, year) && take_character(rest, '-') && take_digits(rest, 2, month) &&
              take_character(rest, '-') && take_digits(rest, 2, day) && take_character(rest, 'T') &&
              take_digits(rest, 2, hour) && take_character(rest, ':') && take_digits(rest, 2, minute) &&
              take_character(rest, ':') && take_digits(rest, 2, second);
  if (good && take_character(rest, '.')) good = take_digits(rest, 3, milli);
  good = good && rest == "Z" && year >= 1970 && hour < 24 && minute < 60 && second < 60;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!good || !date.ok()) return malformed(text, field, "a time such as \"2026-01-31T08:00:00.000Z\"");
  const auto since = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                     std::chrono::minutes(minute) + std::chrono::seconds(second) +
                     std::chrono::milliseconds(milli);
  return TimeMs(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

}  // namespace tangram::wire
