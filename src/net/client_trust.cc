#include "net/client_trust.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <functional>
#include <string>
#include <utility>

#include "base/plain_file.h"

namespace tangram::net {
namespace {

constexpr std::size_t kPemBytesMax = std::size_t{1} << 20;
constexpr std::size_t kCertificatesMax = 1'024;

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

// Reads the text only; `pem` must outlive it.
Bio reader_of(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

// Without this the library would ask for a password on the terminal.
int no_password(char* /*into*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return 0;
}

tl::unexpected<Error> unusable(const std::string& what, const std::string& hint) {
  ERR_clear_error();
  return fail(Code::kInvalidArgument, "client.certificate.invalid", what, hint);
}

// How many certificates `use` took; it returns false to stop.
std::size_t each_certificate(const std::string& pem, const std::function<bool(X509*)>& use) {
  if (pem.size() > kPemBytesMax) return 0;
  const Bio bio = reader_of(pem);
  std::size_t count = 0;
  while (count < kCertificatesMax) {
    const Certificate one(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr), X509_free);
    if (!one || !use(one.get())) break;
    ++count;
  }
  ERR_clear_error();
  return count;
}

Result<void> trust_text(SSL_CTX* context, const std::string& pem) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  const std::size_t count =
      each_certificate(pem, [store](X509* one) { return X509_STORE_add_cert(store, one) == 1; });
  if (count > 0) return {};
  return unusable("the authorities that were given hold no certificate",
                  "give PEM: lines from BEGIN CERTIFICATE to END CERTIFICATE");
}

Result<void> trust_files(SSL_CTX* context, const std::string& ca_file) {
  // The library would wait at a pipe, and read what has no end.
  if (!ca_file.empty()) {
    auto file = read_plain_file("cannot read the authorities from " + ca_file, ca_file, kPemBytesMax);
    if (!file) {
      return fail(Code::kInvalidArgument, "client.ca_file.unreadable", file.error().message,
                  "name a PEM file with the certificate of whoever signed the server's");
    }
  }
  errno = 0;
  const bool loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context) == 1
                                      : SSL_CTX_load_verify_file(context, ca_file.c_str()) == 1;
  if (loaded) return {};
  const std::string why = errno != 0 ? errno_text(errno) : "no certificate in it";
  ERR_clear_error();
  return fail(Code::kInvalidArgument, "client.ca_file.unreadable",
              "cannot read the authorities from " + (ca_file.empty() ? "the system" : ca_file) + ": " + why,
              "name a PEM file with the certificate of whoever signed the server's");
}

Result<void> show(SSL_CTX* context, const ClientOptions& options) {
  if (options.certificate_pem.empty() && options.key_pem.empty()) return {};
  const std::string hint = "give both as PEM, and the key without a password";
  bool first = true;
  const std::size_t count = each_certificate(options.certificate_pem, [&](X509* one) {
    if (std::exchange(first, false)) return SSL_CTX_use_certificate(context, one) == 1;
    // What the macro SSL_CTX_add1_chain_cert stands for, without its C cast.
    return SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, one) == 1;
  });
  if (count == 0) return unusable("the client's certificate cannot be used", hint);
  if (options.key_pem.size() > kPemBytesMax) return unusable("the client's key cannot be used", hint);
  const Bio bio = reader_of(options.key_pem);
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr), EVP_PKEY_free);
  if (!key) return unusable("the client's key cannot be used", hint);
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return unusable("the client's key does not belong to its certificate", hint);
  }
  return {};
}

}  // namespace

void ClientTrust::Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

Result<std::shared_ptr<ClientTrust>> ClientTrust::load(const ClientOptions& options) {
  auto trust = std::shared_ptr<ClientTrust>(new ClientTrust(SSL_CTX_new(TLS_client_method())));
  SSL_CTX* const context = trust->native();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  TG_TRY_VOID(options.ca_pem.empty() ? trust_files(context, options.ca_file)
                                     : trust_text(context, options.ca_pem));
  TG_TRY_VOID(show(context, options));
  return trust;
}

Result<void> check_trust(const ClientOptions& options) {
  if (options.host.empty() || !options.tls) return {};
  TG_TRY([[maybe_unused]] const auto trust, ClientTrust::load(options));
  return {};
}

}  // namespace tangram::net
