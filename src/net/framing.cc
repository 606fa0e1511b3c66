#include "net/framing.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "net/problem.h"

namespace tangram::net {
namespace {

constexpr std::string_view kBlanks = " \t";
// Fields of which a proxy may read the last and a server the first.
constexpr std::array<std::string_view, 6> kSingle{"Authorization", "Content-Encoding", "Content-Type",
                                                  "Host",          "Idempotency-Key",  "Last-Event-ID"};

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The elements of the lists of all fields of that name, in order. Empty ones stay: they are no number and no
// coding.
std::vector<std::string_view> elements(const Headers& headers, std::string_view name) {
  std::vector<std::string_view> all;
  for (const Headers::Field& field : headers) {
    if (!same_ignoring_case(field.name, name)) continue;
    std::string_view rest = field.value;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      all.push_back(trimmed(rest.substr(0, comma)));
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
  }
  return all;
}

Response invalid(std::string_view what, std::string_view hint) {
  return problem(400, "http.request.invalid", "this is not a valid HTTP/1.1 request: " + std::string(what),
                 hint);
}

// HTTP/1.0 knows no expectations, so there the field means nothing.
std::optional<Response> expectation_problem(const Headers& headers, unsigned version) {
  if (version < 11) return std::nullopt;
  for (const std::string_view expected : elements(headers, "Expect")) {
    if (expected.empty() || same_ignoring_case(expected, "100-continue")) continue;
    return problem(417, "http.expectation.unsupported", "no Expect but 100-continue is met here",
                   "send the request without Expect");
  }
  return std::nullopt;
}

}  // namespace

std::string_view HeadScanner::fault_at(std::string_view text) const {
  const char c = text[at_];
  const bool after_return = at_ > 0 && text[at_ - 1] == '\r';
  if (c == '\n' && !after_return) return "a line feed without a carriage return";
  if (c != '\n' && after_return) return "a carriage return without a line feed";
  if (c == '\n' && at_ == 1) return "an empty line in the place of a request";
  if (c != '\n' && c != '\r' && is_control(c)) return "a control character";
  if (line_ > 0 && at_ == line_ && kBlanks.find(c) != std::string_view::npos)
    return "a line that goes on in the next one";
  return {};
}

HeadScanner::Verdict HeadScanner::scan(std::string_view so_far) {
  for (; at_ < so_far.size(); ++at_) {
    fault_ = fault_at(so_far);
    if (!fault_.empty()) return Verdict::kMalformed;
    if (so_far[at_] != '\n') continue;
    const bool empty = at_ == line_ + 1;
    line_ = at_ + 1;
    if (!empty) continue;
    ++at_;
    return Verdict::kWhole;
  }
  return Verdict::kMore;
}

bool wants_continue(const Headers& headers, unsigned version) {
  if (version < 11) return false;
  const auto expected = elements(headers, "Expect");
  return std::any_of(expected.begin(), expected.end(),
                     [](std::string_view one) { return same_ignoring_case(one, "100-continue"); });
}

std::optional<Response> framing_problem(const Headers& headers, unsigned version) {
  for (const std::string_view name : kSingle) {
    const auto is_it = [name](const Headers::Field& field) { return same_ignoring_case(field.name, name); };
    if (std::count_if(headers.begin(), headers.end(), is_it) > 1)
      return invalid(std::string(name) + " stands more than once", "send it once");
  }
  if (version >= 11 && !headers.get("Host"))
    return invalid("Host is missing", "send Host: with the server's name");
  if (auto refusal = expectation_problem(headers, version)) return refusal;
  const bool coded = headers.get("Transfer-Encoding").has_value();
  const bool counted = headers.get("Content-Length").has_value();
  if (counted && elements(headers, "Content-Length").size() > 1)
    return invalid("Content-Length stands more than once", "send it once");
  if (!coded) return std::nullopt;
  if (counted) return invalid("Content-Length and Transfer-Encoding exclude each other", "send one of them");
  if (version < 11) return invalid("HTTP/1.0 has no Transfer-Encoding", "send Content-Length");
  const auto codings = elements(headers, "Transfer-Encoding");
  const auto is_chunked = [](std::string_view coding) { return same_ignoring_case(coding, "chunked"); };
  if (!is_chunked(codings.back()) || std::count_if(codings.begin(), codings.end(), is_chunked) > 1) {
    return invalid("Transfer-Encoding must end with chunked, once",
                   "send Content-Length, or Transfer-Encoding: chunked");
  }
  if (codings.size() > 1) {
    return problem(501, "http.transfer_coding.unsupported", "no Transfer-Encoding but chunked is read here",
                   "send the body as it is");
  }
  return std::nullopt;
}

}  // namespace tangram::net
