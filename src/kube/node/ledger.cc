#include "kube/node/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "ports/device_slices.h"

namespace tangram::kube::node {
namespace {

constexpr int kVersion = 1;
constexpr mode_t kFileMode = 0600;

std::string_view word_of(Handed::State state) {
  switch (state) {
    case Handed::State::kOrdered:
      return "ordered";
    case Handed::State::kHeld:
      return "held";
    case Handed::State::kEnded:
      return "ended";
  }
  return "ended";
}

tl::unexpected<Error> damaged(const std::string& what) {
  return fail(Code::kDataLoss, "node.ledger.damaged", "the agent's ledger cannot be understood: " + what);
}

Result<Handed> entry_of(const json::object& object) {
  Handed entry;
  entry.who = {std::string(text_at(object, {"uid"})), std::string(text_at(object, {"namespace"})),
               std::string(text_at(object, {"pod"})), std::string(text_at(object, {"container"}))};
  if (entry.who.uid.empty() || entry.who.container.empty()) return damaged("an entry of nobody");
  const json::array* ids = array_at(object, {"ids"});
  const json::array* npus = array_at(object, {"npus"});
  if (ids == nullptr || npus == nullptr || npus->empty()) return damaged("an entry without ids or NPUs");
  for (const json::value& id : *ids) {
    if (id.is_string()) entry.ids.emplace_back(std::string_view(id.get_string()));
  }
  for (const json::value& npu : *npus) {
    if (npu.is_int64()) entry.npus.push_back(static_cast<std::uint32_t>(npu.get_int64()));
  }
  entry.template_name = text_at(object, {"template"});
  entry.slice = !entry.template_name.empty();
  entry.slice_id = static_cast<std::uint32_t>(number_at(object, {"slice"}).value_or(0));
  if (entry.npus.size() != npus->size()) return damaged("an NPU that is none");
  if (entry.slice && !is_slice_id(entry.npus.front(), entry.slice_id)) {
    return damaged("slice " + std::to_string(entry.slice_id) + " of NPU " +
                   std::to_string(entry.npus.front()) + " cannot be");
  }
  const std::string_view state = text_at(object, {"state"});
  if (state == word_of(Handed::State::kOrdered)) {
    entry.state = Handed::State::kOrdered;
  } else if (state == word_of(Handed::State::kHeld)) {
    entry.state = Handed::State::kHeld;
  } else if (state == word_of(Handed::State::kEnded)) {
    entry.state = Handed::State::kEnded;
  } else {
    return damaged("a state that is none");
  }
  return entry;
}

// 0, or errno.
int write_synced(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

int sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

std::string ledger_text(const std::vector<Handed>& entries) {
  json::array list;
  for (const Handed& entry : entries) {
    json::object one{{"uid", entry.who.uid},
                     {"namespace", entry.who.space},
                     {"pod", entry.who.pod},
                     {"container", entry.who.container},
                     {"state", word_of(entry.state)}};
    json::array ids;
    for (const std::string& id : entry.ids) ids.emplace_back(id);
    json::array npus;
    for (const std::uint32_t npu : entry.npus) npus.emplace_back(std::int64_t{npu});
    one["ids"] = std::move(ids);
    one["npus"] = std::move(npus);
    if (entry.slice) {
      one["template"] = entry.template_name;
      one["slice"] = std::int64_t{entry.slice_id};
    }
    list.push_back(std::move(one));
  }
  return json::serialize(json::object{{"version", kVersion}, {"entries", std::move(list)}}) + "\n";
}

Result<std::vector<Handed>> parse_ledger(std::string_view text) {
  const Result<json::object> ledger = parse_object(text);
  if (!ledger) return damaged("it is no JSON object");
  if (number_at(*ledger, {"version"}) != kVersion) return damaged("it is of another version");
  const json::array* list = array_at(*ledger, {"entries"});
  if (list == nullptr) return damaged("it has no entries");
  std::vector<Handed> entries;
  for (const json::value& value : *list) {
    const json::object* object = value.if_object();
    if (object == nullptr) return damaged("an entry is no object");
    TG_TRY(Handed entry, entry_of(*object));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<Handed>> Ledger::read() const {
  const std::ifstream file(path_);
  if (!file) {
    if (errno == ENOENT) return std::vector<Handed>();
    return fail(system_error("cannot open " + path_, errno));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return parse_ledger(text.str());
}

Result<void> Ledger::write(const std::vector<Handed>& entries) const {
  const std::string making = path_ + ".new";
  const int fd = ::open(making.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (fd < 0) return fail(system_error("cannot open " + making, errno));
  int error = write_synced(fd, ledger_text(entries));
  close(fd);
  if (error == 0 && rename(making.c_str(), path_.c_str()) != 0) error = errno;
  if (error == 0) error = sync_directory(std::filesystem::path(path_).parent_path().string());
  if (error != 0) return fail(system_error("cannot write " + path_, error));
  return {};
}

}  // namespace tangram::kube::node
