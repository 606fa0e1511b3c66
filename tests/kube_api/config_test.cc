#include "kube/api/config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "net/base64.h"
#include "net/support.h"

namespace tangram::kube {
namespace {

// A kubeconfig of two contexts; `cluster` and `user` are lines of theirs.
std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return R"(apiVersion: v1
kind: Config
current-context: main
contexts:
- name: other
  context: {cluster: far, user: nobody, namespace: elsewhere}
- name: main
  context: {cluster: near, user: me, namespace: tangram-system}
clusters:
- name: far
  cluster: {server: "https://far.example.com"}
- name: near
  cluster:
)" + cluster +
         R"(users:
- name: nobody
  user: {}
- name: me
  user:
)" + user;
}

Result<ClusterConfig> parse(const std::string& cluster, const std::string& user,
                            std::string_view context = "") {
  return parse_kubeconfig(kubeconfig(cluster, user), "/etc/kube", "the test's", context);
}

// Without this, the manager would talk to another cluster, or as somebody else, than kubectl does.
TEST(Kubeconfig, ChoosesClusterAndUserByContext) {
  const auto config = parse(
      "    server: https://10.0.0.1:6443/k8s/c1/\n    certificate-authority: ca.crt\n    tls-server-name: "
      "kubernetes\n",
      "    client-certificate: /pki/me.crt\n    client-key: me.key\n    token: abc\n    tokenFile: token\n");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->host, "10.0.0.1");
  EXPECT_EQ(config->port, 6443);
  EXPECT_TRUE(config->tls);
  EXPECT_EQ(config->path_prefix, "/k8s/c1");
  EXPECT_EQ(config->tls_name, "kubernetes");
  EXPECT_EQ(config->authorities.file, "/etc/kube/ca.crt");
  EXPECT_EQ(config->client_certificate.file, "/pki/me.crt");
  EXPECT_EQ(config->client_key.file, "/etc/kube/me.key");
  EXPECT_EQ(config->token.text, "abc");
  EXPECT_EQ(config->token.file, "/etc/kube/token");
  EXPECT_EQ(config->space, "tangram-system");
  EXPECT_EQ(config->server(), "https://10.0.0.1:6443/k8s/c1");

  const auto other = parse("    server: https://10.0.0.1:6443\n", "    {}\n", "other");
  ASSERT_TRUE(other) << other.error().to_string();
  EXPECT_EQ(other->server(), "https://far.example.com:443");
  EXPECT_EQ(other->space, "elsewhere");
  EXPECT_FALSE(other->token.given());
}

// Without this, servers with IPv6 addresses, or behind plain HTTP on this machine, could not be named.
TEST(Kubeconfig, ReadsEveryFormOfAServer) {
  const auto server = [](const std::string& text) {
    const auto config = parse("    server: \"" + text + "\"\n", "    token: abc\n");
    return config ? config->server() : config.error().reason;
  };
  EXPECT_EQ(server("https://[fd00::1]:6443"), "https://[fd00::1]:6443");
  EXPECT_EQ(server("https://[fd00::1]"), "https://[fd00::1]:443");
  EXPECT_EQ(server("http://127.0.0.1:8001"), "http://127.0.0.1:8001");
  for (const char* bad : {"", "10.0.0.1:6443", "https://", "https://h:0", "https://h:65536", "https://h:x",
                          "https://me@h", "ftp://h"}) {
    EXPECT_EQ(server(bad), "kube.config.invalid") << bad;
  }
}

// Without this, certificates that kubectl keeps in the file itself would be taken for names of files.
TEST(Kubeconfig, TextInTheFileWins) {
  const std::string pem = "-----BEGIN CERTIFICATE-----\nMII\n";
  const std::string data = net::encode_base64(pem);
  const auto config = parse(
      "    server: https://h\n    certificate-authority: x\n    "
      "certificate-authority-data: " +
          data + "\n",
      "    client-certificate-data: " + data + "\n    client-key-data: " + data + "\n");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->authorities.text, pem);
  EXPECT_EQ(config->authorities.file, "");
  EXPECT_EQ(config->client_key.text, pem);
  EXPECT_EQ(
      parse("    server: https://h\n    certificate-authority-data: '%%%'\n", "    {}\n").error().reason,
      "kube.config.invalid");
}

