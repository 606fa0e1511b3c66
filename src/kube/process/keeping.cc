#include "kube/process/keeping.h"

#include <utility>

#include "base/log.h"
#include "kube/process/client_authority.h"

namespace tangram::kube::process {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookEvery{200};
constexpr milliseconds kAgain{2'000};

}  // namespace

CertificateKeeping::CertificateKeeping(ApiClient& client, Options options)
    : client_(client), options_(std::move(options)), keeper_(client, options_.keeper) {}

CertificateKeeping::~CertificateKeeping() {
  stop();
}

std::shared_ptr<net::TlsContext> CertificateKeeping::start() {
  while (!stop_.raised()) {
    const Result<void> kept = pass();
    if (kept) break;
    log::warn("certificates: " + kept.error().to_string());
    client_.timing().rest(options_.again, &stop_);
  }
  if (stop_.raised()) return nullptr;
  thread_ = std::thread([this] {
    while (client_.timing().rest(options_.every, &stop_)) {
      if (const Result<void> kept = pass(); !kept) log::warn("certificates: " + kept.error().to_string());
    }
  });
  return context_;
}

void CertificateKeeping::interrupt() {
  stop_.raise();
}

void CertificateKeeping::stop() {
  interrupt();
  if (thread_.joinable()) thread_.join();
}

Result<void> CertificateKeeping::pass() {
  TG_TRY(bool changed, keeper_.pass());
  net::TlsFiles files = keeper_.files();
  files.client_authority = options_.scheduler_ca;
  if (files.client_authority.empty()) {
    files.client_authority = options_.keeper.directory + "/scheduler-ca.crt";
    TG_TRY(std::string authority, cluster_client_authority(client_));
    if (authority != authority_) {
      TG_TRY_VOID(write_public_file(files.client_authority, authority));
      authority_ = std::move(authority);
      changed = true;
    }
  } else {
    changed = true;  // it may be: nobody tells
  }
  if (context_) return changed ? context_->reload() : Result<void>();
  TG_TRY(context_, net::TlsContext::load(std::move(files)));
  return {};
}

LabelKeeping::LabelKeeping(ApiClient& client, LeaderLabel label, std::function<bool()> leads)
    : client_(client), label_(std::move(label)), leads_(std::move(leads)), thread_([this] { run(); }) {}

LabelKeeping::~LabelKeeping() {
  stop_.raise();
  thread_.join();
  if (const Result<void> written = label_.pass(false); !written) {
    log::warn("the leader's label stays: " + written.error().to_string());
  }
}

void LabelKeeping::run() {
  milliseconds rest = kLookEvery;
  do {
    const Result<void> written = label_.pass(leads_());
    if (!written) log::warn("the leader's label: " + written.error().to_string());
    rest = written ? kLookEvery : kAgain;
  } while (client_.timing().rest(rest, &stop_));
}

}  // namespace tangram::kube::process
