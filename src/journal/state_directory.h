// The directory that holds all that must survive: who owns it now, and which version wrote it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace tangram::journal {

// A failed call on the state directory or in it, with what would mend it.
Error unusable(std::string what, int error_number);
// The same for an error that has its words already (system_error(), open_plain_file()).
Error with_remedy(Error error);

// Owned by one process at a time, for as long as the value lives.
class StateDirectory {
 public:
  // Makes the directory (mode 0700) and its parents when missing. Errors: "journal.in_use" names the process
  // that owns it.
  static Result<StateDirectory> own(const std::string& path);

  ~StateDirectory();
  StateDirectory(StateDirectory&& other) noexcept;
  StateDirectory& operator=(StateDirectory&&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const char* name) const { return path_ + "/" + name; }

  // What the file VERSION says; empty when there is none. Errors: "journal.version.invalid".
  Result<std::optional<std::int64_t>> version() const;
  // Durable when it returns; never half written.
  Result<void> set_version(std::int64_t version) const;

  // Makes new names in the directory durable.
  Result<void> sync() const;

 private:
  StateDirectory(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  std::string path_;
  int lock_fd_;
};

}  // namespace tangram::journal
