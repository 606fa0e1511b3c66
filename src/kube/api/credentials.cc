#include "kube/api/credentials.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace tangram::kube {
namespace {

constexpr std::size_t kTokenBytesMax = std::size_t{64} * 1024;

Result<std::string> text_of(const Material& material) {
  if (material.file.empty()) return material.text;
  return read_small_file(material.file);
}

Result<std::string> token_of(const Material& material) {
  TG_TRY(std::string token, text_of(material));
  constexpr const char* kBlanks = " \t\r\n";
  token.erase(token.find_last_not_of(kBlanks) + 1);
  token.erase(0, token.find_first_not_of(kBlanks));
  const bool good = token.size() <= kTokenBytesMax &&
                    std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  const bool missing = token.empty() && material.given();
  if (good && !missing) return token;
  return fail(Code::kInvalidArgument, "kube.config.invalid",
              (material.file.empty() ? "the token of the kubeconfig" : material.file) + " holds no token",
              "a token is one word of printable letters");
}

}  // namespace

Credentials::Credentials(ClusterConfig config, std::size_t body_bytes_max, std::shared_ptr<Timing> timing)
    : config_(std::move(config)),
      body_bytes_max_(body_bytes_max),
      timing_(std::move(timing)),
      from_files_(!config_.authorities.file.empty() || !config_.client_certificate.file.empty() ||
                  !config_.client_key.file.empty() || !config_.token.file.empty()) {}

Result<std::unique_ptr<Credentials>> Credentials::open(ClusterConfig config, std::size_t body_bytes_max,
                                                       std::shared_ptr<Timing> timing) {
  auto credentials =
      std::unique_ptr<Credentials>(new Credentials(std::move(config), body_bytes_max, std::move(timing)));
  TG_TRY(credentials->session_, credentials->read(nullptr));
  credentials->read_next_ms_ = (credentials->timing_->now() + kReadEvery).count();
  return credentials;
}

Result<std::shared_ptr<const Session>> Credentials::read(const Session* before) const {
  auto session = std::make_shared<Session>();
  TG_TRY(session->token, token_of(config_.token));
  TG_TRY(session->authorities, text_of(config_.authorities));
  TG_TRY(session->certificate, text_of(config_.client_certificate));
  TG_TRY(session->key, text_of(config_.client_key));
  const bool same_way = before != nullptr && before->authorities == session->authorities &&
                        before->certificate == session->certificate && before->key == session->key;
  if (same_way) {
    session->http = before->http;  // with its open connections
    return session;
  }
  net::ClientOptions options;
  options.host = config_.host;
  options.port = config_.port;
  options.tls = config_.tls;
  options.tls_name = config_.tls_name;
  options.ca_option = "certificate-authority in the kubeconfig";
  options.ca_pem = session->authorities;
  options.certificate_pem = session->certificate;
  options.key_pem = session->key;
  options.body_bytes_max = body_bytes_max_;
  TG_TRY_VOID(net::check_trust(options));
  session->http = std::make_shared<net::HttpClient>(std::move(options));
  return session;
}

std::shared_ptr<const Session> Credentials::held() const {
  const std::lock_guard lock(mutex_);
  return session_;
}

void Credentials::refresh() {
  const std::shared_ptr<const Session> before = held();
  auto read_now = read(before.get());
  if (!read_now) {
    log::warn("the credentials for " + config_.server() +
              " cannot be read again, the old ones stay in use: " + read_now.error().to_string());
    return;
  }
  const std::lock_guard lock(mutex_);
  session_ = std::move(*read_now);
}

std::shared_ptr<const Session> Credentials::current() {
  if (!from_files_) return held();
  const std::int64_t now = timing_->now().count();
  std::int64_t due = read_next_ms_.load();
  // Whoever moves the time on is the one who reads.
  if (now >= due && read_next_ms_.compare_exchange_strong(due, now + kReadEvery.count())) refresh();
  return held();
}

std::shared_ptr<const Session> Credentials::after_refusal(const std::shared_ptr<const Session>& used) {
  if (!from_files_) return nullptr;
  std::shared_ptr<const Session> now = held();
  if (now == used) {
    refresh();
    now = held();
  }
  const bool changed = now->token != used->token || now->http != used->http;
  return changed ? now : nullptr;
}

}  // namespace tangram::kube
