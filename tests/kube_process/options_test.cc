#include "kube/process/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tangram::kube::process {
namespace {

Result<Options> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "tangram-kube");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return parse_options(static_cast<int>(words.size()), pointers.data());
}

// Without this, a process in a Pod would have to be told what the Pod knows.
TEST(KubeOptions, DefaultsFitAPod) {
  setenv("POD_NAMESPACE", "npu", 1);
  setenv("POD_NAME", "tangram-manager-0", 1);
  const auto options = parse({});
  unsetenv("POD_NAMESPACE");
  unsetenv("POD_NAME");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->space, "npu");
  EXPECT_EQ(options->identity, "tangram-manager-0");
  EXPECT_EQ(options->listen.port, 8443);
  EXPECT_EQ(options->metrics.port, 9395);
  EXPECT_EQ(options->scheduler, "default-scheduler");
  EXPECT_EQ(options->scheduler_clients, std::vector<std::string>{"system:kube-scheduler"});
  EXPECT_EQ(parse({})->space, "kube-system");
  EXPECT_FALSE(parse({})->identity.empty());
}

// Without this, an option would be passed over, or mean another one.
TEST(KubeOptions, EachIsTaken) {
  const auto options = parse({"--kubeconfig",
                              "k",
                              "--namespace=n",
                              "--identity",
                              "i",
                              "--listen",
                              "[::1]:1",
                              "--metrics",
                              "127.0.0.1:2",
                              "--certificates",
                              "c",
                              "--scheduler",
                              "s",
                              "--scheduler-ca",
                              "ca",
                              "--scheduler-client",
                              "one",
                              "--scheduler-client",
                              "two",
                              "--runtime-class",
                              "ascend",
                              "--open-gates"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->kubeconfig + options->space + options->identity + options->certificates +
                options->scheduler + options->scheduler_ca + options->runtime_class,
            "knicscaascend");
  EXPECT_EQ(options->listen.address, "::1");
  EXPECT_EQ(options->listen.port, 1);
  EXPECT_EQ(options->metrics.address, "127.0.0.1");
  EXPECT_EQ(options->scheduler_clients, (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(options->open_gates);
  EXPECT_FALSE(options->help);
  EXPECT_TRUE(parse({"--help"})->help);
}

// Without this, a slip would start a process that does something else than was meant.
TEST(KubeOptions, ASlipIsNamed) {
  for (const auto& [words, named] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{"--liste"}, "--liste"},
                                                                     {{"--unknown"}, "--unknown"},
                                                                     {{"--listen", "8443"}, "--listen"},
                                                                     {{"--metrics", "a:b"}, "--metrics"},
                                                                     {{"--metrics", "a:70000"}, "--metrics"},
                                                                     {{"--listen", ":1"}, "--listen"},
                                                                     {{"--namespace", ""}, "--namespace"},
                                                                     {{"extra"}, "extra"}}) {
    const auto options = parse(words);
    ASSERT_FALSE(options) << words.front();
    EXPECT_EQ(options.error().reason, "kube.options.invalid");
    EXPECT_NE(options.error().message.find(named), std::string::npos) << options.error().message;
  }
}

// Without this, an option would be hidden from whoever reads the help.
TEST(KubeOptions, TheHelpNamesThemAll) {
  const std::string text = usage();
  for (const char* option : {"--kubeconfig", "--namespace", "--identity", "--listen", "--metrics",
                             "--certificates", "--scheduler ", "--scheduler-ca", "--scheduler-client",
                             "--runtime-class", "--open-gates", "--help"}) {
    EXPECT_NE(text.find(option), std::string::npos) << option;
  }
}

}  // namespace
}  // namespace tangram::kube::process
