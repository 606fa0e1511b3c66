#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/plain_file.h"

namespace tangram::net {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

constexpr std::size_t kFileBytesMax = 1U << 20;
// Of TLS 1.2; those of TLS 1.3 are all good. With forward secrecy and authenticated encryption only.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

Result<PlainFile> read_file(const std::string& path, const char* what) {
  auto file = read_plain_file("cannot read the " + std::string(what) + " " + path, path, kFileBytesMax);
  if (file) return file;
  Error error = std::move(file).error();
  error.reason = "net.tls.unreadable";
  error.hint = "check the path and who may read it; tangramd must";
  return fail(std::move(error));
}

Error invalid(const std::string& reason, const std::string& sentence, const error_code& error,
              std::string hint) {
  ERR_clear_error();
  return {Code::kInvalidArgument,
          "net.tls." + reason,
          sentence + (error ? ": " + error.message() : std::string()),
          std::move(hint),
          {},
          nullptr};
}

Result<void> use_certificate(ssl::context& context, const TlsFiles& files) {
  TG_TRY(const PlainFile file, read_file(files.certificate, "certificate"));
  error_code error;
  context.use_certificate_chain(boost::asio::buffer(file.text), error);
  if (!error) return {};
  return fail(invalid("certificate.invalid", files.certificate + " holds no certificate that can be used",
                      error, "it must be PEM: lines from BEGIN CERTIFICATE to END CERTIFICATE"));
}

Result<void> use_key(ssl::context& context, const TlsFiles& files) {
  TG_TRY(const PlainFile file, read_file(files.key, "key"));
  if ((file.mode & S_IROTH) != 0) {
    return fail(invalid("key.exposed", "everybody on this machine may read the key " + files.key, {},
                        "chmod o-r " + files.key + ", and make a new key if others have had access"));
  }
  // Without this the library would ask for a password on the terminal.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); });
  error_code error;
  context.use_private_key(boost::asio::buffer(file.text), ssl::context::pem, error);
  if (!error) return {};
  // The library reports a key of another certificate here already.
  const bool other = ERR_GET_REASON(static_cast<unsigned long>(error.value())) == X509_R_KEY_VALUES_MISMATCH;
  if (other) {
    return fail(invalid("key.mismatch",
                        "the key " + files.key + " does not belong to the certificate " + files.certificate,
                        {}, "name the key that the certificate was made for"));
  }
  return fail(invalid("key.invalid", files.key + " holds no private key that can be used", error,
                      "it must be PEM without a password"));
}

// What a client shows never ends the handshake: clients without a certificate have other paths to ask for.
Result<void> use_client_authority(ssl::context& context, const TlsFiles& files) {
  if (files.client_authority.empty()) return {};
  TG_TRY(const FileText file, read_file(files.client_authority, "authority of clients"));
  error_code error;
  context.add_certificate_authority(boost::asio::buffer(file.text), error);
  SSL_CTX* const native = context.native_handle();
  const bool is_empty = sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(native))) <= 0;
  if (error || is_empty) {
    return fail(invalid("certificate.invalid",
                        files.client_authority + " holds no authority whose clients could be known", error,
                        "it must be PEM: lines from BEGIN CERTIFICATE to END CERTIFICATE"));
  }
  SSL_CTX_set_verify(native, SSL_VERIFY_PEER, [](int /*good*/, X509_STORE_CTX* /*chain*/) { return 1; });
  // A session that is resumed carries the client's certificate. The library resumes none without a name of
  // where it is good for.
  constexpr std::string_view kContext = "tangram";
  SSL_CTX_set_session_id_context(native, reinterpret_cast<const unsigned char*>(kContext.data()),
                                 static_cast<unsigned>(kContext.size()));
  return {};
}

void warn_of_time(ssl::context& context, const TlsFiles& files) {
  const X509* const leaf = SSL_CTX_get0_certificate(context.native_handle());
  if (leaf == nullptr) return;
  if (X509_cmp_current_time(X509_get0_notAfter(leaf)) < 0) {
    log::warn("the certificate " + files.certificate +
              " has expired: clients will refuse it; put a new one in its place and send SIGHUP");
  } else if (X509_cmp_current_time(X509_get0_notBefore(leaf)) > 0) {
    log::warn("the certificate " + files.certificate + " is not valid yet: clients will refuse it");
  }
}

Result<std::shared_ptr<ssl::context>> make_context(const TlsFiles& files) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_cipher_list(native, kCiphers);
  // Sessions are resumed by ticket: the server keeps nothing about clients that have gone.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  TG_TRY_VOID(use_certificate(*context, files));
  TG_TRY_VOID(use_key(*context, files));
  TG_TRY_VOID(use_client_authority(*context, files));
  if (SSL_CTX_check_private_key(native) != 1) {
    return fail(invalid("key.mismatch",
                        "the key " + files.key + " does not belong to the certificate " + files.certificate,
                        {}, "name the key that the certificate was made for"));
  }
  warn_of_time(*context, files);
  return context;
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::load(TlsFiles files) {
  TG_TRY(auto context, make_context(files));
  return std::shared_ptr<TlsContext>(new TlsContext(std::move(files), std::move(context)));
}

Result<void> TlsContext::reload() {
  TG_TRY(auto context, make_context(files_));
  const std::lock_guard lock(mutex_);
  context_.swap(context);
  return {};
}

std::string verified_client(ssl_st* tls) {
  X509* const certificate = SSL_get0_peer_certificate(tls);
  if (certificate == nullptr || SSL_get_verify_result(tls) != X509_V_OK) return {};
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  // Of two names nobody could say which one was meant.
  if (place < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, place) >= 0) return {};
  unsigned char* text = nullptr;
  const int length =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
  if (length < 0) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
  OPENSSL_free(text);
  return name;
}

std::shared_ptr<ssl::context> TlsContext::current() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

}  // namespace tangram::net
