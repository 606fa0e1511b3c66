// Certificates made for a test: an authority, and servers that it vouches for. Also used by tests of other
// folders.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

namespace tangram::net {

class Authority {
 public:
  Authority() : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), certificate_(X509_new(), X509_free) {
    prepare(certificate_.get(), "the test's authority", key_.get(), 0, 3'600);
    extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
    X509_sign(certificate_.get(), key_.get(), EVP_sha256());
  }

  // PEM of the authority itself: what a client trusts.
  void write(const std::string& path) const { write_certificate(path, certificate_.get()); }

  // A certificate for these names ("DNS:localhost,IP:127.0.0.1") with its key (mode 600), from `begin` to
  // `end` seconds from now.
  void issue(const std::string& certificate_path, const std::string& key_path, const std::string& names,
             long begin = -60, long end = 3'600) {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, void (*)(X509*)> leaf(X509_new(), X509_free);
    prepare(leaf.get(), "the test's server " + std::to_string(++issued_), key.get(), begin, end);
    extend(leaf.get(), NID_subject_alt_name, names);
    X509_set_issuer_name(leaf.get(), X509_get_subject_name(certificate_.get()));
    X509_sign(leaf.get(), key_.get(), EVP_sha256());
    write_certificate(certificate_path, leaf.get());
    write_key(key_path, key.get(), nullptr);
  }

  static void write_key(const std::string& path, EVP_PKEY* key, const char* password) {
    const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
    const auto length = password == nullptr ? 0 : static_cast<int>(std::string(password).size());
    PEM_write_bio_PrivateKey(bio.get(), key, password == nullptr ? nullptr : EVP_aes_256_cbc(),
                             reinterpret_cast<const unsigned char*>(password), length, nullptr, nullptr);
    write_text(path, text_of(bio.get()));
    chmod(path.c_str(), 0600);
  }

 private:
  static void prepare(X509* certificate, const std::string& name, EVP_PKEY* key, long begin, long end) {
    static long serial = 1;
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), begin);
    X509_gmtime_adj(X509_getm_notAfter(certificate), end);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  }
  static void extend(X509* certificate, int what, const std::string& value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str());
    if (extension == nullptr) std::abort();
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  static std::string text_of(BIO* bio) {
    BUF_MEM* memory = nullptr;
    BIO_ctrl(bio, BIO_C_GET_BUF_MEM_PTR, 0, static_cast<void*>(&memory));
    return {memory->data, memory->length};
  }
  static void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static void write_certificate(const std::string& path, X509* certificate) {
    const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_X509(bio.get(), certificate);
    write_text(path, text_of(bio.get()));
  }

  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
  int issued_ = 0;
};

}  // namespace tangram::net
