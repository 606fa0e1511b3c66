#include "kube/admission/feed.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "base/log.h"
#include "kube/admission/quantity.h"
#include "kube/api/object_cache.h"
#include "kube/protocol/names.h"

namespace tangram::kube::admission {
namespace {

constexpr std::size_t kKinds = 5;
constexpr std::string_view kMemoryEnd = "-memory";

Resource own(const char* plural, const char* kind) {
  return {std::string(names::kGroup), std::string(names::kVersion), plural, false, kind};
}

void warn_of(const char* kind, const json::object& object, const Error& error) {
  log::warn(std::string(kind) + " " + std::string(meta_of(object).name) +
            " cannot be read and is as if it were not there: " + error.to_string());
}

std::optional<wire::Labels> labels_of(const json::object& object) {
  wire::Labels labels;
  if (const json::object* const present = object_at(object, {"metadata", "labels"})) {
    for (const json::key_value_pair& member : *present) {
      const json::string* const text = member.value().if_string();
      if (text != nullptr) labels.emplace(member.key(), std::string(text->data(), text->size()));
    }
  }
  return labels;
}

// Only the keys that nobody else counts.
std::optional<QuotaLimits> quota_limits_of(const json::object& object) {
  QuotaLimits limits;
  if (const json::object* const hard = object_at(object, {"spec", "hard"})) {
    for (const json::key_value_pair& member : *hard) {
      const std::string_view key(member.key().data(), member.key().size());
      const json::string* const text = member.value().if_string();
      if (!key.starts_with("limits.huawei.com/") || !key.ends_with(kMemoryEnd) || text == nullptr) continue;
      // A limit that is no whole number is taken for none at all by nobody: it holds as 0.
      const auto amount = whole_quantity(std::string_view(text->data(), text->size()));
      limits.emplace(key, amount.value_or(0));
    }
  }
  if (limits.empty()) return std::nullopt;
  return limits;
}

}  // namespace

QuotaLimits quota_use_of(const json::object& pod) {
  QuotaLimits use;
  const std::string_view phase = text_at(pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return use;
  const auto grants = read_grants(text_at(pod, {"metadata", "annotations", names::kGranted}));
  if (!grants) return use;
  std::map<std::string, std::vector<Rounded>> by_key;
  for (const ContainerGrant& grant : *grants) {
    by_key["limits." + grant.request.resource + std::string(kMemoryEnd)].push_back(
        {grant.request, grant, 0, {}});
  }
  for (const auto& [key, containers] : by_key) use[key] = demand_of(containers, SliceCount::kOne).memory_mib;
  return use;
}

SettingsBook::SettingsBook(Settings settings) : base_(std::move(settings)) {
  rebuild();
}

void SettingsBook::rebuild() {
  auto settings = std::make_shared<Settings>(base_);
  std::vector<wire::NpuResource> resources;
  const auto add = [&resources](const wire::NpuResource& resource) {
    const bool known = std::any_of(resources.begin(), resources.end(), [&](const wire::NpuResource& other) {
      return other.word == resource.word;
    });
    if (!known) resources.push_back(resource);
  };
  for (const auto& [name, resource] : chips_) add(resource);
  for (const wire::NpuResource& resource : base_.resources) add(resource);
  settings->resources = std::move(resources);
  current_ = std::move(settings);
}

void SettingsBook::put_chip(const std::string& name, wire::NpuResource resource) {
  const std::lock_guard lock(mutex_);
  chips_.insert_or_assign(name, std::move(resource));
  rebuild();
}

void SettingsBook::remove_chip(const std::string& name) {
  const std::lock_guard lock(mutex_);
  chips_.erase(name);
  rebuild();
}

std::shared_ptr<const Settings> SettingsBook::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

struct Feed::Kind {
  std::unique_ptr<ObjectSink> sink;
  std::unique_ptr<Reflector> reflector;
  Selection selection;
  std::thread thread;
};

Feed::Feed(ApiClient& client, std::shared_ptr<Directory> directory, std::shared_ptr<SettingsBook> settings)
    : Feed(client, std::move(directory), std::move(settings), Options{}) {}

Feed::Feed(ApiClient& client, std::shared_ptr<Directory> directory, std::shared_ptr<SettingsBook> settings,
           Options options)
    : client_(client),
      directory_(std::move(directory)),
      settings_(std::move(settings)),
      options_(options),
      synced_(kKinds, false) {
  follow_tenants();
  follow_namespaces();
  follow_quotas();
  follow_pods();
  follow_chips();
  for (const std::unique_ptr<Kind>& kind : kinds_) {
    kind->thread = std::thread([this, reflector = kind->reflector.get()] { reflector->run(stop_); });
  }
}

Feed::~Feed() {
  stop_.raise();
  for (const std::unique_ptr<Kind>& kind : kinds_) kind->thread.join();
}

std::function<void()> Feed::synced(std::size_t kind) {
  return [this, kind] {
    const std::lock_guard lock(mutex_);
    synced_[kind] = true;
    if (std::all_of(synced_.begin(), synced_.end(), [](bool one) { return one; })) directory_->set_ready();
  };
}

void Feed::add(std::unique_ptr<Kind> kind) {
  ReflectorOptions options;
  options.selection = kind->selection;
  options.watch_list = options_.watch_list;
  options.on_trouble = [what = kind->selection.resource.plural](const Error& error) {
    log::warn("following " + what + ": " + error.to_string());
  };
  kind->reflector = std::make_unique<Reflector>(client_, std::move(options), *kind->sink);
  kinds_.push_back(std::move(kind));
}

void Feed::follow_tenants() {
  using Cache = ObjectCache<wire::ClusterTenant>;
  const auto put = [this](const wire::ClusterTenant& tenant) { directory_->put_tenant(tenant); };
  auto kind = std::make_unique<Kind>();
  kind->selection.resource = own("tenants", "Tenant");
  kind->sink = std::make_unique<Cache>(
      [](const json::object& object) -> std::optional<wire::ClusterTenant> {
        auto tenant = wire::read_cluster_tenant(json::serialize(object));
        if (tenant) return std::move(*tenant);
        warn_of("Tenant", object, tenant.error());
        return std::nullopt;
      },
      Cache::Handlers{
          [put](const std::string&, const wire::ClusterTenant& now) { put(now); },
          [put](const std::string&, const wire::ClusterTenant&, const wire::ClusterTenant& now) { put(now); },
          [this](const std::string& name, const wire::ClusterTenant&) { directory_->remove_tenant(name); },
          synced(0)});
  add(std::move(kind));
}

void Feed::follow_namespaces() {
  using Cache = ObjectCache<wire::Labels>;
  const auto put = [this](const std::string& name, const wire::Labels& labels) {
    directory_->put_namespace(name, labels);
  };
  auto kind = std::make_unique<Kind>();
  kind->selection.resource = {"", "v1", "namespaces", false, "Namespace"};
  kind->selection.metadata_only = true;
  kind->sink = std::make_unique<Cache>(
      labels_of,
      Cache::Handlers{
          put,
          [put](const std::string& name, const wire::Labels&, const wire::Labels& now) { put(name, now); },
          [this](const std::string& name, const wire::Labels&) { directory_->remove_namespace(name); },
          synced(1)});
  add(std::move(kind));
}

void Feed::follow_quotas() {
  using Cache = ObjectCache<QuotaLimits>;
  const auto put = [this](const std::string& name, const QuotaLimits& limits) {
    directory_->put_quota(name, limits);
  };
  auto kind = std::make_unique<Kind>();
  kind->selection.resource = {"", "v1", "resourcequotas", true, "ResourceQuota"};
  kind->sink = std::make_unique<Cache>(
      quota_limits_of,
      Cache::Handlers{
          put, [put](const std::string& name, const QuotaLimits&, const QuotaLimits& now) { put(name, now); },
          [this](const std::string& name, const QuotaLimits&) { directory_->remove_quota(name); },
          synced(2)});
  add(std::move(kind));
}

void Feed::follow_pods() {
  using Cache = ObjectCache<QuotaLimits>;
  const auto put = [this](const std::string& name, const QuotaLimits& use) {
    directory_->put_pod(name, use);
  };
  auto kind = std::make_unique<Kind>();
  kind->selection.resource = resources::pods();
  kind->selection.label_selector = std::string(names::kManagedLabel) + "=true";
  kind->sink = std::make_unique<Cache>(
      [](const json::object& object) -> std::optional<QuotaLimits> {
        QuotaLimits use = quota_use_of(object);
        return use.empty() ? std::nullopt : std::optional(std::move(use));
      },
      Cache::Handlers{
          put, [put](const std::string& name, const QuotaLimits&, const QuotaLimits& now) { put(name, now); },
          [this](const std::string& name, const QuotaLimits&) { directory_->remove_pod(name); }, synced(3)});
  add(std::move(kind));
}

void Feed::follow_chips() {
  using Cache = ObjectCache<wire::NpuResource>;
  const auto put = [this](const std::string& name, const wire::NpuResource& resource) {
    settings_->put_chip(name, resource);
  };
  auto kind = std::make_unique<Kind>();
  kind->selection.resource = own("chipmodels", "ChipModel");
  kind->sink = std::make_unique<Cache>(
      [](const json::object& object) -> std::optional<wire::NpuResource> {
        const auto chip = wire::read_cluster_chip(json::serialize(object));
        if (chip) return chip->resource();
        warn_of("ChipModel", object, chip.error());
        return std::nullopt;
      },
      Cache::Handlers{
          put,
          [put](const std::string& name, const wire::NpuResource&, const wire::NpuResource& now) {
            put(name, now);
          },
          [this](const std::string& name, const wire::NpuResource&) { settings_->remove_chip(name); },
          synced(4)});
  add(std::move(kind));
}

}  // namespace tangram::kube::admission
