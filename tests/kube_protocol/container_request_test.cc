#include "kube/protocol/container_request.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tangram::kube {
namespace {

ContainerRequest request(std::string container, std::int64_t count, std::optional<std::int64_t> memory_mib) {
  ContainerRequest made;
  made.container = std::move(container);
  made.resource = "huawei.com/Ascend310P";
  made.count = count;
  made.memory_mib = memory_mib;
  return made;
}

ContainerGrant slice() {
  return {request("main", 1, 6144), GrantKind::kSlice, "vir02", "4096 MiB asked for"};
}

// Without this, the manager and the extender would read something else than admission wrote.
TEST(ContainerRequests, AreWrittenAsAgreed) {
  EXPECT_EQ(
      write_requests(std::vector{request("main", 1, 4096)}),
      R"([{"container":"main","init":false,"sidecar":false,"resource":"huawei.com/Ascend310P","count":1,)"
      R"("memoryMiB":4096,"cores":0}])");
  EXPECT_EQ(
      write_grants(std::vector{slice()}),
      R"([{"container":"main","init":false,"sidecar":false,"resource":"huawei.com/Ascend310P","count":1,)"
      R"("memoryMiB":6144,"cores":0,"kind":"slice","template":"vir02","why":"4096 MiB asked for"}])");
}

// Without this, a Pod admitted by an older or newer version could not be placed.
TEST(ContainerRequests, AreReadWithoutWhatMayBeLeftOut) {
  const auto requests =
      read_requests(R"([{"container":"main","resource":"huawei.com/Ascend310P","later":[1]}])");
  ASSERT_TRUE(requests);
  EXPECT_EQ(*requests, std::vector{request("main", 1, std::nullopt)});
  EXPECT_TRUE(read_requests("[]")->empty());
}

// Without this, a spoilt annotation could end the manager, or be taken for a grant that nobody gave.
TEST(ContainerRequests, WhatIsWrongIsNamed) {
  const auto message = [](std::string_view text) {
    const auto grants = read_grants(text);
    EXPECT_FALSE(grants) << text;
    if (grants) return std::string();
    EXPECT_EQ(grants.error().reason, "kube.annotation.invalid");
    return grants.error().message;
  };
  const std::string head = R"([{"container":"a","resource":"r",)";
  EXPECT_NE(message("{}").find("a JSON list"), std::string::npos);
  EXPECT_NE(message("[1]").find("entry 0 of tangram.dev/granted"), std::string::npos);
  EXPECT_NE(message("[{}]").find("\"container\""), std::string::npos);
  EXPECT_NE(message(head + R"("count":0,"memoryMiB":1,"kind":"whole"}])").find("at least 1"),
            std::string::npos);
  EXPECT_NE(message(head + R"("count":1.5}])").find("\"count\""), std::string::npos);
  EXPECT_NE(message(head + R"("memoryMiB":-1}])").find("\"memoryMiB\""), std::string::npos);
  EXPECT_NE(message(head + R"("kind":"whole"}])").find("\"memoryMiB\""), std::string::npos);
  EXPECT_NE(message(head + R"("memoryMiB":1,"kind":"half"}])").find("\"slice\" or \"whole\""),
            std::string::npos);
  EXPECT_NE(message(head + R"("memoryMiB":1,"kind":"slice"}])").find("\"template\""), std::string::npos);
  EXPECT_NE(message(head + R"("memoryMiB":1,"kind":"whole","template":"vir02"}])").find("\"template\""),
            std::string::npos);
  EXPECT_NE(
      message(head + R"("count":2,"memoryMiB":1,"kind":"slice","template":"v"}])").find("1 for a slice"),
      std::string::npos);
  EXPECT_NE(message(head + R"("sidecar":true,"memoryMiB":1,"kind":"whole"}])").find("\"sidecar\""),
            std::string::npos);
  EXPECT_NE(message(std::string(kAnnotationBytesMax + 1, ' ')).find("bytes long"), std::string::npos);
  std::string many = "[";
  for (std::size_t i = 0; i <= kNpuContainersMax; ++i) many += i == 0 ? "{}" : ",{}";
  EXPECT_NE(message(many + "]").find("at most 64"), std::string::npos);
}

// Without this, some request that admission can write would not come back as it was.
RC_GTEST_PROP(ContainerRequests, ComeBackAsTheyWere, ()) {
  const auto text = [] {
    return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange(' ', '~')));
  };
  std::vector<ContainerGrant> grants;
  const int count = *rc::gen::inRange(0, 8);
  for (int i = 0; i < count; ++i) {
    ContainerGrant grant;
    grant.request =
        request(text(), *rc::gen::inRange<std::int64_t>(1, 100), *rc::gen::inRange<std::int64_t>(0, 100'000));
    grant.request.init = *rc::gen::arbitrary<bool>();
    grant.request.sidecar = grant.request.init && *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) {
      grant.kind = GrantKind::kSlice;
      grant.template_name = text();
      grant.request.count = 1;
    }
    grants.push_back(std::move(grant));
  }
  const auto read = read_grants(write_grants(grants));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == grants);
}

}  // namespace
}  // namespace tangram::kube
