#include "require.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "base/log.h"
#include "base/quote.h"

namespace tangram::fuzz {
namespace {

constexpr std::size_t kTextBytesMax = 8192;

void require_line(std::string_view text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (is_utf8(text) && text.size() <= kTextBytesMax && std::none_of(text.begin(), text.end(), is_control))
    return;
  std::fprintf(stderr, "not fit to be shown (%zu bytes): %s\n", text.size(),
               quoted(text, kTextBytesMax).c_str());
  require(false, "a message is one line of bounded length");
}

}  // namespace

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", what);
  std::abort();
}

void require_presentable(const Error& error) {
  require(!error.reason.empty(), "an error has a reason");
  for (const Error* at = &error; at != nullptr; at = at->cause.get()) {
    require(!at->message.empty(), "an error has a message");
    require_line(at->message);
    require_line(at->hint);
  }
  for (const auto& [name, value] : error.details) {
    require_line(name);
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr)
      require(is_utf8(*text) && text->size() <= kTextBytesMax, "a detail is a bounded text");
  }
}

void be_quiet() {
  static const bool done = [] {
    log::start("fuzz", log::Level::kError);
    return true;
  }();
  (void)done;
}

}  // namespace tangram::fuzz
