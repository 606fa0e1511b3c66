// The webhook by itself, for tests against a real API server: kube_admission_probe PORT DIRECTORY. The
// cluster is the one of KUBECONFIG; certificates are kept in a Secret of kube-system, as in production. Says
// "ready" when it serves; ends with SIGTERM.
#include <signal.h>

#include <iostream>
#include <memory>
#include <string>

#include "kube/admission/certificates.h"
#include "kube/admission/directory.h"
#include "kube/admission/feed.h"
#include "kube/admission/webhook.h"
#include "kube/api/client.h"

namespace tangram::kube::admission {
namespace {

Result<void> run(std::uint16_t port, const std::string& directory) {
  TG_TRY(const ClusterConfig config, find_config("", ""));
  TG_TRY(const std::unique_ptr<ApiClient> client, ApiClient::open(config));
  CertificateKeeper::Options options;
  options.space = "kube-system";
  options.secret = "tangram-webhook";
  options.configuration = "tangram";
  options.directory = directory;
  options.terms.dns_names = {"tangram-webhook.kube-system.svc"};
  CertificateKeeper keeper(*client, options);
  TG_TRY([[maybe_unused]] const bool changed, keeper.pass());
  Settings settings;
  settings.trusted = {"system:serviceaccount:kube-system:tangram-manager"};
  const auto book = std::make_shared<SettingsBook>(std::move(settings));
  const auto known = std::make_shared<Directory>();
  const Feed feed(*client, known, book);
  net::TcpEndpoint endpoint;
  endpoint.address = "0.0.0.0";
  endpoint.port = port;
  TG_TRY(endpoint.tls, net::TlsContext::load(keeper.files()));
  net::ServerOptions server_options;
  server_options.endpoints = {endpoint};
  server_options.limits = webhook_limits();
  TG_TRY(const auto server, net::HttpServer::start(std::move(server_options),
                                                   make_webhook([book] { return book->current(); }, known)));
  std::cout << "ready" << std::endl;
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  int number = 0;
  sigwait(&stop, &number);
  server->stop();
  return {};
}

}  // namespace
}  // namespace tangram::kube::admission

int main(int count, char** words) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  if (count != 3) return 2;
  const auto ran = tangram::kube::admission::run(static_cast<std::uint16_t>(std::stoi(words[1])), words[2]);
  if (ran) return 0;
  std::cerr << ran.error().to_string() << std::endl;
  return 1;
}
