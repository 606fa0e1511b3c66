#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/commands/all.h"
#include "cli/local_program.h"
#include "cli/render.h"
#include "cli/request_options.h"
#include "cli/session.h"
#include "client/lease_keeper.h"
#include "wire/cli_texts.h"
#include "wire/errors.h"
#include "wire/sentences.h"

namespace tangram::cli {
namespace {

using client::LeaseKeeper;
using client::LeaseNews;
namespace say = wire::say;

// What a program gets that does not end when its NPUs are gone, or that is asked to while nobody says until
// when.
constexpr std::int64_t kGraceMs = 10'000;
constexpr std::int64_t kPauseMs = 50;
constexpr int kSignalBase = 128;

std::string join(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (const std::uint32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::vector<std::pair<std::string, std::string>> environment_of(const wire::JobView& lease) {
  const std::string npus = join(lease.npus);
  return {{"ASCEND_RT_VISIBLE_DEVICES", npus},
          {"ASCEND_VISIBLE_DEVICES", npus},
          {"TANGRAM_NPUS", npus},
          {"TANGRAM_JOB_ID", lease.id},
          {"TANGRAM_JOB_NAME", lease.name},
          {"TANGRAM_TENANT", lease.tenant}};
}

SubmitArguments lease_arguments(const Arguments& arguments) {
  SubmitArguments lease = request_arguments(arguments);
  lease.command = arguments.program();
  return lease;
}

// A number of events for poll(2).
class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Bell() { close(fd_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  int fd() const { return fd_; }
  void ring() const {
    const std::uint64_t one = 1;
    (void)!write(fd_, &one, sizeof one);
  }
  void silence() const {
    std::uint64_t count = 0;
    (void)!read(fd_, &count, sizeof count);
  }

 private:
  const int fd_;
};

// One `tangram lease` from the question to the release.
class HeldLease {
 public:
  HeldLease(Session& session, const Arguments& arguments)
      : session_(session), request_(lease_arguments(arguments)), command_(arguments.program()) {}

  int run() {
    Result<wire::LeaseRequest> request = parse_lease(request_);
    if (!request) return session_.report(request.error());
    auto asked = LeaseKeeper::ask(session_.api(), *request, [this](const LeaseNews&) { bell_.ring(); });
    if (!asked) return session_.report(asked.error());
    keeper_ = std::move(*asked);
    while (!is_done()) wait();
    return finish();
  }

 private:
  bool is_done() {
    take_signals();
    look_at(keeper_->news());
    if (program_) return program_->ended().has_value();
    return failed_ || wants_end_ != 0 || keeper_->news().over();
  }

  void wait() const {
    std::array<pollfd, 2> watched{{{signals_.fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}}};
    int timeout_ms = -1;
    if (kill_at_) {
      timeout_ms = static_cast<int>(
          std::clamp<std::int64_t>(kill_at_->value - wall_clock_now().value, kPauseMs, 1'000'000));
    }
    poll(watched.data(), watched.size(), timeout_ms);
    bell_.silence();
  }

  void take_signals() {
    while (const auto signal = signals_.take()) {
      if (signal->number == SIGCHLD) continue;
      wants_end_ = signal->number;
      if (program_ && !signal->from_terminal) program_->signal(signal->number);
    }
  }

  void look_at(const LeaseNews& news) {
    say_news(news);
    if (!started_ && news.view.job.state == JobState::kRunning && wants_end_ == 0) begin(news.view.job);
    if (!program_) return;
    if ((news.over() || news.view.stopping) && !kill_at_) {
      const TimeMs latest(wall_clock_now().value + kGraceMs);
      kill_at_ = news.over() ? latest : news.view.release_by.value_or(latest);
      program_->signal(SIGTERM);
    }
    if (kill_at_ && wall_clock_now() >= *kill_at_) program_->signal(SIGKILL);
  }

  void begin(const wire::JobView& lease) {
    started_ = true;
    if (command_.empty()) {
      session_.emit(wire::write(lease), [&](const Canvas&) { return printable(lease.id) + '\n'; });
      return;
    }
    auto program = LocalProgram::start(command_, environment_of(lease));
    if (program) {
      program_ = *program;
    } else {
      failed_ = program.error();
    }
  }

  std::string sentence_of(const LeaseNews& news) const {
    const wire::Language language = session_.language();
    const std::string lease = job_title(news.view.job);
    if (news.lost) {
      const std::string reason = printable(wire::localised(*news.lost, language).message);
      return wire::fill(say::kLeaseLost, language, {{"lease", lease}, {"reason", reason}});
    }
    if (news.over()) return {};
    if (!news.connected) return std::string(say::kLeaseWaitsForDaemon.in(language));
    if (!news.view.stopping) return render_state(news.view.job, language);
    const std::string reason = printable(news.view.job.message);
    return wire::fill(say::kLeaseToRelease, language, {{"lease", lease}, {"reason", reason}});
  }

  // Each thing once.
  void say_news(const LeaseNews& news) {
    say_once(sentence_of(news), said_);
    if (!news.over() && !news.view.stopping)
      say_once(render_granted(news.view.job, session_.language()), said_granted_);
  }

  void say_once(const std::string& sentence, std::string& said) {
    if (sentence.empty() || sentence == said) return;
    said = sentence;
    session_.say(sentence);
  }

  int finish() {
    const bool taken_back = keeper_->news().over() && !failed_;
    const auto released = keeper_->release();
    if (failed_) return session_.report(*failed_);
    if (!released) session_.report(released.error());
    const int status = program_ ? program_->ended().value_or(wire::kExitNo) : wire::kExitOk;
    if (taken_back) session_.say(render_state(keeper_->news().view.job, session_.language()));
    if (status != wire::kExitOk) return status;
    if (taken_back) return wire::kExitNo;
    // Without a program, being asked to end is how it ends.
    const bool never_began = !command_.empty() && !program_;
    return never_began ? kSignalBase + wants_end_ : wire::kExitOk;
  }

  Session& session_;
  const SubmitArguments request_;
  const std::vector<std::string> command_;  // runs here while the lease is held; empty: until a signal comes
  SignalInbox signals_;
  Bell bell_;
  std::unique_ptr<LeaseKeeper> keeper_;
  std::optional<LocalProgram> program_;
  std::optional<Error> failed_;  // the program could not be executed
  std::optional<TimeMs> kill_at_;
  std::string said_;
  std::string said_granted_;
  bool started_ = false;
  int wants_end_ = 0;  // the signal that asked for it
};

int run(Session& session, const Arguments& arguments) {
  return HeldLease(session, arguments).run();
}

}  // namespace

const Command kLease{
    .name = "lease",
    .summary = wire::help::kLease,
    .run = run,
    .options = kRequestOptions,
    .examples =
        "tangram lease --tenant team-a --npus 2 -- python3 notebook.py\n"
        "tangram lease --tenant team-a\n"
        "tangram lease --tenant team-a --slice 4GiB\n",
    .more = &wire::help::kLeaseMore,
    .program = &wire::help::kLeaseProgram,
    .program_optional = true,
};

}  // namespace tangram::cli
