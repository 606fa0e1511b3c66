// Which daemon a command talks to, and with which token.
#include "client/remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tangram::client {
namespace {

using ::testing::HasSubstr;

class RemoteTest : public ::testing::Test {
 protected:
  RemoteTest() {
    std::string name = "/tmp/tg-remote-XXXXXX";
    directory = mkdtemp(name.data());
  }
  ~RemoteTest() override { std::filesystem::remove_all(directory); }

  std::string file(const std::string& text, mode_t mode = 0600) const {
    const std::string path = directory + "/token";
    std::filesystem::remove(path);
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  std::string directory;
};

// Without this, a command would ask another daemon than the one that was named.
TEST_F(RemoteTest, TheCommandLineGoesBeforeTheEnvironment) {
  EXPECT_EQ(resolve_remote({}, {})->socket_path, "/run/tangram/tangram.sock");
  EXPECT_EQ(resolve_remote({}, {"/env.sock", "", "", ""})->socket_path, "/env.sock");
  const auto both = resolve_remote({}, {"/env.sock", "https://h:1", "", ""});
  EXPECT_EQ(both->host, "h");
  const auto socket = resolve_remote({"/arg.sock", "", "", ""}, {"/env.sock", "https://h:1", "", ""});
  EXPECT_EQ(socket->socket_path, "/arg.sock");
  EXPECT_EQ(socket->host, "");
  const auto server =
      resolve_remote({"", "https://arg:2", "", "/ca"}, {"/env.sock", "https://h:1", "", "/env-ca"});
  EXPECT_EQ(server->host, "arg");
  EXPECT_EQ(server->port, 2);
  EXPECT_EQ(server->ca_file, "/ca");
  const std::string path = file("tgt_from_file\n");
  EXPECT_EQ(resolve_remote({"", "", path, ""}, {"", "", "tgt_env", ""})->token, "tgt_from_file");
  EXPECT_EQ(resolve_remote({}, {"", "", "tgt_env\n", ""})->token, "tgt_env");
}

// Without it the user of the C++ client would be told of options of a command that it has never called.
TEST_F(RemoteTest, MessagesSpeakTheWordsOfTheCaller) {
  const OptionNames names{.server = "S", .socket = "U", .ca_file = "C"};
  const auto remote = resolve_remote({.server = "https://h:1", .names = names}, {});
  EXPECT_EQ(remote->names.socket, "U");
  EXPECT_EQ(remote->names.ca_file, "C");
  EXPECT_THAT(resolve_remote({.server = "h", .names = names}, {}).error().message, HasSubstr("S 'h'"));
  EXPECT_EQ(resolve_remote({}, {})->names.ca_file, "--ca-file FILE");
}

struct Url {
  const char* text;
  const char* host;  // null: no URL
  int port;
  bool tls;
};

class ServerUrl : public ::testing::TestWithParam<Url> {};

// Without this, a slip in the address would send a token elsewhere.
TEST_P(ServerUrl, IsReadStrictly) {
  const auto remote = resolve_remote({"", GetParam().text, "", ""}, {});
  ASSERT_EQ(remote.has_value(), GetParam().host != nullptr) << GetParam().text;
  if (!remote) {
    EXPECT_EQ(remote.error().reason, "client.server.invalid");
    EXPECT_THAT(remote.error().hint, HasSubstr("https://HOST:PORT"));
    return;
  }
  EXPECT_EQ(remote->host, GetParam().host);
  EXPECT_EQ(remote->port, GetParam().port);
  EXPECT_EQ(remote->tls, GetParam().tls);
}

INSTANTIATE_TEST_SUITE_P(
    All, ServerUrl,
    ::testing::Values(Url{"https://box.example:8443", "box.example", 8443, true},
                      Url{"https://box.example:8443/", "box.example", 8443, true},
                      Url{"https://box.example", "box.example", 443, true},
                      Url{"http://127.0.0.1:80", "127.0.0.1", 80, false},
                      Url{"https://[::1]:9", "::1", 9, true}, Url{"https://[::1]", "::1", 443, true},
                      Url{"box.example:8443", nullptr, 0, true}, Url{"https://", nullptr, 0, true},
                      Url{"https://:8443", nullptr, 0, true}, Url{"https://h:0", nullptr, 0, true},
                      Url{"https://h:99999", nullptr, 0, true}, Url{"https://h:84x", nullptr, 0, true},
                      Url{"https://h:", nullptr, 0, true}, Url{"https://h:1/v1", nullptr, 0, true},
                      Url{"https://me@h:1", nullptr, 0, true}, Url{"https://[::1:9", nullptr, 0, true},
                      Url{"https://[::1]x9", nullptr, 0, true}, Url{"ftp://h", nullptr, 0, true}));

// Without this, a token that everybody on the machine can read would be used as if it were a secret.
TEST_F(RemoteTest, ATokenFileIsItsOwnersAlone) {
  EXPECT_EQ(*read_token_file(file("tgt_1_ab\n")), "tgt_1_ab");
  EXPECT_EQ(*read_token_file(file("tgt_1_ab", 0400)), "tgt_1_ab");
  for (const mode_t mode : {0640U, 0604U, 0660U, 0610U}) {
    const auto exposed = read_token_file(file("tgt_1_ab", mode));
    ASSERT_FALSE(exposed) << std::oct << mode;
    EXPECT_EQ(exposed.error().reason, "client.token_file.exposed");
    EXPECT_THAT(exposed.error().hint, HasSubstr("chmod 600"));
    EXPECT_THAT(exposed.error().to_string(), ::testing::Not(HasSubstr("tgt_1_ab")));
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string foreign = file("tgt_1_ab");
  ASSERT_EQ(chown(foreign.c_str(), 4'711, 4'711), 0);
  EXPECT_EQ(read_token_file(foreign).error().reason, "client.token_file.exposed");
}

// Without this, a wrong file would show as "401", or hang the command.
TEST_F(RemoteTest, AFileWithoutATokenIsNamed) {
  EXPECT_EQ(read_token_file(directory + "/none").error().reason, "client.token_file.unreadable");
  EXPECT_EQ(read_token_file(directory).error().reason, "client.token_file.unreadable");
  const std::string pipe = directory + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_token_file(pipe).error().reason, "client.token_file.unreadable");
  for (const std::string& text : {std::string(), std::string("\n\n"), std::string("a b"), std::string("a\nb"),
                                  std::string(10'000, 'x'), std::string("a\x01")}) {
    const auto bad = read_token_file(file(text));
    ASSERT_FALSE(bad) << text.substr(0, 20);
    EXPECT_EQ(bad.error().reason, "client.token.invalid") << text.substr(0, 20);
  }
  EXPECT_EQ(resolve_remote({}, {"", "", "a b", ""}).error().reason, "client.token.invalid");
}

}  // namespace
}  // namespace tangram::client
