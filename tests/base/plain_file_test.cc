// What is taken for a plain file, and how all else is called.
#include "base/plain_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tangram {
namespace {

namespace fs = std::filesystem;

class PlainFileTest : public testing::Test {
 protected:
  PlainFileTest() {
    char name[] = "/tmp/tangram-plain-XXXXXX";
    root_ = mkdtemp(&name[0]);
  }
  ~PlainFileTest() override { fs::remove_all(root_); }

  static Error error_of(const std::string& path, std::size_t bytes_max = 100) {
    const auto file = read_plain_file("cannot read it", path, bytes_max);
    EXPECT_FALSE(file) << path;
    return file ? Error{} : file.error();
  }

  std::string root_;
};

// Without it nothing could be read at all.
TEST_F(PlainFileTest, APlainFileIsReadWhole) {
  const std::string path = root_ + "/file";
  const std::string text(100'000, 'x');
  std::ofstream(path) << text;
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  fs::create_symlink(path, root_ + "/link");
  for (const std::string& name : {path, root_ + "/link"}) {
    const auto file = read_plain_file("cannot read it", name, text.size());
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(file->text, text);
    EXPECT_EQ(file->mode & 07777U, 0640U);
  }
  EXPECT_EQ(error_of(path, text.size() - 1).reason, "file.too_large");
  EXPECT_EQ(error_of(root_ + "/none").code, Code::kNotFound);
}

// Without it a start would wait for ever at a pipe that nobody writes, or fill the memory from a device.
TEST_F(PlainFileTest, WhatIsNoneIsCalledByItsKind) {
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of(root_ + "/pipe").message, "cannot read it: it is a pipe, not a plain file");
  EXPECT_EQ(error_of(root_ + "/pipe").reason, "file.not_plain");
  EXPECT_EQ(error_of(root_).message, "cannot read it: it is a directory, not a plain file");
  EXPECT_EQ(error_of("/dev/zero").message, "cannot read it: it is a device, not a plain file");
  EXPECT_EQ(error_of("/dev/ptmx").message, "cannot read it: it is a device, not a plain file");
}

// Without it a daemon that is root would write through a link into another's file, or wait at a pipe.
TEST_F(PlainFileTest, NothingElseIsOpenedForWriting) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_NOFOLLOW;
  std::ofstream(root_ + "/target") << "kept";
  fs::create_symlink(root_ + "/target", root_ + "/link");
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  const auto why = [this](const std::string& name) {
    const auto fd = open_plain_file("cannot open it", root_ + "/" + name, kFlags, 0600);
    return fd ? std::string("opened") : fd.error().message;
  };
  EXPECT_EQ(why("link"), "cannot open it: it is a symbolic link, not a plain file");
  EXPECT_EQ(why("pipe"), "cannot open it: it is a pipe, not a plain file");
  EXPECT_EQ(why(""), "cannot open it: it is a directory, not a plain file");
  const auto fd = open_plain_file("cannot open it", root_ + "/new", kFlags, 0600);
  ASSERT_TRUE(fd) << fd.error().to_string();
  EXPECT_NE(fcntl(*fd, F_GETFD) & FD_CLOEXEC, 0);
  close(*fd);
}

}  // namespace
}  // namespace tangram
