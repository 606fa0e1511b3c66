#include "journal/sync_time.h"

#include <sqlite3.h>

#include <map>
#include <memory>
#include <mutex>

#include "base/invariant.h"

namespace tangram::journal {
namespace {

thread_local std::chrono::nanoseconds waited{0};

// The methods of an open file with another sync; SQLite's layer has a few tables of them, which live for
// ever.
struct TimedMethods {
  sqlite3_io_methods methods;  // first: the file points to it
  const sqlite3_io_methods* original;
};

int timed_sync(sqlite3_file* file, int flags) {
  const auto* const timed = reinterpret_cast<const TimedMethods*>(file->pMethods);
  const auto begin = std::chrono::steady_clock::now();
  const int result = timed->original->xSync(file, flags);
  waited += std::chrono::steady_clock::now() - begin;
  return result;
}

const sqlite3_io_methods* timed_methods(const sqlite3_io_methods* original) {
  static std::mutex mutex;
  static std::map<const sqlite3_io_methods*, std::unique_ptr<TimedMethods>> known;
  const std::lock_guard lock(mutex);
  std::unique_ptr<TimedMethods>& timed = known[original];
  if (!timed) {
    timed = std::make_unique<TimedMethods>(TimedMethods{*original, original});
    timed->methods.xSync = timed_sync;
  }
  return &timed->methods;
}

int timed_open(sqlite3_vfs* /*layer*/, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  sqlite3_vfs* const own = sqlite3_vfs_find(nullptr);
  const int result = own->xOpen(own, name, file, flags, flags_out);
  if (file->pMethods != nullptr) file->pMethods = timed_methods(file->pMethods);
  return result;
}

}  // namespace

const char* timed_file_layer() {
  static sqlite3_vfs layer = [] {
    const sqlite3_vfs* const own = sqlite3_vfs_find(nullptr);
    TG_ASSERT(own != nullptr, "SQLite has no file layer");
    sqlite3_vfs copy = *own;
    copy.pNext = nullptr;
    copy.zName = "tangram-timed";
    copy.xOpen = timed_open;
    return copy;
  }();
  static const int registered = sqlite3_vfs_register(&layer, 0);
  TG_ASSERT(registered == SQLITE_OK, "SQLite takes no file layer");
  return layer.zName;
}

std::chrono::nanoseconds sync_time() {
  return waited;
}

}  // namespace tangram::journal
