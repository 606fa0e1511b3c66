// Reads a kubeconfig. Source of the fields: k8s.io/client-go tools/clientcmd/api/v1.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/quote.h"
#include "kube/api/config.h"
#include "net/base64.h"

namespace tangram::kube {
namespace {

// A reader of one file, for messages.
class Kubeconfig {
 public:
  Kubeconfig(std::string directory, std::string name)
      : directory_(std::move(directory)), name_(std::move(name)) {}

  Result<ClusterConfig> read(std::string_view text, std::string_view context) const {
    try {
      const YAML::Node root = YAML::Load(std::string(text));
      if (!root.IsMap()) return invalid("it is no mapping");
      return choose(root, context);
    } catch (const YAML::Exception& error) {
      return invalid(printable(error.what(), 200));
    }
  }

 private:
  tl::unexpected<Error> invalid(const std::string& why) const {
    return fail(Code::kInvalidArgument, "kube.config.invalid",
                "the kubeconfig " + name_ + " cannot be used: " + why,
                "`kubectl config view` shows what is in it");
  }

  tl::unexpected<Error> unsupported(const std::string& field, const std::string& instead) const {
    return fail(Code::kInvalidArgument, "kube.config.unsupported",
                "the kubeconfig " + name_ + " uses " + field + ", which is not supported", instead);
  }

  static std::string text_of(const YAML::Node& map, const char* key) {
    const YAML::Node value = map[key];
    return value && value.IsScalar() ? value.Scalar() : std::string();
  }

  // What `key` holds in the entry called `name` of a list: clusters, contexts or users.
  Result<YAML::Node> entry(const YAML::Node& root, const char* list, const char* key,
                           std::string_view name) const {
    const YAML::Node entries = root[list];
    if (entries && entries.IsSequence()) {
      for (const YAML::Node& one : entries) {
        if (!one.IsMap() || text_of(one, "name") != name) continue;
        YAML::Node value = one[key];
        if (value && value.IsMap()) return value;
        // An entry without content: kubectl writes `user: {}` or nothing at all for it.
        return YAML::Node(YAML::NodeType::Map);
      }
    }
    return invalid(std::string("there is no ") + key + " " + quoted(name, 100) + " in its " + list);
  }

  Result<ClusterConfig> choose(const YAML::Node& root, std::string_view wanted) const {
    const std::string name = wanted.empty() ? text_of(root, "current-context") : std::string(wanted);
    if (name.empty()) return invalid("it has no current-context, and no context was named");
    TG_TRY(const YAML::Node context, entry(root, "contexts", "context", name));
    TG_TRY(const YAML::Node cluster, entry(root, "clusters", "cluster", text_of(context, "cluster")));
    ClusterConfig config;
    const std::string space = text_of(context, "namespace");
    if (!space.empty()) config.space = space;
    TG_TRY_VOID(read_cluster(cluster, config));
    const std::string user = text_of(context, "user");
    if (!user.empty()) {
      TG_TRY(const YAML::Node credentials, entry(root, "users", "user", user));
      TG_TRY_VOID(read_user(credentials, config));
    }
    return config;
  }

  Result<void> read_cluster(const YAML::Node& cluster, ClusterConfig& config) const {
    if (text_of(cluster, "insecure-skip-tls-verify") == "true")
      return unsupported("insecure-skip-tls-verify",
                         "give certificate-authority or certificate-authority-data");
    if (!text_of(cluster, "proxy-url").empty())
      return unsupported("proxy-url", "name a server that can be reached directly");
    TG_TRY_VOID(read_server(text_of(cluster, "server"), config));
    config.tls_name = text_of(cluster, "tls-server-name");
    TG_TRY(config.authorities, material(cluster, "certificate-authority"));
    return {};
  }

  // "https://host:port/prefix".
  Result<void> read_server(const std::string& server, ClusterConfig& config) const {
    std::string_view rest = server;
    if (rest.starts_with("https://")) {
      rest.remove_prefix(8);
    } else if (rest.starts_with("http://")) {
      rest.remove_prefix(7);
      config.tls = false;
      config.port = 80;
    } else {
      return invalid("server " + quoted(server, 200) + " begins with neither https:// nor http://");
    }
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    config.path_prefix = std::string(rest.substr(slash));
    while (config.path_prefix.ends_with('/')) config.path_prefix.pop_back();
    const std::string_view authority = rest.substr(0, slash);
    const std::size_t bracket = authority.rfind(']');
    const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
    std::string_view host = authority.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (colon != std::string_view::npos) {
      const std::string_view port = authority.substr(colon + 1);
      const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), config.port);
      if (problem != std::errc() || end != port.data() + port.size() || config.port == 0)
        return invalid("server " + quoted(server, 200) + " has no valid port");
    }
    if (host.empty() || host.find('@') != std::string_view::npos)
      return invalid("server " + quoted(server, 200) + " names no host");
    config.host = std::string(host);
    return {};
  }

  Result<void> read_user(const YAML::Node& user, ClusterConfig& config) const {
    struct Refused {
      const char* field;
      const char* instead;
    };
    static constexpr std::array kRefused = {
        Refused{"exec",
                "use a client certificate, a token or a tokenFile: programs are not run for credentials"},
        Refused{"auth-provider", "use a client certificate, a token or a tokenFile"},
        Refused{"username", "use a client certificate, a token or a tokenFile"},
        Refused{"as", "make a user with that role instead"},
        Refused{"as-uid", "make a user with that role instead"}};
    for (const Refused& one : kRefused) {
      if (user[one.field]) return unsupported(one.field, one.instead);
    }
    TG_TRY(config.client_certificate, material(user, "client-certificate"));
    TG_TRY(config.client_key, material(user, "client-key"));
    if (config.client_certificate.given() != config.client_key.given())
      return invalid("client-certificate and client-key belong together, and only one is there");
    config.token.text = text_of(user, "token");
    config.token.file = below(text_of(user, "tokenFile"));
    return {};
  }

  // `key` names a file; `key`-data holds the same in base64, and wins.
  Result<Material> material(const YAML::Node& map, const std::string& key) const {
    Material found;
    const std::string data = text_of(map, (key + "-data").c_str());
    if (data.empty()) {
      found.file = below(text_of(map, key.c_str()));
      return found;
    }
    auto decoded = net::decode_base64(data);
    if (!decoded || decoded->empty()) return invalid(key + "-data is not base64");
    found.text = std::move(*decoded);
    return found;
  }

  std::string below(const std::string& path) const {
    if (path.empty() || path.front() == '/' || directory_.empty()) return path;
    return directory_ + "/" + path;
  }

  const std::string directory_;
  const std::string name_;
};

}  // namespace

Result<ClusterConfig> parse_kubeconfig(std::string_view text, const std::string& directory,
                                       const std::string& name, std::string_view context) {
  return Kubeconfig(directory, name).read(text, context);
}

Result<ClusterConfig> load_kubeconfig(const std::string& path, std::string_view context) {
  TG_TRY(const std::string text, read_small_file(path));
  const std::size_t slash = path.rfind('/');
  return parse_kubeconfig(text, slash == std::string::npos ? "." : path.substr(0, slash), path, context);
}

}  // namespace tangram::kube
