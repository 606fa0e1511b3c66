#include "kube/node/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "kube/node/share.h"
#include "ports/device_slices.h"

namespace tangram::kube::node {
namespace {

constexpr int kVersion = 1;
constexpr mode_t kFileMode = 0600;
constexpr std::int64_t kPhysicalIdMax = 65'535;
constexpr std::int64_t kSliceIdMax = 65'535;
constexpr std::int64_t kVgroupMax = 15;

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

Result<std::uint32_t> physical_id_of(const json::value& value) {
  const std::int64_t* const number = value.if_int64();
  if (number == nullptr || *number < 0 || *number > kPhysicalIdMax) return damaged("an NPU that is none");
  return static_cast<std::uint32_t>(*number);
}

Result<void> read_places(const json::object& object, Handed& entry) {
  const json::array* ids = array_at(object, {"ids"});
  const json::array* npus = array_at(object, {"npus"});
  if (ids == nullptr || ids->empty() || npus == nullptr || npus->empty()) {
    return damaged("an entry without ids or NPUs");
  }
  for (const json::value& id : *ids) {
    // They become names of directories.
    if (!id.is_string() || !is_share_id(std::string_view(id.get_string())))
      return damaged("a share that is none");
    entry.ids.emplace_back(std::string_view(id.get_string()));
  }
  for (const json::value& npu : *npus) {
    TG_TRY(const std::uint32_t physical_id, physical_id_of(npu));
    entry.npus.push_back(physical_id);
  }
  return {};
}

Result<Handed::State> state_of(std::string_view word) {
  for (const Handed::State state : {Handed::State::kOrdered, Handed::State::kHeld, Handed::State::kEnded}) {
    if (word == word_of(state)) return state;
  }
  return damaged("a state that is none");
}

Result<Handed> entry_of(const json::object& object) {
  Handed entry;
  entry.who = {std::string(text_at(object, {"uid"})), std::string(text_at(object, {"namespace"})),
               std::string(text_at(object, {"pod"})), std::string(text_at(object, {"container"}))};
  if (entry.who.uid.empty() || entry.who.container.empty()) return damaged("an entry of nobody");
  TG_TRY_VOID(read_places(object, entry));
  TG_TRY(entry.state, state_of(text_at(object, {"state"})));
  entry.template_name = text_at(object, {"template"});
  entry.slice = !entry.template_name.empty();
  if (!entry.slice) {
    // A slice that has lost its template is no whole NPU.
    if (object.contains("slice")) return damaged("a slice without a template");
    return entry;
  }
  const std::int64_t id = number_at(object, {"slice"}).value_or(0);
  if (id < 0 || id > kSliceIdMax || entry.npus.size() != 1 ||
      !is_slice_id(entry.npus.front(), static_cast<std::uint32_t>(id))) {
    return damaged("slice " + std::to_string(id) + " of NPU " + std::to_string(entry.npus.front()) +
                   " cannot be");
  }
  entry.slice_id = static_cast<std::uint32_t>(id);
  const std::int64_t vgroup = number_at(object, {"vgroup"}).value_or(kNoVgroup);
  if (vgroup < kNoVgroup || vgroup > kVgroupMax) return damaged("a vGroup that is none");
  entry.vgroup = static_cast<std::int32_t>(vgroup);
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
      if (entry.vgroup != kNoVgroup) one["vgroup"] = std::int64_t{entry.vgroup};
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
  std::set<std::uint32_t> slices;
  for (const json::value& value : *list) {
    const json::object* object = value.if_object();
    if (object == nullptr) return damaged("an entry is no object");
    TG_TRY(Handed entry, entry_of(*object));
    if (entry.slice && !slices.insert(entry.slice_id).second) return damaged("a slice that two have");
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::optional<std::vector<Handed>>> Ledger::read() const {
  const std::ifstream file(path_);
  if (!file) {
    if (errno == ENOENT) return std::optional<std::vector<Handed>>();
    return fail(system_error("cannot open " + path_, errno));
  }
  std::ostringstream text;
  text << file.rdbuf();
  TG_TRY(std::vector<Handed> entries, parse_ledger(text.str()));
  return std::optional(std::move(entries));
}

void Ledger::set_aside() const {
  // Of no use to the agent: that it fails is no reason to stop.
  std::rename(path_.c_str(), (path_ + ".damaged").c_str());
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
