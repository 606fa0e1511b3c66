#include "net/problem.h"

#include "base/error.h"

namespace tangram::net {
std::string json_quoted(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

// Of the statuses given by this layer.
Code code_of(int status) {
  switch (status) {
    case 413:
    case 429:
    case 431:
      return Code::kResourceExhausted;
    case 501:
      return Code::kUnimplemented;
    case 503:
      return Code::kUnavailable;
    case 500:
      return Code::kInternal;
    default:
      return Code::kInvalidArgument;
  }
}

}  // namespace

std::string_view status_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

Response problem(int status, std::string_view reason, std::string_view detail, std::string_view hint) {
  Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/problem+json");
  response.body = R"({"type":"about:blank","title":)" + json_quoted(status_phrase(status)) +
                  ",\"status\":" + std::to_string(status) +
                  ",\"code\":" + json_quoted(to_string(code_of(status))) +
                  ",\"reason\":" + json_quoted(reason) + ",\"detail\":" + json_quoted(detail);
  if (!hint.empty()) response.body += ",\"hint\":" + json_quoted(hint);
  response.body += "}\n";
  return response;
}

}  // namespace tangram::net
