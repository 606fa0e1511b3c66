#include "kube/node/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tangram::kube::node {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

constexpr double kPercent = 100;

// One metric: its head, and a line for each sample.
class Family {
 public:
  Family(std::string_view name, std::string_view help) : name_(name), help_(help) {}

  void add(const Labels& labels, double value) {
    samples_ += name_;
    char before = '{';
    for (const auto& [label, text] : labels) {
      samples_ += before;
      samples_ += label;
      samples_ += "=\"";
      for (const char c : text) {
        if (c == '\\' || c == '"') samples_ += '\\';
        if (c != '\n') samples_ += c;
      }
      samples_ += '"';
      before = ',';
    }
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    samples_ += "} ";
    samples_.append(digits.data(), end);
    samples_ += '\n';
  }

  void write(std::string& page) const {
    if (samples_.empty()) return;
    for (const std::string_view part :
         {std::string_view("# HELP "), name_, std::string_view(" "), help_, std::string_view("\n# TYPE "),
          name_, std::string_view(" gauge\n"), std::string_view(samples_)}) {
      page += part;
    }
  }

 private:
  const std::string_view name_;
  const std::string_view help_;
  std::string samples_;
};

struct Families {
  Family healthy{"tangram_node_npu_healthy", "1 while the NPU can be handed out, else 0."};
  Family strays{"tangram_node_npu_stray_slices", "Slices on the NPU that nobody here made."};
  Family info{"tangram_node_container_npu_info", "1 for each NPU, or slice of one, that a container has."};
  Family used{"tangram_node_container_memory_used_bytes",
              "Device memory in use; absent where the driver does not tell it."};
  Family limit{"tangram_node_container_memory_limit_bytes", "Device memory that a program can allocate."};
  Family load{"tangram_node_container_ai_core_utilization_ratio",
              "AI cores at work, 0 to 1; absent where the driver does not tell it."};
  Family hami_used{"hami_vgpu_memory_used_bytes", "As tangram_node_container_memory_used_bytes."};
  Family hami_limit{"hami_vgpu_memory_limit_bytes", "As tangram_node_container_memory_limit_bytes."};
  Family hami_load{"hami_container_device_utilization_ratio", "AI cores at work in percent."};

  std::string text() const {
    std::string page;
    for (const Family* family :
         {&healthy, &strays, &info, &used, &limit, &load, &hami_used, &hami_limit, &hami_load}) {
      family->write(page);
    }
    return page;
  }
};

// What the driver tells of a place.
struct Use {
  std::optional<double> used_bytes;
  std::optional<double> limit_bytes;
  std::optional<double> percent;
};

template <class T>
std::optional<double> number_of(const Sample<T>& sample) {
  if (!sample.valid) return std::nullopt;
  if constexpr (std::is_same_v<T, Bytes>) {
    return static_cast<double>(sample.value.count);
  } else {
    return static_cast<double>(sample.value);
  }
}

Use use_of(const Handed& entry, const DeviceNpu& npu) {
  if (!entry.slice) {
    return {number_of(npu.memory_used), number_of(npu.memory_total), number_of(npu.ai_core_percent)};
  }
  for (const DeviceSlice& slice : npu.slicing.slices.value) {
    if (slice.id != entry.slice_id) continue;
    return {number_of(slice.memory_used), number_of(slice.memory_usable), number_of(slice.ai_core_percent)};
  }
  return {};
}

void add_use(const Handed& entry, std::size_t place, const DeviceNpu& npu, const std::string& uuid,
             Families& families) {
  Labels labels{{"namespace", entry.who.space}, {"pod", entry.who.pod}, {"container", entry.who.container}};
  Labels hami = labels;
  hami.emplace_back("vdevice_index", std::to_string(place));
  hami.emplace_back("device_uuid", uuid);
  labels.emplace_back("npu", std::to_string(npu.physical_id));
  labels.emplace_back("uuid", uuid);
  Labels info = labels;
  info.emplace_back("slice", entry.slice ? std::to_string(entry.slice_id) : std::string());
  info.emplace_back("template", entry.template_name);
  families.info.add(info, 1);
  const Use use = use_of(entry, npu);
  if (use.used_bytes) families.used.add(labels, *use.used_bytes);
  if (use.used_bytes) families.hami_used.add(hami, *use.used_bytes);
  if (use.limit_bytes) families.limit.add(labels, *use.limit_bytes);
  if (use.limit_bytes) families.hami_limit.add(hami, *use.limit_bytes);
  if (use.percent) families.load.add(labels, *use.percent / kPercent);
  if (use.percent) families.hami_load.add(hami, *use.percent);
}

}  // namespace

std::string metrics_text(const MachineFacts& facts, const std::vector<DeviceNpu>& readings,
                         const std::vector<Handed>& entries) {
  Families families;
  for (const NpuFacts& npu : facts.npus) {
    const Labels labels{{"npu", std::to_string(npu.index)}, {"uuid", npu.uuid}, {"chip", npu.chip}};
    families.healthy.add(labels, npu.healthy ? 1 : 0);
    families.strays.add(labels, static_cast<double>(npu.strays.size()));
  }
  for (const Handed& entry : entries) {
    if (entry.state != Handed::State::kHeld) continue;
    for (std::size_t i = 0; i < entry.npus.size(); ++i) {
      const auto npu = std::ranges::find(readings, entry.npus[i], &DeviceNpu::physical_id);
      const auto known = std::ranges::find(facts.npus, entry.npus[i], &NpuFacts::index);
      if (npu != readings.end() && known != facts.npus.end()) add_use(entry, i, *npu, known->uuid, families);
    }
  }
  return families.text();
}

}  // namespace tangram::kube::node
