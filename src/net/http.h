// The plain values of HTTP: what a handler is given and what it answers. No library type appears here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tangram::net {

// kOther: any that a server here never offers.
enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions, kOther };

std::string_view to_string(Method method);

// As HTTP compares names of fields, codings and schemes: letters of ASCII without regard to case.
bool same_ignoring_case(std::string_view a, std::string_view b);

// Without what would end the line.
bool safe_in_header(std::string_view text);

// Header fields in the order of arrival; names compare without regard to case.
class Headers {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value);
  // Takes the place of every field of that name.
  void set(std::string name, std::string value);
  void remove(std::string_view name);
  // The first field of that name.
  std::optional<std::string_view> get(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<Field> fields_;
};

// What an Authorization header of the scheme Bearer carries (RFC 6750, 2.1), whatever it is. Empty: nothing,
// or another scheme, whose word may be a secret of some other service. None: no such header.
std::optional<std::string> bearer_token(const Headers& headers);

// The values of the parameters of that name behind the first ';' of a field (RFC 9110, 5.6.6), without
// quotes: of `application/json; charset="utf-8"` and "charset", {"utf-8"}.
std::vector<std::string> field_parameters(std::string_view field, std::string_view name);

// The decoded parameters behind the '?', in order; a name may occur more than once.
class Query {
 public:
  struct Parameter {
    std::string name;
    std::string value;
  };

  Query() = default;
  Query(std::initializer_list<Parameter> parameters) : parameters_(parameters) {}

  // "a=1&b=x%20y+z"; "+" is a space. Fails with "http.query.invalid" on a broken escape or a NUL.
  static Result<Query> parse(std::string_view text);

  void add(std::string name, std::string value);
  std::optional<std::string_view> get(std::string_view name) const;  // the first of that name
  std::vector<std::string_view> all(std::string_view name) const;
  std::string encode() const;  // without the '?'

  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  bool empty() const { return parameters_.empty(); }

 private:
  std::vector<Parameter> parameters_;
};

// Escapes everything but the unreserved characters of RFC 3986, so that any text can be one segment of a
// path.
std::string encode_segment(std::string_view text);

// Splits a path as sent ("/v1/tenants/a%2Fb") into its decoded segments ({"v1", "tenants", "a/b"}); "/" has
// none, and an empty segment stays ("/v1/" is {"v1", ""}). "." and ".." are not interpreted. Fails with
// "http.path.invalid".
Result<std::vector<std::string>> split_path(std::string_view path);

// What a target asks for, as "/v1/jobs?all=true": of "http://HOST/v1/jobs?all=true", which clients send to
// proxies and every server must read (RFC 9112, 3.2.2), without scheme and authority; of anything else all of
// it. Fails with "http.path.invalid" when the authority is empty or names a user.
Result<std::string> origin_form(std::string_view target);

// Who is at the other end. Filled from the kernel (SO_PEERCRED, getpeername), never from what the peer says.
struct Peer {
  struct Process {
    uid_t uid = 0;
    gid_t gid = 0;
    pid_t pid = 0;
  };
  std::optional<Process> process;  // Unix socket: the process that connected
  std::string address;             // TCP: "192.0.2.7:40112"; empty on a Unix socket
  // TLS: the common name of the client's certificate, when the server asks for one and its authority vouches
  // for it (net/tls.h); else empty.
  std::string certificate_name{};

  std::string host() const;  // the address without the port
};

struct Request {
  Method method = Method::kGet;
  std::string path = "/";             // as sent, without the query
  std::vector<std::string> segments;  // the path split and decoded, for routing
  Query query;
  Headers headers;
  std::string body;
  Peer peer;
  std::shared_ptr<const void> identity;  // what the server's gate knows of the caller; see net/gate.h
};

struct Response {
  int status = 200;
  Headers headers;  // Content-Length, Transfer-Encoding and Connection belong to the server
  std::string body;
};

}  // namespace tangram::net
