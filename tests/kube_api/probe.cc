// The API client on the command line, for tests against a real API server. The cluster is the one of
// KUBECONFIG. What comes back is printed; a failure is its reason and its message, and exit status 1.
#include <signal.h>

#include <boost/json/parse.hpp>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kube/api/client.h"
#include "kube/api/event_recorder.h"
#include "kube/api/leader_election.h"
#include "kube/api/object_cache.h"
#include "kube/api/reflector.h"

namespace tangram::kube {
namespace {

using Words = std::vector<std::string>;

void say(const std::string& line) {
  std::cout << line << std::endl;  // a test waits for it
}

// "v1/pods", "coordination.k8s.io/v1/leases". A cluster-wide one is named with the namespace "-".
Resource resource_of(const std::string& text, const std::string& space) {
  std::istringstream parts(text);
  Words words;
  for (std::string word; std::getline(parts, word, '/');) words.push_back(word);
  const bool core = words.size() == 2;
  return {core ? "" : words[0], words[words.size() - 2], words.back(), space != "-", ""};
}

std::string space_of(const std::string& space) {
  return space == "-" ? "" : space;
}

ObjectName object_of(const Words& words) {
  ObjectName object{resource_of(words[1], words[2]), space_of(words[2]), words[3]};
  if (const std::size_t slash = object.name.find('/'); slash != std::string::npos) {
    object.subresource = object.name.substr(slash + 1);
    object.name.resize(slash);
  }
  return object;
}

std::string input() {
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

std::string word(const Words& words, std::size_t at) {
  return at < words.size() ? words[at] : "";
}

// Until this process is told to end.
void until_terminated(const std::function<void(const net::Interrupt&)>& run) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  net::Interrupt stop;
  std::thread thread([&] { run(stop); });
  int number = 0;
  sigwait(&ends, &number);
  stop.raise();
  thread.join();
}

Result<std::string> follow(ApiClient& client, const Words& words) {
  ReflectorOptions options;
  options.selection.resource = resource_of(words[1], words[2]);
  options.selection.space = space_of(words[2]);
  options.watch_list = word(words, 3) != "list";
  options.page_objects = 50;
  options.on_trouble = [](const Error& error) { say("! " + error.reason); };
  using Cache = ObjectCache<std::string>;
  Cache cache(
      [](const json::object& object) -> std::optional<std::string> {
        return std::string(text_at(object, {"data", "value"}));
      },
      Cache::Handlers{[](const std::string& key, const std::string& now) { say("+ " + key + " " + now); },
                      [](const std::string& key, const std::string&, const std::string& now) {
                        say("~ " + key + " " + now);
                      },
                      [](const std::string& key, const std::string&) { say("- " + key); },
                      [] { say("synced"); }});
  Reflector reflector(client, options, cache);
  until_terminated([&](const net::Interrupt& stop) { reflector.run(stop); });
  return "objects " + std::to_string(cache.size());
}

Result<std::string> lead(ApiClient& client, const Words& words) {
  ElectionOptions options;
  options.space = words[1];
  options.name = words[2];
  options.identity = words[3];
  options.lease_duration = std::chrono::seconds(4);
  options.renew_deadline = std::chrono::milliseconds(3'000);
  options.retry_period = std::chrono::milliseconds(500);
  options.on_lead = [](std::int64_t term) { say("lead " + std::to_string(term)); };
  options.on_lose = [] { say("lose"); };
  options.on_trouble = [](const Error& error) { say("! " + error.reason); };
  LeaderElection election(client, options);
  until_terminated([&](const net::Interrupt& stop) { election.run(stop); });
  return "ended";
}

Result<std::string> record(ApiClient& client, const Words& words) {
  RecorderOptions options;
  options.controller = "tangram.dev/probe";
  options.instance = "probe-0";
  options.write_again = std::chrono::milliseconds(500);
  options.on_trouble = [](const Error& error) { say("! " + error.to_string()); };
  EventRecorder recorder(client, options);
  for (int i = 0; i < 3; ++i) {
    recorder.record(
        {{"v1", "Pod", words[1], words[2], words[3]}, true, "Probed", "Probe", "a sentence for people"});
    recorder.write_due(nullptr);
  }
  client.timing().rest(options.write_again, nullptr);
  recorder.write_due(nullptr);
  return "written " + std::to_string(recorder.counters().written);
}

Result<std::string> list(ApiClient& client, const Words& words) {
  const ListQuery query{{resource_of(words[1], words[2]), space_of(words[2])}, std::stoul(words[3]), {}};
  std::size_t count = 0;
  TG_TRY([[maybe_unused]] const std::string version,
         client.list(query, [&](const json::object& object) -> Result<void> {
           say(std::string(meta_of(object).name));
           ++count;
           return {};
         }));
  return "objects " + std::to_string(count);
}

Result<std::string> done(Result<void> result) {
  if (!result) return fail(std::move(result).error());
  return "done";
}

using Command = std::function<Result<std::string>(ApiClient&, const Words&)>;

// Of what is written behind each name; bodies come from the standard input.
const std::map<std::string, Command>& commands() {
  static const std::map<std::string, Command> all{
      {"path", [](ApiClient& client, const Words& words) { return client.get_path(words[1]); }},
      {"get", [](ApiClient& client, const Words& words) { return client.get(object_of(words)); }},
      {"list", list},
      {"create",
       [](ApiClient& client, const Words& words) {
         return client.create(resource_of(words[1], words[2]), space_of(words[2]), input());
       }},
      {"apply",
       [](ApiClient& client, const Words& words) {
         return client.apply(object_of(words), input(), word(words, 4) == "force");
       }},
      {"merge",
       [](ApiClient& client, const Words& words) {
         return client.merge_patch(object_of(words), json::parse(input()).as_object(), word(words, 4));
       }},
      {"patch",
       [](ApiClient& client, const Words& words) {
         return client.json_patch(object_of(words), json::parse(input()).as_array(), word(words, 4));
       }},
      {"delete",
       [](ApiClient& client, const Words& words) {
         return done(client.remove(object_of(words), {{word(words, 4), word(words, 5)}}));
       }},
      {"evict", [](ApiClient& client,
                   const Words& words) { return done(client.evict(words[1], words[2], words[3], 0)); }},
      {"bind", [](ApiClient& client,
                  const Words& words) { return done(client.bind(words[1], words[2], words[3], words[4])); }},
      {"follow", follow},
      {"lead", lead},
      {"event", record}};
  return all;
}

int run(const Words& words) {
  const auto command = commands().find(word(words, 0));
  if (command == commands().end()) return 2;
  auto config = find_config("", "");
  if (!config) {
    say(config.error().reason + ": " + config.error().to_string());
    return 1;
  }
  auto client = ApiClient::open(std::move(*config));
  const auto answer = client ? command->second(**client, words) : fail(client.error());
  say(answer ? *answer : answer.error().reason + ": " + answer.error().to_string());
  return answer ? 0 : 1;
}

}  // namespace
}  // namespace tangram::kube

int main(int count, char** words) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before any thread
  return tangram::kube::run({words + 1, words + count});
}
