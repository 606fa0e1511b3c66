// What an API server, or whatever answers in its place, may send: '0' lines of a watch, '1' the body of a
// refusal (its first two bytes are the status), '2' a Lease. '3' is a kubeconfig.
#include <cstddef>
#include <cstdint>
#include <string>

#include "input.h"
#include "kube/api/config.h"
#include "kube/api/failure.h"
#include "kube/api/lease_record.h"
#include "kube/api/watch_event.h"
#include "require.h"

namespace tangram::fuzz {
namespace {

void check_watch(Input& input) {
  kube::JsonReader reader;
  while (!input.empty()) {
    const std::string_view line = input.until('\n');
    const auto event = kube::read_watch_event(reader, line);
    if (!event) {
      require_presentable(event.error());
      continue;
    }
    if (event->type == kube::WatchEvent::Type::kError) {
      require_presentable(kube::failure_from_status(*event->object, "watch pods"));
      continue;
    }
    const kube::ObjectMeta meta = kube::meta_of(*event->object);
    require(!meta.resource_version.empty(), "an event moves the version on");
    require(event->type == kube::WatchEvent::Type::kBookmark || !meta.name.empty(), "an object has a name");
  }
}

void check_refusal(Input& input) {
  const int status = 300 + static_cast<int>(input.number(2) % 400);
  net::Response answer{status, {}, ""};
  answer.headers.set("Retry-After", std::string(input.until('\n')));
  answer.body = std::string(input.rest());
  const Error error = kube::failure_from_answer(answer, "get pods team-a/train-0");
  require_presentable(error);
  require(kube::reason_of(kube::failure_of(error)) == error.reason, "a reason is one of the known");
  const auto rest = kube::retry_after(error);
  require(!rest || (rest->count() >= 0 && *rest <= std::chrono::minutes(5)), "a rest is bounded");
}

void check_lease(Input& input) {
  const auto object = kube::parse_object(input.rest());
  if (!object) return require_presentable(object.error());
  const kube::LeaseRecord record = kube::lease_record(*object);
  require(record.duration_seconds >= 0 && record.duration_seconds <= 86'400, "a lease ends");
  require(record.transitions >= 0, "terms grow");
  const kube::LeaseRecord again = kube::lease_record(kube::json::object{{"spec", kube::lease_spec(record)}});
  require(again.holder == record.holder && again.transitions == record.transitions &&
              again.duration_seconds == record.duration_seconds,
          "what is written is read");
}

void check_kubeconfig(Input& input) {
  const auto config = kube::parse_kubeconfig(input.rest(), "/etc/kube", "the file", "");
  if (!config) return require_presentable(config.error());
  require(!config->host.empty() && config->port != 0, "a server can be called");
  require(config->client_certificate.given() == config->client_key.given(), "a certificate has its key");
}

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tangram::fuzz::Input input(data, size);
  switch (input.byte()) {
    case '0':
      tangram::fuzz::check_watch(input);
      return 0;
    case '1':
      tangram::fuzz::check_refusal(input);
      return 0;
    case '2':
      tangram::fuzz::check_lease(input);
      return 0;
    case '3':
      tangram::fuzz::check_kubeconfig(input);
      return 0;
    default:
      return -1;
  }
}
