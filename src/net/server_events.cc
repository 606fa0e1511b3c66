#include "net/server_events.h"

namespace tangram::net {

Result<bool> ServerEventReader::feed(std::string_view piece,
                                     const std::function<bool(const ServerEvent&)>& on_event) {
  for (const char c : piece) {
    const bool second_half = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c != '\n' && c != '\r') {
      line_.push_back(c);
      if (line_.size() + event_.data.size() > kEventBytesMax) {
        return fail(Code::kInternal, "client.answer.invalid",
                    "the server sent an event of more than " + std::to_string(kEventBytesMax) + " bytes");
      }
      continue;
    }
    if (!line_.empty()) {
      take_line(line_);
      line_.clear();
      continue;
    }
    const bool go_on = !has_data_ || on_event(event_);
    last_id_ = event_.id;
    event_.name.clear();
    event_.data.clear();
    has_data_ = false;
    if (!go_on) return false;
  }
  return true;
}

void ServerEventReader::take_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data.push_back('\n');
    event_.data.append(value);
    has_data_ = true;
  } else if (field == "event") {
    event_.name = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    event_.id = value;
  }
}

}  // namespace tangram::net
