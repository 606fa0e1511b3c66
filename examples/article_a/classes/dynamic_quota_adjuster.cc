// The article's DynamicQuotaAdjuster: other quotas at other times of day.
//
// Three of the article's faults are mended: a window over midnight (22:00-06:00) holds, the quota from before
// comes back when a window ends, and the time of day is the caller's, in a zone that the caller chose.
#include <tangram/client.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace tg = tangram::api;

namespace {

// Minutes since midnight of "09:30"; -1 for anything else.
int minutes_of(const std::string& text) {
  int hours = 0;
  int minutes = 0;
  char rest = '\0';
  const int read = std::sscanf(text.c_str(), "%2d:%2d%c", &hours, &minutes, &rest);
  const bool good = read == 2 && hours >= 0 && hours <= 24 && minutes >= 0 && minutes < 60;
  return good ? hours * 60 + minutes : -1;
}

// From `start` on and before `end`; a window whose end is before its start goes over midnight.
struct Window {
  int start = 0;
  int end = 0;

  bool holds(int now) const { return start <= end ? now >= start && now < end : now >= start || now < end; }
};

class DynamicQuotaAdjuster {
 public:
  explicit DynamicQuotaAdjuster(const tg::Client& client) : client_(client) {}

  // time_range: "09:00-18:00". Of several that hold, the one that was added last counts.
  void add_schedule(const std::string& tenant_id, const std::string& time_range, std::int64_t max_npus) {
    const std::size_t dash = time_range.find('-');
    const Window window{minutes_of(time_range.substr(0, dash)), minutes_of(time_range.substr(dash + 1))};
    if (!usual_.contains(tenant_id)) usual_[tenant_id] = client_.tenant(tenant_id).value().tenant.quota;
    rules_[tenant_id].push_back({window, max_npus});
  }

  // At this time of day, "HH:MM".
  void apply_schedule(const std::string& time_of_day) const {
    const int now = minutes_of(time_of_day);
    for (const auto& [tenant_id, rules] : rules_) {
      tg::Quota wanted = usual_.at(tenant_id);
      for (const Rule& rule : rules) {
        if (rule.window.holds(now)) wanted.npus = rule.max_npus;
      }
      const tg::Quota before = client_.tenant(tenant_id).value().tenant.quota;
      if (before.npus == wanted.npus) continue;
      client_.set_quota(tenant_id, wanted).value();
      std::printf("[动态配额] %s 租户 %s: max_npus %s → %s\n", time_of_day.c_str(), tenant_id.c_str(),
                  text(before.npus).c_str(), text(wanted.npus).c_str());
    }
  }

 private:
  struct Rule {
    Window window;
    std::int64_t max_npus = 0;
  };

  static std::string text(const std::optional<std::int64_t>& limit) {
    return limit ? std::to_string(*limit) : "无限制";
  }

  const tg::Client& client_;
  std::map<std::string, tg::Quota> usual_;  // outside of every window
  std::map<std::string, std::vector<Rule>> rules_;
};

void run(const std::vector<std::string>& times_of_day) {
  const tg::Client client = tg::Client::connect().value();
  tg::Tenant team_a;
  team_a.name = "team-a";
  team_a.quota.npus = 4;
  team_a.quota.running_jobs = 4;
  client.put_tenant(team_a).value();

  DynamicQuotaAdjuster adjuster(client);
  adjuster.add_schedule("team-a", "09:00-18:00", 6);
  adjuster.add_schedule("team-a", "22:00-06:00", 2);
  for (const std::string& time_of_day : times_of_day) {
    adjuster.apply_schedule(time_of_day);
    const tg::TenantStatus now = client.tenant("team-a").value();
    std::printf("%s: %lld NPUs, %lld running jobs\n", time_of_day.c_str(),
                static_cast<long long>(now.tenant.quota.npus.value_or(-1)),
                static_cast<long long>(now.tenant.quota.running_jobs.value_or(-1)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s HH:MM...   the times of day to live through\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    if (minutes_of(argv[i]) >= 0) continue;
    std::fprintf(stderr, "%s is no time of day\n", argv[i]);
    return 2;
  }
  try {
    run({argv + 1, argv + argc});
  } catch (const tg::Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", failure.error().reason.c_str(), failure.what());
    return 1;
  }
  return 0;
}