// Without this, a way to authenticate that is not supported would be passed over, and the caller be
// anonymous.
TEST(Kubeconfig, SaysWhatItDoesNotSupport) {
  for (const auto& [field, line] : std::initializer_list<std::pair<std::string, std::string>>{
           {"exec", "    exec: {command: aws}\n"},
           {"auth-provider", "    auth-provider: {name: gcp}\n"},
           {"username", "    username: admin\n    password: secret-word\n"},
           {"as", "    token: abc\n    as: system:admin\n"}}) {
    const auto config = parse("    server: https://h\n", line);
    ASSERT_FALSE(config) << field;
    EXPECT_EQ(config.error().reason, "kube.config.unsupported");
    EXPECT_NE(config.error().message.find(field), std::string::npos) << config.error().message;
    EXPECT_EQ(config.error().to_string().find("secret-word"), std::string::npos);
  }
  for (const char* line : {"    insecure-skip-tls-verify: true\n", "    proxy-url: http://proxy:3128\n"}) {
    EXPECT_EQ(parse(std::string("    server: https://h\n") + line, "    {}\n").error().reason,
              "kube.config.unsupported")
        << line;
  }
}

// Without this, a mistake in the file would be a crash or a riddle.
TEST(Kubeconfig, NamesWhatIsWrong) {
  const std::string good = "    server: https://h\n";
  EXPECT_EQ(parse(good, "    {}\n", "missing").error().reason, "kube.config.invalid");
  EXPECT_EQ(parse(good, "    client-certificate: only.crt\n").error().reason, "kube.config.invalid");
  for (const char* text :
       {"", "- 1", "a: [", "current-context: x", "contexts: [{name: x}]\ncurrent-context: x"}) {
    const auto config = parse_kubeconfig(text, "/", "the test's", "");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().reason, "kube.config.invalid") << text;
    EXPECT_NE(config.error().message.find("the test's"), std::string::npos);
  }
  EXPECT_EQ(load_kubeconfig("/nowhere/config").error().reason, "kube.config.unreadable");
}

class InCluster : public ::testing::Test {
 protected:
  InCluster() {
    setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    write("token", "t-1\n");
    write("ca.crt", "PEM");
    write("namespace", "tangram-system\n");
  }
  ~InCluster() override {
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory.file(name)) << text;
  }
  Result<ClusterConfig> read() const { return in_cluster_config(directory.file("")); }

  net::TemporaryDirectory directory;
};

// Without this, the manager would not find its way in the Pod that it is shipped in.
TEST_F(InCluster, TakesWhatThePodIsGiven) {
  const auto config = read();
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->server(), "https://10.96.0.1:443");
  EXPECT_EQ(config->space, "tangram-system");
  EXPECT_EQ(config->token.text, "") << "the file is read again, because it rotates";
  EXPECT_TRUE(config->token.file.ends_with("/token"));
  EXPECT_TRUE(config->authorities.file.ends_with("/ca.crt"));
}

// Without this, a Pod without a token, or a process outside of any Pod, would fail at its first request only.
TEST_F(InCluster, SaysThatItIsInNoPod) {
  setenv("KUBERNETES_SERVICE_PORT", "https", 1);
  EXPECT_EQ(read().error().reason, "kube.config.not_in_cluster");
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  std::filesystem::remove(directory.file("token"));
  EXPECT_EQ(read().error().reason, "kube.config.not_in_cluster");
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_EQ(read().error().reason, "kube.config.not_in_cluster");
}

// Without this, a component would not find the cluster that kubectl beside it speaks to.
TEST_F(InCluster, LooksWhereKubectlLooks) {
  std::ofstream(directory.file("config"))
      << kubeconfig("    server: https://10.0.0.1:6443\n", "    token: abc\n");
  setenv("KUBECONFIG", directory.file("config").c_str(), 1);
  EXPECT_EQ(find_config("", "")->server(), "https://10.0.0.1:6443") << "before what the Pod is given";
  EXPECT_EQ(find_config("", "other")->server(), "https://far.example.com:443");
  setenv("KUBECONFIG", "/a:/b", 1);
  EXPECT_EQ(find_config("", "").error().reason, "kube.config.unsupported");
  EXPECT_EQ(find_config(directory.file("config"), "")->host, "10.0.0.1") << "an option comes first";
  unsetenv("KUBECONFIG");
  EXPECT_EQ(find_config("", "").error().reason, "kube.config.not_in_cluster")
      << "no service account is mounted here";
  unsetenv("KUBERNETES_SERVICE_HOST");
  setenv("HOME", directory.file("nowhere").c_str(), 1);
  EXPECT_EQ(find_config("", "").error().reason, "kube.config.unreadable");
}

// Without this, a device or a huge file in the place of a token would fill the memory.
TEST_F(InCluster, ReadsSmallFilesOnly) {
  EXPECT_EQ(*read_small_file(directory.file("token")), "t-1\n");
  write("token", std::string((1U << 20U) + 1, 'x'));
  EXPECT_EQ(read_small_file(directory.file("token")).error().reason, "kube.config.unreadable");
  EXPECT_EQ(read_small_file("/dev/zero").error().reason, "kube.config.unreadable");
  EXPECT_EQ(read_small_file(directory.file("")).error().reason, "kube.config.unreadable");
}

}  // namespace
}  // namespace tangram::kube
