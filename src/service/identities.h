// Who a uid or a token stands for: a picture of the durable state, made anew when a tenant or a token
// changes, so that whoever asks at each request waits for nobody.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/access.h"
#include "service/options.h"
#include "service/state.h"

namespace tangram::service {

// Never changes once made; may be read by any thread.
class Identities {
 public:
  Identities(const State& state, const Options& options);

  // Root and the daemon's own uid are operator; a uid that a tenant lists is that tenant. Others:
  // kUnauthenticated "caller.unknown".
  Result<Caller> of_uid(uid_t uid) const;

  // kUnauthenticated "token.invalid" (also for one that never was, so that nobody can ask which there are),
  // "token.expired", "token.revoked" (only to whoever has the secret).
  Result<Caller> of_token(std::string_view text, TimeMs now) const;

  const std::map<std::uint64_t, std::shared_ptr<const Token>>& tokens() const { return tokens_; }

 private:
  struct Named {
    TenantId tenant;
    std::string name;
  };

  uid_t own_uid_;
  std::map<std::uint32_t, Named> uids_;
  std::map<std::uint64_t, std::shared_ptr<const Token>> tokens_;
};

// The latest picture, and when each token was used last. Thread-safe; no call waits for more than a few
// instructions of another.
class IdentityCell {
 public:
  void replace(std::shared_ptr<const Identities> identities);
  std::shared_ptr<const Identities> get() const;

  void used(std::uint64_t token, TimeMs at);
  std::optional<TimeMs> last_used(std::uint64_t token) const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Identities> identities_;
  std::map<std::uint64_t, TimeMs> last_uses_;
};

}  // namespace tangram::service
