#include "net/host_lookup.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace tangram::net {
namespace {

// What the thread that looks up and the one that waits for it share; whoever is last frees it.
struct Question {
  std::string host;
  std::string port;
  LookUp look_up;
  Interrupt answered;  // raised by the thread when it has done its work
  std::mutex mutex;    // guards these two
  int problem = EAI_AGAIN;
  Addresses found;
};

addrinfo stream_wanted(int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  return wanted;
}

void answer(Question& question) {
  const addrinfo wanted = stream_wanted(AI_ADDRCONFIG);
  addrinfo* list = nullptr;
  const int problem = question.look_up(question.host.c_str(), question.port.c_str(), &wanted, &list);
  {
    const std::lock_guard lock(question.mutex);
    question.problem = problem;
    if (problem == 0) question.found.reset(list);
  }
  question.answered.raise();
}

// Signals are for the threads of the program, which may have a handler that waits for another one.
Result<void> start(const std::shared_ptr<Question>& question) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<void> started;
  try {
    std::thread([question] { answer(*question); }).detach();
  } catch (const std::system_error& problem) {
    started =
        fail(system_error("cannot start a thread to look up " + question->host, problem.code().value()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

tl::unexpected<Error> unknown(int problem) {
  return fail(Code::kUnavailable, "client.unreachable", gai_strerror(problem));
}

}  // namespace

Result<Addresses> look_up_host(const std::string& host, std::uint16_t port, ClientDeadline deadline,
                               const Interrupt* interrupt, LookUp look_up) {
  const std::string service = std::to_string(port);
  const addrinfo digits = stream_wanted(AI_NUMERICHOST | AI_NUMERICSERV);
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), service.c_str(), &digits, &list) == 0) return Addresses(list);
  const auto question = std::make_shared<Question>();
  question->host = host;
  question->port = service;
  question->look_up = std::move(look_up);
  if (question->answered.fd() < 0) return fail(system_error("cannot look up " + host, EMFILE));
  TG_TRY_VOID(start(question));
  TG_TRY([[maybe_unused]] const short ready, wait_for(question->answered.fd(), POLLIN, deadline, interrupt));
  const std::lock_guard lock(question->mutex);
  if (question->problem != 0) return unknown(question->problem);
  return std::move(question->found);
}

}  // namespace tangram::net
