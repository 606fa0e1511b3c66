#include "kube/manager/book.h"

#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "kube/manager/book_state.h"
#include "kube/manager/why.h"

namespace tangram::kube::manager {

ClusterBook::ClusterBook(const BookOptions& options, Timing& timing)
    : timing_(timing), state_(std::make_unique<BookState>(options, timing)) {
  directory_.set_ready();
}

ClusterBook::~ClusterBook() = default;

template <class Change>
auto ClusterBook::changed(Change change) const {
  const std::lock_guard lock(mutex_);
  ++changes_;
  changed_.notify_all();
  return change(*state_);
}

void ClusterBook::put_tenant(wire::ClusterTenant tenant) {
  directory_.put_tenant(tenant);
  changed([&](BookState& state) { state.put_tenant(std::move(tenant)); });
}

void ClusterBook::remove_tenant(std::string_view name) {
  directory_.remove_tenant(name);
  changed([&](BookState& state) { state.remove_tenant(name); });
}

void ClusterBook::put_namespace(std::string name, wire::Labels labels) {
  changed([&](BookState&) { namespaces_.insert(name); });
  directory_.put_namespace(std::move(name), std::move(labels));
}

void ClusterBook::remove_namespace(std::string_view name) {
  changed([&](BookState&) {
    if (const auto at = namespaces_.find(name); at != namespaces_.end()) namespaces_.erase(at);
  });
  directory_.remove_namespace(name);
}

void ClusterBook::put_chip(wire::ClusterChip chip) {
  changed([&](BookState& state) { state.put_chip(std::move(chip)); });
}

void ClusterBook::remove_chip(std::string_view name) {
  changed([&](BookState& state) { state.remove_chip(name); });
}

void ClusterBook::put_node(NodeFacts node) {
  changed([&](BookState& state) { state.put_node(std::move(node)); });
}

void ClusterBook::remove_node(std::string_view name) {
  changed([&](BookState& state) { state.remove_node(name); });
}

void ClusterBook::put_pod(PodFacts pod) {
  changed([&](BookState& state) { state.put_pod(std::move(pod)); });
}

void ClusterBook::remove_pod(const extender::PodRef& pod) {
  changed([&](BookState& state) { state.remove_pod(pod); });
}

void ClusterBook::complete() {
  changed([](BookState& state) { state.complete(); });
}

void ClusterBook::close() {
  changed([this](BookState&) { closed_ = true; });
}

bool ClusterBook::ready() const {
  const std::lock_guard lock(mutex_);
  return !closed_ && state_->is_complete();
}

Result<void> ClusterBook::check_ready() const {
  if (!closed_ && state_->is_complete()) return {};
  return fail(Code::kUnavailable, "kube.book.not_ready",
              closed_ ? "another process leads" : "what the cluster holds has not been read yet",
              "try again in some seconds");
}

std::vector<Opening> ClusterBook::admit(std::size_t most) {
  const std::lock_guard lock(mutex_);
  return closed_ ? std::vector<Opening>() : state_->admit(most);
}

void ClusterBook::opened(const extender::PodRef& pod) {
  changed([&](BookState& state) { state.opened(pod); });
}

void ClusterBook::take_back(const extender::PodRef& pod, const Error& problem, Milliseconds rest) {
  changed([&](BookState& state) { state.take_back(pod, problem, rest); });
}

void ClusterBook::expire() {
  const std::lock_guard lock(mutex_);
  state_->expire();
}

std::vector<PodNote> ClusterBook::notes(Milliseconds after, std::size_t most) {
  const std::lock_guard lock(mutex_);
  return state_->notes(after, most);
}

void ClusterBook::not_told(const extender::PodRef& pod, bool tried) {
  const std::lock_guard lock(mutex_);
  state_->not_told(pod, tried);
}

std::vector<extender::PodRef> ClusterBook::wakeable(std::size_t most) {
  const std::lock_guard lock(mutex_);
  return state_->wakeable(most);
}

void ClusterBook::not_woken(const extender::PodRef& pod) {
  const std::lock_guard lock(mutex_);
  state_->not_woken(pod);
}

std::vector<TenantUse> ClusterBook::tenants() const {
  std::vector<TenantUse> uses;
  std::set<std::string, std::less<>> spaces;
  {
    const std::lock_guard lock(mutex_);
    uses = state_->tenants();
    spaces = namespaces_;
  }
  std::map<std::string, std::int64_t, std::less<>> count;
  for (const std::string& space : spaces) {
    const auto chain = directory_.tenant_of(space);
    if (chain && !chain->empty()) ++count[chain->front().name];
  }
  for (TenantUse& use : uses) {
    const auto at = count.find(use.name);
    use.namespaces = at == count.end() ? 0 : at->second;
  }
  return uses;
}

BookCounts ClusterBook::counts() const {
  const std::lock_guard lock(mutex_);
  return state_->counts();
}

std::uint64_t ClusterBook::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

std::uint64_t ClusterBook::wait(std::uint64_t seen, Milliseconds most) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return changes_ != seen || closed_; });
  return changes_;
}

Result<PodWhy> ClusterBook::why(const extender::PodRef& pod, wire::Language language) const {
  Result<WhyQuestion> question = [&]() -> Result<WhyQuestion> {
    const std::lock_guard lock(mutex_);
    TG_TRY_VOID(check_ready());
    return state_->question(pod);
  }();
  if (!question) return fail(std::move(question).error());
  const auto now = std::chrono::duration_cast<Milliseconds>(timing_.wall().time_since_epoch());
  return explain(*question, TimeMs(now.count()), language);
}

std::string ClusterBook::describe() const {
  const std::lock_guard lock(mutex_);
  return state_->describe();
}

bool ClusterBook::concerns(const extender::PodRef& pod) const {
  const std::lock_guard lock(mutex_);
  return !check_ready() || state_->concerns(pod);
}

Result<std::vector<extender::Fit>> ClusterBook::filter(const extender::PodRef& pod,
                                                       std::span<const std::string> nodes) const {
  const std::lock_guard lock(mutex_);
  TG_TRY_VOID(check_ready());
  return state_->filter(pod, nodes);
}

Result<extender::Reservation> ClusterBook::reserve(const extender::PodRef& pod, const std::string& node) {
  const std::lock_guard lock(mutex_);
  TG_TRY_VOID(check_ready());
  return state_->reserve(pod, node);
}

void ClusterBook::drop(const extender::PodRef& pod) {
  changed([&](BookState& state) { state.drop(pod); });
}

}  // namespace tangram::kube::manager
