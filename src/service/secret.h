// Texts that prove something because nobody can guess them, and what is kept of them.
#pragma once

#include <string>
#include <string_view>

namespace tangram::service {

// The prefix, and 256 bits of the system's random numbers in hexadecimal. The prefix tells a reader, and a
// program that looks for leaked secrets, what it is.
std::string make_secret(std::string_view prefix);

// What may be written down: SHA-256 in hexadecimal. No salt and no slow hash, since nobody can try 2^256
// secrets.
std::string hash_of_secret(std::string_view secret);

// Takes the same time wherever the two differ.
bool is_secret_of(std::string_view secret, std::string_view hash);

}  // namespace tangram::service
