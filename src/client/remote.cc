#include "client/remote.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace tangram::client {
namespace {

constexpr std::size_t kTokenBytesMax = 4'096;

struct Server {
  std::string host;
  std::uint16_t port = 0;
  bool tls = true;
};

tl::unexpected<Error> invalid_server(const std::string& name, const std::string& text,
                                     const std::string& why) {
  return fail(Code::kInvalidArgument, "client.server.invalid", name + " '" + text + "': " + why,
              "write https://HOST:PORT; plain http:// is for 127.0.0.1 only");
}

Result<Server> parse_server(const std::string& name, const std::string& text) {
  Server server;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    server.port = 443;
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    server.port = 80;
    server.tls = false;
  } else {
    return invalid_server(name, text, "it does not begin with https://");
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#@") != std::string_view::npos) {
    return invalid_server(name, text, "only a host and a port belong here");
  }
  std::size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {
    const std::size_t bracket = rest.find(']');
    if (bracket == std::string_view::npos) return invalid_server(name, text, "the ']' is missing");
    server.host = rest.substr(1, bracket - 1);
    colon = bracket + 1 < rest.size() ? bracket + 1 : std::string_view::npos;
  } else {
    server.host = rest.substr(0, colon);
  }
  if (server.host.empty()) return invalid_server(name, text, "the host is missing");
  if (colon == std::string_view::npos) return server;
  const std::string_view port = rest.substr(colon + 1);
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), server.port);
  if (rest[colon] != ':' || problem != std::errc{} || end != port.data() + port.size() || server.port == 0) {
    return invalid_server(name, text, "'" + std::string(port) + "' is no port");
  }
  return server;
}

Result<std::string> check_token(std::string text, const std::string& where) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!text.empty() && printable && text.size() <= kTokenBytesMax) return text;
  return fail(Code::kInvalidArgument, "client.token.invalid",
              where + (text.empty() ? " is empty" : " holds more than a token: spaces or line breaks"),
              "it must hold what `tangram token create` printed, and nothing else");
}

tl::unexpected<Error> unreadable(const std::string& path, int number) {
  return fail(Code::kInvalidArgument, "client.token_file.unreadable",
              "cannot read the token file " + path + ": " + errno_text(number),
              number == ENOENT ? "ask the operator for a token: tangram token create NAME --out " + path
                               : "it must be a file of your own that you may read");
}

}  // namespace

Result<std::string> read_token_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return unreadable(path, errno);
  struct stat info{};
  std::array<char, kTokenBytesMax + 1> bytes{};
  const bool known = fstat(fd, &info) == 0;
  const ssize_t count = known && S_ISREG(info.st_mode) ? read(fd, bytes.data(), bytes.size()) : -1;
  const int number = known && !S_ISREG(info.st_mode) ? EINVAL : errno;
  close(fd);
  if (count < 0) return unreadable(path, number);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(Code::kInvalidArgument, "client.token_file.exposed",
                "others than you may use the token file " + path,
                "chmod 600 " + path + "; if others have read it: tangram token rotate");
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return fail(Code::kInvalidArgument, "client.token_file.exposed",
                "the token file " + path + " belongs to uid " + std::to_string(info.st_uid) + ", not to you",
                "use a file of your own");
  }
  return check_token(std::string(bytes.data(), static_cast<std::size_t>(count)), "the token file " + path);
}

RemoteEnvironment remote_environment() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  return {variable("TANGRAM_SOCKET"), variable("TANGRAM_SERVER"), variable("TANGRAM_TOKEN"),
          variable("TANGRAM_CA_FILE")};
}

Result<ApiClientOptions> resolve_remote(const RemoteArguments& arguments,
                                        const RemoteEnvironment& environment) {
  ApiClientOptions options;
  options.names = arguments.names;
  const std::string token_file = arguments.token_file;
  if (!token_file.empty()) {
    TG_TRY(options.token, read_token_file(token_file));
  } else if (!environment.token.empty()) {
    TG_TRY(options.token, check_token(environment.token, "TANGRAM_TOKEN"));
  }
  options.ca_file = arguments.ca_file.empty() ? environment.ca_file : arguments.ca_file;
  const bool server_wins = !arguments.server.empty() || arguments.socket_path.empty();
  const std::string server = arguments.server.empty() ? environment.server : arguments.server;
  if (server_wins && !server.empty()) {
    const std::string name = arguments.server.empty() ? "TANGRAM_SERVER" : arguments.names.server;
    TG_TRY(const Server parsed, parse_server(name, server));
    options.host = parsed.host;
    options.port = parsed.port;
    options.tls = parsed.tls;
  } else if (!arguments.socket_path.empty()) {
    options.socket_path = arguments.socket_path;
  } else if (!environment.socket_path.empty()) {
    options.socket_path = environment.socket_path;
  }
  return options;
}

}  // namespace tangram::client
