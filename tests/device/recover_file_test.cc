// The driver's memory of slices, line by line: what is taken out, what is left alone, and what a stranger may
// have made of the file.
#include "device/dcmi/recover_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tangram::device {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;
using State = RecoverFile::State;

const std::string kHead = "vnpu_config_recover:disable\n[vnpu-config start]\n";
const std::string kVir04 = "0:100:npu-smi set -t create-vnpu -i 7 -c 0 -f vir04 -v 100\n";
const std::string kVir01 = "0:101:npu-smi set -t create-vnpu -i 7 -c 0 -f vir01 -v 101 -g 2\n";
const std::string kOther = "10:260:npu-smi set -t create-vnpu -i 8 -c 0 -f vir01 -v 260\n";
const std::string kEnd = "[vnpu-config end]\n";

// Another process that holds the lock as the vendor's library does.
class VendorsLock {
 public:
  explicit VendorsLock(const std::string& path) {
    int locked[2] = {-1, -1};
    EXPECT_EQ(pipe(locked), 0);
    child_ = fork();
    if (child_ == 0) {
      const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      struct flock whole{};
      whole.l_type = F_WRLCK;
      if (fcntl(file, F_SETLK, &whole) == 0) (void)!write(locked[1], "x", 1);
      for (;;) pause();
    }
    char word = 0;
    EXPECT_EQ(read(locked[0], &word, 1), 1);
    close(locked[0]);
    close(locked[1]);
  }
  ~VendorsLock() { let_go(); }
  VendorsLock(const VendorsLock&) = delete;
  VendorsLock& operator=(const VendorsLock&) = delete;

  void let_go() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  pid_t child_ = -1;
};

class RecoverFileTest : public testing::Test {
 protected:
  RecoverFileTest() {
    char name[] = "/tmp/tangram-recover-XXXXXX";
    root_ = mkdtemp(&name[0]);
    fs::create_directories(root_ + "/etc");
    fs::create_directories(root_ + "/run/vnpu_cfg_lock");
    places_ = recover_places(root_);
  }
  ~RecoverFileTest() override { fs::remove_all(root_); }

  // As the vendor's library does, with a mode of its own.
  void write(const std::string& text) const {
    std::ofstream(places_.file) << text;
    ASSERT_EQ(chmod(places_.file.c_str(), 0600), 0);
  }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(places_.file).rdbuf();
    return text.str();
  }
  Result<void> forget(std::uint32_t id, bool is_there = false) const {
    return forget_slice(places_, 0, id, [is_there] { return is_there; }, milliseconds(100));
  }

  std::string root_;
  RecoverPlaces places_;
};

