#include "net/issue.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/buffer.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>
#include <utility>

namespace tangram::net {
namespace {

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* value) const { kFree(value); }
};
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES, GENERAL_NAMES_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;

constexpr std::size_t kPemBytesMax = 1U << 20;
constexpr std::size_t kNameBytesMax = 253;
constexpr std::size_t kNamesMax = 64;
constexpr std::size_t kCommonNameBytesMax = 64;

tl::unexpected<Error> failed(const char* what) {
  ERR_clear_error();
  return fail(Code::kInternal, "net.tls.issue_failed", std::string("cannot ") + what);
}

Bio reading(std::string_view text) {
  if (text.size() > kPemBytesMax) return nullptr;
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int no_password(char*, int, int, void*) {
  return -1;
}

Certificate read_certificate(std::string_view pem) {
  const Bio bio = reading(pem);
  Certificate certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr) : nullptr);
  ERR_clear_error();
  return certificate;
}

Key read_key(std::string_view pem) {
  const Bio bio = reading(pem);
  Key key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
  ERR_clear_error();
  return key;
}

std::string text_of(BIO* bio) {
  BUF_MEM* memory = nullptr;
  BIO_ctrl(bio, BIO_C_GET_BUF_MEM_PTR, 0, static_cast<void*>(&memory));
  return memory != nullptr ? std::string(memory->data, memory->length) : std::string();
}

bool set_times(X509* certificate, const Validity& validity) {
  const auto set = [](ASN1_TIME* place, std::chrono::sys_seconds time) {
    return ASN1_TIME_set(place, static_cast<std::time_t>(time.time_since_epoch().count())) != nullptr;
  };
  return set(X509_getm_notBefore(certificate), validity.from) &&
         set(X509_getm_notAfter(certificate), validity.until);
}

// A number that nobody can guess, as the standard asks (RFC 5280, 4.1.2.2: positive).
bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);
  const std::unique_ptr<BIGNUM, Freed<BIGNUM, BN_free>> number(
      BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool extend(X509* certificate, int what, const std::string& value) {
  const std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION, X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_name(X509* certificate, std::string_view name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

// Version 3, with everything but the issuer and the signature.
Certificate prepare(std::string_view name, EVP_PKEY* key, const Validity& validity) {
  Certificate certificate(X509_new());
  const bool good = certificate && X509_set_version(certificate.get(), 2) == 1 &&
                    set_serial(certificate.get()) && set_times(certificate.get(), validity) &&
                    X509_set_pubkey(certificate.get(), key) == 1 && set_name(certificate.get(), name);
  return good ? std::move(certificate) : nullptr;
}

Result<Identity> write_identity(X509* certificate, EVP_PKEY* key) {
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  const Bio key_text(BIO_new(BIO_s_mem()));
  const bool good = certificate_text && key_text &&
                    PEM_write_bio_X509(certificate_text.get(), certificate) == 1 &&
                    PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
  if (!good) return failed("write a certificate");
  return Identity{text_of(certificate_text.get()), text_of(key_text.get())};
}

bool is_dns_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return false;
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!good) return false;
  }
  return true;
}

std::chrono::sys_seconds time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts)));
}

std::vector<std::string> dns_names_of(X509* certificate) {
  std::vector<std::string> found;
  const Names names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  const int count = names ? sk_GENERAL_NAME_num(names.get()) : 0;
  for (int i = 0; i < count; ++i) {
    int type = 0;
    const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
    if (type != GEN_DNS) continue;
    const auto* const text = static_cast<const ASN1_STRING*>(value);
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  return found;
}

std::string common_name_of(X509* certificate) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (place < 0) return {};
  const ASN1_STRING* const text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

struct Holder {
  std::string name;          // the common name
  std::string usage;         // "serverAuth", "clientAuth"
  std::string alternatives;  // "DNS:a,DNS:b"; empty: none
};

Result<Identity> sign(const Identity& authority, const Holder& holder, const Validity& validity) {
  const Certificate issuer = read_certificate(authority.certificate);
  const Key issuer_key = read_key(authority.key);
  if (!issuer) {
    return fail(Code::kInvalidArgument, "net.tls.certificate.invalid", "the authority has no certificate");
  }
  if (!issuer_key || X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    return fail(Code::kInvalidArgument, "net.tls.key.invalid", "the authority's key is not its own");
  }
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("make a key");
  const Certificate certificate = prepare(holder.name, key.get(), validity);
  const bool good =
      certificate && extend(certificate.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      extend(certificate.get(), NID_key_usage, "critical,digitalSignature") &&
      extend(certificate.get(), NID_ext_key_usage, holder.usage) &&
      (holder.alternatives.empty() || extend(certificate.get(), NID_subject_alt_name, holder.alternatives)) &&
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) == 1 &&
      X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) > 0;
  if (!good) return failed("issue a certificate");
  return write_identity(certificate.get(), key.get());
}

}  // namespace

Result<Identity> make_authority(std::string_view name, const Validity& validity) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("make a key");
  const Certificate certificate = prepare(name, key.get(), validity);
  const bool good = certificate &&
                    extend(certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    extend(certificate.get(), NID_key_usage, "critical,keyCertSign") &&
                    X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get())) == 1 &&
                    X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0;
  if (!good) return failed("make an authority");
  return write_identity(certificate.get(), key.get());
}

Result<Identity> issue_certificate(const Identity& authority, std::span<const std::string> dns_names,
                                   const Validity& validity) {
  std::string names;
  for (const std::string& name : dns_names) {
    if (!is_dns_name(name)) return failed("issue a certificate for what is no DNS name");
    names += (names.empty() ? "DNS:" : ",DNS:") + name;
  }
  if (dns_names.empty() || dns_names.size() > kNamesMax) return failed("issue a certificate without names");
  // Clients look at the alternative names alone.
  return sign(authority, {dns_names.front().substr(0, kCommonNameBytesMax), "serverAuth", names}, validity);
}

Result<Identity> issue_client_certificate(const Identity& authority, std::string_view name,
                                          const Validity& validity) {
  if (name.empty() || name.size() > kCommonNameBytesMax) {
    return failed("issue a client's certificate for a name that has not 1 to 64 bytes");
  }
  return sign(authority, {std::string(name), "clientAuth", {}}, validity);
}

Result<CertificateFacts> facts_of(std::string_view certificate) {
  const Certificate one = read_certificate(certificate);
  if (!one)
    return fail(Code::kInvalidArgument, "net.tls.certificate.invalid", "the text holds no certificate");
  return CertificateFacts{{time_of(X509_get0_notBefore(one.get())), time_of(X509_get0_notAfter(one.get()))},
                          common_name_of(one.get()),
                          dns_names_of(one.get())};
}

bool is_signed_by(std::string_view certificate, std::string_view authority) {
  const Certificate one = read_certificate(certificate);
  const Certificate issuer = read_certificate(authority);
  if (!one || !issuer) return false;
  EVP_PKEY* const key = X509_get0_pubkey(issuer.get());
  const bool is_signed = key != nullptr && X509_verify(one.get(), key) == 1;
  ERR_clear_error();
  return is_signed;
}

}  // namespace tangram::net
