#include "kube/admission/certificates.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "kube/api/json.h"
#include "net/base64.h"

namespace tangram::kube::admission {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::string_view kAuthorityName = "Tangram's webhook authority";

Resource secrets() {
  return {"", "v1", "secrets", true, "Secret"};
}
Resource configurations() {
  return {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", false,
          "MutatingWebhookConfiguration"};
}

net::Validity from_now(sys_seconds now, seconds life, const CertificateTerms& terms) {
  return {now - terms.slack, now + life};
}

// Whether it is no certificate, not valid yet, or near its end.
bool is_due(const std::string& certificate, sys_seconds now) {
  const auto facts = net::facts_of(certificate);
  if (!facts || facts->validity.from > now) return true;
  const seconds life = facts->validity.until - facts->validity.from;
  return facts->validity.until - now < life / 3;
}

bool has_ended(const std::string& certificate, sys_seconds now) {
  const auto facts = net::facts_of(certificate);
  return !facts || facts->validity.until <= now;
}

bool serves(const CertificateBook& book, const CertificateTerms& terms, sys_seconds now) {
  const auto facts = net::facts_of(book.serving.certificate);
  return facts && !book.serving.key.empty() && facts->dns_names == terms.dns_names &&
         !is_due(book.serving.certificate, now) &&
         net::is_signed_by(book.serving.certificate, book.authority.certificate);
}

bool shows_scheduler(const CertificateBook& book, const CertificateTerms& terms, sys_seconds now) {
  if (terms.client_name.empty()) return book.client == net::Identity();
  const auto facts = net::facts_of(book.client.certificate);
  return facts && !book.client.key.empty() && facts->name == terms.client_name &&
         !is_due(book.client.certificate, now) &&
         net::is_signed_by(book.client.certificate, book.authority.certificate);
}

// A file with nothing of it to be seen before it is whole, for its owner alone.
Result<void> write_file(const std::string& path, const std::string& text) {
  const auto failed = [&path](int number) {
    Error error = system_error("cannot write " + path, number);
    error.reason = "net.tls.unreadable";
    return fail(std::move(error));
  };
  const std::string draft = path + ".new";
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed(errno);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int number = errno;
      close(fd);
      return failed(number);
    }
    done += static_cast<std::size_t>(count);
  }
  close(fd);
  if (std::rename(draft.c_str(), path.c_str()) != 0) return failed(errno);
  return {};
}

struct Entry {
  const char* key;
  std::string* text;
};

std::array<Entry, 9> entries_of(CertificateBook& book) {
  return {{{"ca.crt", &book.authority.certificate},
           {"ca.key", &book.authority.key},
           {"ca-next.crt", &book.announced.certificate},
           {"ca-next.key", &book.announced.key},
           {"ca-before.crt", &book.before},
           {"tls.crt", &book.serving.certificate},
           {"tls.key", &book.serving.key},
           {"client.crt", &book.client.certificate},
           {"client.key", &book.client.key}}};
}

json::object data_of(CertificateBook book) {
  json::object data;
  for (const Entry& entry : entries_of(book)) {
    // A member that a merge is to take away is null.
    if (entry.text->empty()) {
      data[entry.key] = nullptr;
    } else {
      data[entry.key] = net::encode_base64(*entry.text);
    }
  }
  return data;
}

CertificateBook book_of(const json::object& secret) {
  CertificateBook book;
  for (const Entry& entry : entries_of(book)) {
    // What somebody else has spoilt is made anew.
    if (auto text = net::decode_base64(text_at(secret, {"data", entry.key}))) *entry.text = std::move(*text);
  }
  return book;
}

}  // namespace

std::string CertificateBook::bundle() const {
  return authority.certificate + announced.certificate + before;
}

