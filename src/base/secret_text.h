// How this program's secrets are recognised wherever they stand, so that no log keeps one.
#pragma once

#include <string>
#include <string_view>

namespace tangram {

// What each secret begins with. A new kind belongs into kSecretPrefixes as well.
inline constexpr std::string_view kTokenPrefix = "tgt_";       // bearer tokens
inline constexpr std::string_view kLeaseTokenPrefix = "tgl_";  // whoever holds a lease
inline constexpr std::string_view kSecretPrefixes[] = {kTokenPrefix, kLeaseTokenPrefix};

// The path of a request as a log may keep it: from the first secret on it says "(token)". A secret is found
// in either case, and behind percent-escapes, however often those were escaped themselves; a path without one
// is left as it was written.
std::string without_secrets(std::string_view path);

}  // namespace tangram
