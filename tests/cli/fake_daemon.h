// A listener on a real socket whose answers a test chooses: what a command asks, and what it makes of the
// answer.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "cli/app.h"
#include "net/server.h"

namespace tangram::cli {

class FakeDaemon : public testing::Test {
 protected:
  struct Ended {
    int code = 0;
    std::string out;
    std::string err;
  };

  // Called for each request, on a thread of the server.
  std::function<net::Response(const net::Request&)> route;

  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tg-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    net::ServerOptions options;
    options.endpoints = {net::UnixEndpoint{folder_ + "/s", 0600, std::nullopt, std::nullopt}};
    auto server =
        net::HttpServer::start(options, [this](const net::Request& request, net::Responder responder) {
          {
            const std::lock_guard lock(mutex_);
            requests_.push_back(request);
          }
          responder.send(route(request));
        });
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = std::move(*server);
  }

  void TearDown() override {
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Ended tangram(const std::vector<std::string>& arguments, const std::string& input = "") {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    Streams streams{in, out, err};
    const int code = run(arguments, {{folder_ + "/s", "", "", ""}}, streams);
    return {code, out.str(), err.str()};
  }

  const std::string& folder() const { return folder_; }

  std::vector<net::Request> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  std::string folder_;
  std::mutex mutex_;
  std::vector<net::Request> requests_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace tangram::cli