// Without it the slice of a job that has ended would come back with a boot, or another's be forgotten.
TEST_F(RecoverFileTest, OneLineIsTakenOut) {
  write(kHead + kVir04 + kVir01 + kOther + kEnd);
  ASSERT_EQ(chmod(places_.file.c_str(), 0640), 0);
  ASSERT_EQ(chown(places_.file.c_str(), geteuid() == 0 ? 12'345 : geteuid(), getegid()), 0);
  ASSERT_TRUE(forget(100));
  EXPECT_EQ(text(), kHead + kVir01 + kOther + kEnd);
  struct stat status{};
  ASSERT_EQ(stat(places_.file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
  EXPECT_EQ(status.st_uid, geteuid() == 0 ? 12'345U : geteuid());
  EXPECT_TRUE(forget(260)) << "of NPU 10, and not of NPU 0";
  EXPECT_EQ(text(), kHead + kVir01 + kOther + kEnd);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ + "/etc"), {}), 1) << "nothing is left beside it";
}

// Without it a file that needs no change would be written all the same, each time that a slice ends.
TEST_F(RecoverFileTest, WhatIsNotInItChangesNothing) {
  EXPECT_TRUE(forget(100)) << "there is no file";
  EXPECT_FALSE(fs::exists(places_.file));
  write("");
  EXPECT_TRUE(forget(100));
  write(kHead + kVir01 + kEnd);
  struct stat before{};
  struct stat after{};
  ASSERT_EQ(stat(places_.file.c_str(), &before), 0);
  EXPECT_TRUE(forget(100));
  ASSERT_EQ(stat(places_.file.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

// Without it a slice that somebody has cut meanwhile under the same id would not come back after a boot.
TEST_F(RecoverFileTest, ASliceThatStandsIsRemembered) {
  write(kHead + kVir04 + kEnd);
  EXPECT_TRUE(forget(100, true));
  EXPECT_EQ(text(), kHead + kVir04 + kEnd);
}

// Without it a file that is not understood could be cut short, and the driver lose slices or refuse them all.
TEST_F(RecoverFileTest, ADamagedFileIsLeftAloneAndTold) {
  const std::string texts[] = {
      "what is this\n",
      "vnpu_config_recover:perhaps\n[vnpu-config start]\n" + kVir04 + kEnd,
      "vnpu_config_recover:enable\n" + kVir04 + kEnd,
      kHead + kVir04,
      kHead + "0:100:rm -rf /\n" + kEnd,
      kHead + "100:npu-smi set -t create-vnpu -v 100\n" + kEnd,
      kHead + kVir04 + kEnd + "more\n",
      kHead + "0:107:npu-smi set -t create-vnpu -i 7 -c 0 -f vir01\n" + kEnd,
      kHead + "0:107:npu-smi set -t create-vnpu ; touch x\n" + kEnd,
      kHead + "0:107:npu-smi set -t create-vnpu -i 7 -c 0 -f vir01 -v 107 ; touch x\n" + kEnd,
      kHead + "0:107:npu-smi set -t create-vnpu -i 7 -c 0 -f $(x) -v 107\n" + kEnd,
      kHead + "0:107:npu-smi set -t create-vnpu -i 7 -c 0 -f  -v 107\n" + kEnd,
      kHead + "0:107:npu-smi set -t create-vnpu -i 7 -c -f vir01 -v 107\n" + kEnd,
      kHead + "0:107:npu-smi set -t create-vnpu -i 7 -c 0 -f vir01 -v 107 -g \n" + kEnd,
      kHead + kVir04.substr(0, kVir04.size() - 1) + std::string(300, ' ') + "\n" + kEnd,
      kHead + std::string(kRecoverFileBytesMax, '0') + kEnd,
  };
  for (const std::string& damaged : texts) {
    write(damaged);
    const auto forgotten = forget(100);
    ASSERT_FALSE(forgotten) << damaged.substr(0, 100);
    EXPECT_EQ(forgotten.error().reason, "device.recover.damaged");
    EXPECT_EQ(text(), damaged);
    const RecoverFile seen = look_at_recover_file(places_);
    EXPECT_EQ(seen.state, State::kDamaged) << damaged.substr(0, 100);
    EXPECT_FALSE(seen.why.empty());
  }
  EXPECT_THAT(without_slice(kHead + kVir04 + "x\n" + kEnd, 0, 100).error().message, HasSubstr("line 4"));
}

// Without it a link that somebody put there would lead the daemon, which is root, to another file; and a
// sound text behind it be called damaged.
TEST_F(RecoverFileTest, ALinkOrAPipeIsNoFile) {
  std::ofstream(root_ + "/target") << kHead << kVir04 << kEnd;
  fs::create_symlink(root_ + "/target", places_.file);
  EXPECT_EQ(forget(100).error().reason, "device.recover.not_plain");
  const RecoverFile link = look_at_recover_file(places_);
  EXPECT_EQ(link.state, State::kNotPlain);
  EXPECT_EQ(link.why, places_.file + " is a symbolic link");
  fs::remove(places_.file);
  ASSERT_EQ(mkfifo(places_.file.c_str(), 0600), 0);
  EXPECT_EQ(forget(100).error().reason, "device.recover.not_plain");
  EXPECT_EQ(look_at_recover_file(places_).why, places_.file + " is no plain file");
}

// Without it every create would fail for a lock that is none, and nobody look there; or the daemon wait for
// ever at a pipe.
TEST_F(RecoverFileTest, ALockThatIsNoFileIsTold) {
  write(kHead + kVir04 + kEnd);
  fs::create_directory(places_.lock);
  EXPECT_EQ(look_at_recover_file(places_).state, State::kLockUnusable);
  EXPECT_EQ(look_at_recover_file(places_).why, places_.lock + " is a directory");
  EXPECT_EQ(forget(100).error().reason, "device.recover.not_plain");
  fs::remove(places_.lock);
  ASSERT_EQ(mkfifo(places_.lock.c_str(), 0600), 0);
  EXPECT_EQ(look_at_recover_file(places_).state, State::kLockUnusable);
  EXPECT_EQ(look_at_recover_file(places_).why, places_.lock + " is no plain file");
  fs::remove(places_.lock);
  fs::create_symlink(root_ + "/nowhere", places_.lock);
  EXPECT_EQ(look_at_recover_file(places_).why, places_.lock + " is a symbolic link");
  fs::remove(places_.lock);
  fs::remove(root_ + "/run/vnpu_cfg_lock");
  EXPECT_EQ(look_at_recover_file(places_).state, State::kSound) << "the vendor's library makes the folder";
  EXPECT_EQ(text(), kHead + kVir04 + kEnd);
}

// Without it nobody would see that a stranger can write what a boot cuts.
TEST_F(RecoverFileTest, AFileThatOthersCanOpenIsTold) {
  write(kHead + kVir04 + kEnd);
  EXPECT_EQ(look_at_recover_file(places_).state, State::kSound);
  ASSERT_EQ(chmod(places_.file.c_str(), 0666), 0);
  EXPECT_EQ(look_at_recover_file(places_).state, State::kExposed);
  EXPECT_EQ(look_at_recover_file(places_).why, "its mode is 0666");
  ASSERT_EQ(chmod(places_.file.c_str(), 0600), 0);
  if (geteuid() != 0) return;  // only root gives a file away
  ASSERT_EQ(chown(places_.file.c_str(), 12'345, 0), 0);
  EXPECT_EQ(look_at_recover_file(places_).why, "it belongs to user 12345");
  EXPECT_TRUE(forget(100)) << "it is told, and used all the same";
}

// Without it two that change the file at once would undo each other, or one that never lets go stop the
// daemon.
TEST_F(RecoverFileTest, TheVendorsLockIsWaitedForAWhile) {
  write(kHead + kVir04 + kEnd);
  VendorsLock held(places_.lock);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(forget(100).error().reason, "device.recover.locked");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(100));
  EXPECT_EQ(look_at_recover_file(places_).state, State::kUnknown);
  EXPECT_EQ(text(), kHead + kVir04 + kEnd);
  held.let_go();
  EXPECT_TRUE(forget(100));
  EXPECT_EQ(text(), kHead + kEnd);
  EXPECT_EQ(look_at_recover_file(places_).state, State::kSound);
}

// Without it a slice would count as forgotten while the vendor's library has its line in its other hand.
TEST_F(RecoverFileTest, AFileThatIsBeingReplacedIsNotTakenForNone) {
  EXPECT_TRUE(forget(100)) << "nothing was ever written";
  write("");
  std::ofstream(places_.file + ".bak") << kHead << kVir04 << kEnd;
  EXPECT_EQ(forget(100).error().reason, "device.recover.damaged");
  fs::remove(places_.file);
  EXPECT_EQ(forget(100).error().reason, "device.recover.damaged");
  fs::remove(places_.file + ".bak");
  EXPECT_TRUE(forget(100));
}

// Without it every create would fail with a code that says nothing, and nobody look at the file.
TEST_F(RecoverFileTest, AFileThatCannotBeWrittenIsTold) {
  write(kHead + kVir04 + kEnd);
  ASSERT_EQ(chmod(places_.file.c_str(), 0400), 0);
  for (const char* folder : {"", "/etc", "/run", "/run/vnpu_cfg_lock"})
    ASSERT_EQ(chmod((root_ + folder).c_str(), 0555), 0);
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(seteuid(12'345), 0);  // root may write everything
  }
  const RecoverFile seen = look_at_recover_file(places_);
  const auto forgotten = forget(100);
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  for (const char* folder : {"", "/etc", "/run", "/run/vnpu_cfg_lock"})
    ASSERT_EQ(chmod((root_ + folder).c_str(), 0755), 0);
  EXPECT_EQ(seen.state, State::kUnwritable);
  EXPECT_EQ(seen.error_number, EACCES);
  ASSERT_FALSE(forgotten);
  EXPECT_EQ(forgotten.error().reason, "device.recover.unwritable");
  EXPECT_EQ(text(), kHead + kVir04 + kEnd);
}

}  // namespace
}  // namespace tangram::device
