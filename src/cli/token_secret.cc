#include "cli/token_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "cli/render.h"
#include "wire/cli_texts.h"
#include "wire/schema.h"

namespace tangram::cli {
namespace {

namespace say = wire::say;

Error unwritable(const std::string& path, int number) {
  return {Code::kInvalidArgument,
          "cli.file.unwritable",
          "cannot write the token to " + path + ": " + errno_text(number),
          number == EEXIST ? "name a file that is not there yet; tangram token rotate replaces one"
                           : "name a file in a directory that you may write to",
          {},
          nullptr};
}

// A file that only its owner may read.
class SecretFile {
 public:
  // `replace`: the file takes the place of one that is there when it is complete.
  static Result<SecretFile> make(const std::string& path, bool replace) {
    const std::string making = replace ? path + ".new" : path;
    if (replace) unlink(making.c_str());
    const int fd = open(making.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) return fail(unwritable(path, errno));
    return SecretFile(path, making, fd);
  }
  ~SecretFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(making_.c_str());
  }
  SecretFile(SecretFile&& other) noexcept
      : path_(std::move(other.path_)), making_(std::move(other.making_)), fd_(std::exchange(other.fd_, -1)) {}
  SecretFile& operator=(SecretFile&&) = delete;

  Result<void> keep(const std::string& secret) {
    const std::string line = secret + "\n";
    errno = 0;
    const bool written = write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (!written || fsync(fd_) != 0) return fail(unwritable(path_, errno == 0 ? ENOSPC : errno));
    if (making_ != path_ && std::rename(making_.c_str(), path_.c_str()) != 0) {
      return fail(unwritable(path_, errno));
    }
    close(std::exchange(fd_, -1));
    return {};
  }

 private:
  SecretFile(std::string path, std::string making, int fd)
      : path_(std::move(path)), making_(std::move(making)), fd_(fd) {}

  std::string path_;
  std::string making_;
  int fd_;
};

int show(Session& session, const wire::TokenView& token) {
  session.say(say::kTokenShownOnce, {{"token", render_token(token, session.language())}});
  return session.emit(wire::write(token), [&](const Canvas&) { return token.secret + '\n'; });
}

int keep(Session& session, wire::TokenView token, SecretFile& file, const std::string& path) {
  if (const auto kept = file.keep(token.secret); !kept) {
    const int code = session.report(kept.error());
    session.say(say::kTokenSecretLost,
                {{"token", token.id}, {"command", "tangram token rotate " + token.id}});
    return code;
  }
  token.secret.clear();
  session.say(say::kTokenIsIn,
              {{"token", render_token(token, session.language())}, {"file", printable(path)}});
  return session.emit(wire::write(token), [&](const Canvas&) { return printable(token.id) + '\n'; });
}

}  // namespace

int hand_over_secret(Session& session, const std::string& path, bool replace,
                     const std::function<Result<wire::TokenView>()>& call) {
  if (path.empty()) {
    const Result<wire::TokenView> token = call();
    return token ? show(session, *token) : session.report(token.error());
  }
  Result<SecretFile> file = SecretFile::make(path, replace);
  if (!file) return session.report(file.error());
  Result<wire::TokenView> token = call();
  return token ? keep(session, std::move(*token), *file, path) : session.report(token.error());
}

}  // namespace tangram::cli
