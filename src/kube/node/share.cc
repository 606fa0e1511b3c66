#include "kube/node/share.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace tangram::kube::node {
namespace {

// Of parse_share(): "999" is the greatest number.
constexpr std::size_t kNumberLengthMax = 3;

bool before(const std::string& one, const std::string& other) {
  const auto a = parse_share(one);
  const auto b = parse_share(other);
  if (!a || !b) return one < other;
  return a->npu != b->npu ? a->npu < b->npu : a->number < b->number;
}

}  // namespace

std::string id_of(const Share& share) {
  return share.npu + "-" + std::to_string(share.number);
}

std::optional<Share> parse_share(std::string_view id) {
  const std::size_t dash = id.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view digits = id.substr(dash + 1);
  if (digits.empty() || digits.size() > kNumberLengthMax || (digits.size() > 1 && digits.front() == '0')) {
    return std::nullopt;
  }
  Share share{std::string(id.substr(0, dash)), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), share.number);
  if (error != std::errc() || end != digits.data() + digits.size() || share.number >= kSharesMax) {
    return std::nullopt;
  }
  return share;
}

bool is_share_id(std::string_view id) {
  // The dash keeps "." and ".." out.
  return id.find('/') == std::string_view::npos && id.find('\0') == std::string_view::npos &&
         parse_share(id).has_value();
}

std::uint32_t shares_of(Bytes allocatable, std::optional<Bytes> smallest_template,
                        std::optional<std::uint32_t> wanted) {
  if (wanted) return std::clamp(*wanted, std::uint32_t{1}, kSharesMax);
  if (!smallest_template || smallest_template->count <= 0) return 1;
  const std::int64_t room = allocatable.count / smallest_template->count;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(room, 1, kSharesMax));
}

std::vector<FreeShares> group_shares(const std::vector<std::string>& ids) {
  std::map<std::string, std::vector<std::string>> by_npu;
  for (const std::string& id : ids) {
    if (const auto share = parse_share(id)) by_npu[share->npu].push_back(id);
  }
  std::vector<FreeShares> groups;
  for (auto& [npu, list] : by_npu) {
    std::ranges::sort(list, before);
    groups.push_back({npu, std::move(list)});
  }
  return groups;
}

std::vector<std::string> prefer_shares(const std::vector<std::string>& available,
                                       const std::vector<std::string>& must, std::size_t size,
                                       const std::vector<std::string>& expected) {
  std::vector<std::string> chosen(must.begin(), must.end());
  if (chosen.size() > size) chosen.resize(size);
  const std::set<std::string> taken(chosen.begin(), chosen.end());
  std::vector<std::string> rest;
  for (const std::string& id : available) {
    if (!taken.contains(id)) rest.push_back(id);
  }
  std::vector<FreeShares> groups = group_shares(rest);
  for (const std::string& npu : expected) {
    const auto group = std::ranges::find(groups, npu, &FreeShares::npu);
    if (chosen.size() >= size || group == groups.end() || group->ids.empty()) continue;
    chosen.push_back(group->ids.front());
    group->ids.erase(group->ids.begin());
  }
  std::ranges::stable_sort(groups, {}, [](const FreeShares& group) { return group.ids.size(); });
  for (const FreeShares& group : groups) {
    for (const std::string& id : group.ids) {
      if (chosen.size() < size) chosen.push_back(id);
    }
  }
  return chosen;
}

}  // namespace tangram::kube::node
