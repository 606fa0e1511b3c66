// What a client reads from a server that need not be a good one: the answer of HTTP, and in its body the
// events of a stream. Both are read in one piece and in small ones; however the network cuts them, they say
// the same.
//
// The first byte says whether the answer is one to HEAD, the second in how large pieces it comes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "input.h"
#include "net/answer_reader.h"
#include "net/base64.h"
#include "net/server_events.h"
#include "require.h"

namespace tangram::fuzz {
namespace {

struct Answer {
  std::string head;  // status and headers
  std::string body;
  std::string problem;  // reason of the Error that ended it
  bool keeps_alive = false;
  std::size_t used = 0;  // bytes of the stream, when the answer is whole
};

// A connection that holds `text` and then ends.
class Connection {
 public:
  Connection(std::string_view text, std::size_t piece) : rest_(text), piece_(piece) {}

  Result<std::size_t> read(void* into, std::size_t size) {
    require(size > 0, "there is room for what is read");
    const std::size_t count = std::min({size, piece_, rest_.size()});
    std::copy_n(rest_.data(), count, static_cast<char*>(into));
    rest_.remove_prefix(count);
    return count;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  std::size_t piece_;
};

std::string head_of(const net::Response& response) {
  std::string text = std::to_string(response.status);
  for (const net::Headers::Field& field : response.headers) text += "\n" + field.name + ": " + field.value;
  return text;
}

Answer read_answer(std::string_view text, bool head_only, std::size_t piece) {
  Connection connection(text, piece);
  net::Incoming incoming(
      [&](void* into, std::size_t size, net::ClientDeadline) { return connection.read(into, size); });
  net::AnswerReader reader(incoming, head_only);
  Answer answer;
  const auto head = reader.read_head(std::nullopt);
  if (!head) {
    require_presentable(head.error());
    answer.problem = head.error().reason;
    return answer;
  }
  require(head->status >= 200 && head->status <= 999, "an answer that is final has a status of three digits");
  answer.head = head_of(*head);
  while (true) {
    const auto part = reader.read_body(std::nullopt);
    if (!part) {
      require_presentable(part.error());
      answer.problem = part.error().reason;
      return answer;
    }
    if (part->empty()) break;
    answer.body += *part;
    require(answer.body.size() <= text.size(), "a body is no more than what was sent");
  }
  require(!head_only || answer.body.empty(), "the answer to HEAD has no body");
  answer.keeps_alive = reader.keeps_alive();
  answer.used = text.size() - connection.left() - incoming.waiting().size();
  return answer;
}

void check_answer(const Answer& whole, const Answer& cut) {
  require(whole.problem.empty() == cut.problem.empty(), "an answer is broken however it is cut");
  // Of a broken one only this may differ: how much had come by then, and whether it breaks off or is wrong.
  if (!whole.problem.empty()) {
    require(whole.body.starts_with(cut.body) || cut.body.starts_with(whole.body),
            "a body is the same so far");
    return;
  }
  require(whole.head == cut.head, "a head is the same however it is cut");
  require(whole.body == cut.body, "a body is the same however it is cut");
  require(whole.keeps_alive == cut.keeps_alive && whole.used == cut.used,
          "the next answer begins at the same place");
}

struct Heard {
  std::vector<net::ServerEvent> events;
  std::string last_id;
};

Heard read_events(std::string_view stream, std::size_t piece) {
  Heard heard;
  net::ServerEventReader reader;
  while (!stream.empty()) {
    const auto fed = reader.feed(stream.substr(0, piece), [&](const net::ServerEvent& event) {
      heard.events.push_back(event);
      return true;
    });
    require(fed.has_value() && *fed, "a small stream is read to its end");
    stream.remove_prefix(std::min(piece, stream.size()));
  }
  heard.last_id = reader.last_id();
  return heard;
}

void check_events(std::string_view stream, std::size_t piece) {
  const Heard whole = read_events(stream, stream.size());
  const Heard cut = read_events(stream, piece);
  require(whole.last_id == cut.last_id, "the place to go on from is the same however the stream is cut");
  require(whole.events.size() == cut.events.size(), "as many events come however the stream is cut");
  std::size_t bytes = 0;
  for (std::size_t n = 0; n < whole.events.size(); ++n) {
    const net::ServerEvent& event = whole.events[n];
    require(
        event.name == cut.events[n].name && event.data == cut.events[n].data && event.id == cut.events[n].id,
        "an event is the same however the stream is cut");
    require(event.name.find_first_of("\r\n") == std::string::npos, "a name is one line");
    bytes += event.data.size();
    // A piece of a log.
    if (const auto decoded = net::decode_base64(event.data)) {
      require(net::encode_base64(*decoded) == event.data, "a piece of a log has one spelling");
    } else {
      require_presentable(decoded.error());
    }
  }
  require(bytes <= stream.size(), "events are no more than what was sent");
}

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::fuzz;
  Input input(data, size);
  const bool head_only = (input.byte() & 1U) != 0;
  const std::size_t piece = 1 + input.byte() % 64U;
  const std::string_view text = input.rest();
  const Answer whole = read_answer(text, head_only, text.size() + 1);
  check_answer(whole, read_answer(text, head_only, piece));
  if (!whole.body.empty()) check_events(whole.body, piece);
  return 0;
}
