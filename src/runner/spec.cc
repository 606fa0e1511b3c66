#include "runner/spec.h"

#include <cstring>
#include <optional>
#include <type_traits>

namespace tangram::runner {
namespace {

constexpr std::int64_t kMagic = 0x54475350'00000002;  // "TGSP", version 2
constexpr std::int64_t kItemsMax = 1 << 20;

class Writer {
 public:
  template <class T>
    requires std::is_integral_v<T>
  void visit(const T& number) {
    const auto wide = static_cast<std::int64_t>(number);
    bytes_.append(reinterpret_cast<const char*>(&wide), sizeof wide);
  }
  void visit(const std::string& text) {
    visit(text.size());
    bytes_ += text;
  }
  template <class T>
  void visit(const std::vector<T>& items);
  template <class A, class B>
  void visit(const std::pair<A, B>& both) {
    visit(both.first);
    visit(both.second);
  }
  template <class T>
  void visit(const std::optional<T>& item) {
    visit(item.has_value());
    if (item) visit(*item);
  }
  void visit(const CgroupDir& dir);
  void visit(const BindMount& mount);
  void visit(const LaunchSlice& slice);

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
    requires std::is_integral_v<T>
  void visit(T& number) {
    std::int64_t wide = 0;
    if (bytes_.size() < sizeof wide) ok_ = false;
    if (!ok_) return;
    std::memcpy(&wide, bytes_.data(), sizeof wide);
    bytes_.remove_prefix(sizeof wide);
    number = static_cast<T>(wide);
  }
  void visit(std::string& text) {
    std::uint64_t size = 0;
    visit(size);
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return;
    text.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
  }
  template <class T>
  void visit(std::vector<T>& items);
  template <class A, class B>
  void visit(std::pair<A, B>& both) {
    visit(both.first);
    visit(both.second);
  }
  template <class T>
  void visit(std::optional<T>& item) {
    bool there = false;
    visit(there);
    if (there) visit(item.emplace());
  }
  void visit(CgroupDir& dir);
  void visit(BindMount& mount);
  void visit(LaunchSlice& slice);

  bool complete() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// One list of the fields serves both directions, so that they cannot drift apart.
template <class Visitor, class Dir>
void visit_cgroup(Visitor& visitor, Dir& dir) {
  visitor.visit(dir.path);
  visitor.visit(dir.controllers);
  visitor.visit(dir.unified);
}

template <class Visitor, class Mount>
void visit_mount(Visitor& visitor, Mount& mount) {
  visitor.visit(mount.source);
  visitor.visit(mount.target);
  visitor.visit(mount.read_only);
}

template <class Visitor, class Slice>
void visit_slice(Visitor& visitor, Slice& slice) {
  visitor.visit(slice.physical_id);
  visitor.visit(slice.id);
  visitor.visit(slice.template_name);
}

template <class Visitor, class Spec>
void visit_spec(Visitor& visitor, Spec& spec) {
  auto& launch = spec.launch;
  visitor.visit(launch.key.job);
  visitor.visit(launch.key.attempt);
  visitor.visit(launch.tenant);
  visitor.visit(launch.uid);
  visitor.visit(launch.gid);
  visitor.visit(launch.groups);
  visitor.visit(launch.argv);
  visitor.visit(launch.env);
  visitor.visit(launch.workdir);
  visitor.visit(launch.npus);
  visitor.visit(launch.slice);
  visitor.visit(launch.limits.cpu_milli);
  visitor.visit(launch.limits.memory.count);
  visitor.visit(launch.limits.processes);
  visitor.visit(launch.time_limit_ms);
  visitor.visit(launch.grace_ms);
  visitor.visit(launch.log_bytes_max);
  visitor.visit(spec.dir);
  visitor.visit(spec.cgroup);
  visitor.visit(spec.walls.user);
  visitor.visit(spec.walls.namespaces);
  visitor.visit(spec.walls.device_filter);
  visitor.visit(spec.device_dir);
  visitor.visit(spec.mounts);
  visitor.visit(spec.hidden_paths);
}

void Writer::visit(const CgroupDir& dir) {
  visit_cgroup(*this, dir);
}
void Writer::visit(const BindMount& mount) {
  visit_mount(*this, mount);
}
void Writer::visit(const LaunchSlice& slice) {
  visit_slice(*this, slice);
}
void Reader::visit(CgroupDir& dir) {
  visit_cgroup(*this, dir);
}
void Reader::visit(BindMount& mount) {
  visit_mount(*this, mount);
}
void Reader::visit(LaunchSlice& slice) {
  visit_slice(*this, slice);
}

template <class T>
void Writer::visit(const std::vector<T>& items) {
  visit(items.size());
  for (const T& item : items) visit(item);
}

template <class T>
void Reader::visit(std::vector<T>& items) {
  std::int64_t count = 0;
  visit(count);
  if (count < 0 || count > kItemsMax) ok_ = false;
  for (std::int64_t i = 0; ok_ && i < count; ++i) visit(items.emplace_back());
}

}  // namespace

std::string encode(const SuperviseSpec& spec) {
  Writer writer;
  writer.visit(kMagic);
  visit_spec(writer, spec);
  return writer.take();
}

Result<SuperviseSpec> decode(std::string_view bytes) {
  Reader reader(bytes);
  std::int64_t magic = 0;
  reader.visit(magic);
  SuperviseSpec spec;
  if (magic == kMagic) visit_spec(reader, spec);
  if (magic != kMagic || !reader.complete()) {
    return fail(Code::kDataLoss, "runner.spec.format",
                "the launch description is not of this version of tangram-supervise",
                "install tangramd and tangram-supervise of the same version");
  }
  return spec;
}

}  // namespace tangram::runner