Result<std::optional<CertificateBook>> advance(const CertificateBook& book, const CertificateTerms& terms,
                                               sys_seconds now) {
  CertificateBook next = book;
  if (next.authority.empty() || has_ended(next.authority.certificate, now)) {
    next = {};
    TG_TRY(next.authority, net::make_authority(kAuthorityName, from_now(now, terms.authority_life, terms)));
  }
  if (next.announced.empty() && is_due(next.authority.certificate, now)) {
    TG_TRY(next.announced, net::make_authority(kAuthorityName, from_now(now, terms.authority_life, terms)));
  } else if (!next.announced.empty()) {
    const auto facts = net::facts_of(next.announced.certificate);
    if (!facts) {
      next.announced = {};
    } else if (facts->validity.from + terms.slack + terms.announced_for <= now) {
      next.before = std::exchange(next.authority, std::exchange(next.announced, {})).certificate;
    }
  }
  if (!next.before.empty() && has_ended(next.before, now)) next.before.clear();
  if (!serves(next, terms, now)) {
    TG_TRY(next.serving,
           net::issue_certificate(next.authority, terms.dns_names, from_now(now, terms.serving_life, terms)));
  }
  if (!shows_scheduler(next, terms, now)) {
    next.client = {};
    if (!terms.client_name.empty()) {
      TG_TRY(next.client, net::issue_client_certificate(next.authority, terms.client_name,
                                                        from_now(now, terms.serving_life, terms)));
    }
  }
  return next == book ? std::nullopt : std::optional(std::move(next));
}

CertificateKeeper::CertificateKeeper(ApiClient& client, Options options)
    : client_(client), options_(std::move(options)) {}

net::TlsFiles CertificateKeeper::files() const {
  return {options_.directory + "/tls.crt", options_.directory + "/tls.key"};
}

std::string CertificateKeeper::authority_file() const {
  return options_.directory + "/ca.crt";
}

Result<CertificateKeeper::Kept> CertificateKeeper::read() const {
  const Result<std::string> text = client_.get({secrets(), options_.space, options_.secret});
  if (!text && failure_of(text.error()) == Failure::kNotFound) return Kept{};
  if (!text) return fail(text.error());
  TG_TRY(const json::object secret, parse_object(*text));
  return Kept{book_of(secret), std::string(meta_of(secret).resource_version)};
}

Result<void> CertificateKeeper::write(const Kept& before, const CertificateBook& book) const {
  json::object data = data_of(book);
  if (!before.version.empty()) {
    json::object patch;
    patch["data"] = std::move(data);
    const auto written =
        client_.merge_patch({secrets(), options_.space, options_.secret}, std::move(patch), before.version);
    return written ? Result<void>() : fail(written.error());
  }
  json::object present;
  for (const auto& member : data) {
    if (!member.value().is_null()) present[member.key()] = member.value();
  }
  json::object secret{{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", "Opaque"}};
  secret["metadata"] = json::object{{"name", options_.secret}, {"namespace", options_.space}};
  secret["data"] = std::move(present);
  const auto written = client_.create(secrets(), options_.space, json::serialize(secret));
  return written ? Result<void>() : fail(written.error());
}

// Only what differs is written: every replica comes here every some minutes.
Result<void> CertificateKeeper::announce(const std::string& bundle) const {
  const ObjectName name{configurations(), "", options_.configuration};
  TG_TRY(const std::string text, client_.get(name));
  TG_TRY(const json::object configuration, parse_object(text));
  const std::string wanted = net::encode_base64(bundle);
  const json::array* const webhooks = array_at(configuration, {"webhooks"});
  json::array patch;
  std::size_t index = 0;
  for (const json::value& value : webhooks != nullptr ? *webhooks : json::array()) {
    const std::string path = "/webhooks/" + std::to_string(index++) + "/clientConfig/caBundle";
    const json::object* const webhook = value.if_object();
    if (webhook == nullptr || text_at(*webhook, {"clientConfig", "caBundle"}) == wanted) continue;
    patch.push_back(json::object{{"op", "add"}, {"path", path}, {"value", wanted}});
  }
  if (patch.empty()) return {};
  const auto written = client_.json_patch(name, patch, meta_of(configuration).resource_version);
  return written ? Result<void>() : fail(written.error());
}

Result<bool> CertificateKeeper::pass() {
  TG_TRY(Kept kept, read());
  const auto now = std::chrono::floor<seconds>(client_.timing().wall());
  TG_TRY(std::optional<CertificateBook> next, advance(kept.book, options_.terms, now));
  if (next) {
    TG_TRY_VOID(write(kept, *next));
    kept.book = std::move(*next);
  }
  TG_TRY_VOID(announce(kept.book.bundle()));
  const std::string bundle = kept.book.bundle();
  if (kept.book.serving == written_.serving && bundle == written_.bundle()) return false;
  TG_TRY_VOID(write_file(authority_file(), bundle));
  TG_TRY_VOID(write_file(files().key, kept.book.serving.key));
  TG_TRY_VOID(write_file(files().certificate, kept.book.serving.certificate));
  written_ = std::move(kept.book);
  return true;
}

}  // namespace tangram::kube::admission
