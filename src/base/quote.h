// Text that strangers chose, made fit to stand in a message: one line of UTF-8, of bounded length. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tangram {

// Length of the valid UTF-8 character at the front, 0 if there is none.
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

// At most `length_max` bytes from the front, no character of UTF-8 cut apart.
std::string_view cut_text(std::string_view text, std::size_t length_max = 64);

// As JSON writes it: in double quotes, control characters escaped, invalid UTF-8 as U+FFFD.
void append_quoted(std::string& out, std::string_view text);

// The same as a text of its own, cut after about `length_max` bytes: for messages.
std::string quoted(std::string_view text, std::size_t length_max = 64);

// What a library or another program said, for messages: as quoted(), but without the quotes.
std::string printable(std::string_view text, std::size_t length_max = 1024);

}  // namespace tangram
