#include "device/dcmi/helper_protocol.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <concepts>

#include "device/dcmi/plausible.h"

namespace tangram::device {
namespace {

// What follows is one list of members for both directions, so that they cannot drift apart.
template <class Codec, class... Members>
void visit(Codec& codec, Members&... members) {
  (codec.item(members), ...);
}

template <class Codec, class Use>
void visit_use(Codec& codec, Use& use) {
  visit(codec, use.pid, use.bytes);
}

template <class Codec, class Resources>
void visit_resources(Codec& codec, Resources& resources) {
  visit(codec, resources.ai_cores_milli, resources.memory_bytes, resources.ai_cpus, resources.vpc_milli,
        resources.venc_milli, resources.vdec_milli, resources.jpegd_milli, resources.jpege_milli,
        resources.pngd_milli);
}

template <class Codec, class Vnpu>
void visit_vnpu(Codec& codec, Vnpu& vnpu) {
  visit(codec, vnpu.id, vnpu.template_name, vnpu.container_used, vnpu.container_id, vnpu.vgroup_id);
  visit_resources(codec, vnpu.resources);
  visit(codec, vnpu.memory_usable_bytes, vnpu.memory_used_bytes, vnpu.aicore_percent);
}

template <class Codec, class Event>
void visit_event(Codec& codec, Event& event) {
  visit(codec, event.code, event.logic_id, event.severity, event.assertion, event.raised_at_ms, event.name);
}

class Encoder {
 public:
  template <std::integral T>
  void item(const T& value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8U)
      bytes_.push_back(static_cast<char>(bits & 0xFFU));
  }
  template <class T>
    requires std::is_enum_v<T>
  void item(const T& value) {
    item(static_cast<std::underlying_type_t<T>>(value));
  }
  void item(const std::string& text) {
    const std::size_t size = std::min(text.size(), kTextBytesMax);
    item(static_cast<std::uint32_t>(size));
    bytes_.append(text, 0, size);
  }
  void item(const ProcessUse& use) { visit_use(*this, use); }
  void item(const VnpuReading& vnpu) { visit_vnpu(*this, vnpu); }
  void item(const EventReading& event) { visit_event(*this, event); }
  template <class T>
  void item(const std::vector<T>& list) {
    const std::size_t size = std::min(list.size(), kListItemsMax);
    item(static_cast<std::uint32_t>(size));
    for (std::size_t i = 0; i < size; ++i) item(list[i]);
  }
  template <class T>
  void item(const Field<T>& field) {
    item(static_cast<std::uint8_t>(field.valid ? 1 : 0));
    item(field.code);
    item(field.value);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  template <std::integral T>
  void item(T& value) {
    if (rest_.size() < sizeof(T)) return spoil();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8U * i);
    }
    value = static_cast<T>(bits);
    rest_.remove_prefix(sizeof(T));
  }
  void item(Operation& operation) { enumerator(operation, Operation::kSetDeviceShare); }
  void item(AnswerKind& kind) { enumerator(kind, AnswerKind::kFailed); }
  void item(RecoverFile::State& state) { enumerator(state, RecoverFile::State::kLockUnusable); }
  void item(std::string& text) {
    const std::size_t size = count(kTextBytesMax);
    if (rest_.size() < size) return spoil();
    text.assign(rest_.substr(0, size));
    rest_.remove_prefix(size);
  }
  void item(ProcessUse& use) { visit_use(*this, use); }
  void item(VnpuReading& vnpu) { visit_vnpu(*this, vnpu); }
  void item(EventReading& event) { visit_event(*this, event); }
  template <class T>
  void item(std::vector<T>& list) {
    const std::size_t size = count(kListItemsMax);
    list.clear();
    for (std::size_t i = 0; i < size && good_; ++i) {
      T one{};
      item(one);
      list.push_back(std::move(one));
    }
  }
  template <class T>
  void item(Field<T>& field) {
    std::uint8_t valid = 0;
    item(valid);
    field.valid = valid != 0;
    item(field.code);
    item(field.value);
  }

  bool complete() const { return good_ && rest_.empty(); }

 private:
  template <class T>
  void enumerator(T& value, T last) {
    std::uint8_t number = 0;
    item(number);
    if (number > static_cast<std::uint8_t>(last)) return spoil();
    value = static_cast<T>(number);
  }
  std::size_t count(std::size_t max) {
    std::uint32_t size = 0;
    item(size);
    if (size > max) {
      spoil();
      return 0;
    }
    return size;
  }
  void spoil() {
    good_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool good_ = true;
};

template <class Codec, class Request>
void visit_request(Codec& codec, Request& request) {
  visit(codec, request.operation, request.address.card, request.address.device, request.texts, request.number,
        request.vgroup);
}

template <class Codec, class Answer>
void visit_answer(Codec& codec, Answer& answer) {
  visit(codec, answer.kind, answer.text, answer.code, answer.numbers, answer.driver_version);
  auto& identity = answer.identity;
  visit(codec, identity.logic_id, identity.phy_id, identity.chip_type, identity.chip_name,
        identity.chip_version, identity.aicore_count, identity.board_id, identity.slot_id,
        identity.pcie_address, identity.uuid, identity.mcu_version);
  auto& telemetry = answer.telemetry;
  visit(codec, telemetry.health, telemetry.error_codes, telemetry.memory_total_bytes,
        telemetry.memory_used_bytes, telemetry.aicore_percent, telemetry.temperature_celsius,
        telemetry.power_tenth_watts, telemetry.processes);
  auto& slicing = answer.slicing;
  visit(codec, slicing.vnpus);
  visit_resources(codec, slicing.total);
  visit_resources(codec, slicing.free);
  visit(codec, slicing.device_share);
  auto& modes = answer.modes;
  visit(codec, modes.slices_recover, modes.for_containers, modes.recover_file.state, modes.recover_file.why,
        modes.recover_file.error_number);
  visit(codec, answer.events);
}

tl::unexpected<Error> malformed(const char* what, std::size_t size) {
  return fail(
      Code::kDataLoss, "device.helper.malformed",
      std::string("malformed ") + what + " of " + std::to_string(size) + " bytes on the helper's channel");
}

bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = send(fd, data, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int fd, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, data, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

std::string encode(const HelperRequest& request) {
  Encoder encoder;
  visit_request(encoder, request);
  return encoder.take();
}

std::string encode(const HelperAnswer& answer) {
  Encoder encoder;
  visit_answer(encoder, answer);
  return encoder.take();
}

Result<HelperRequest> decode_request(std::string_view bytes) {
  HelperRequest request;
  Decoder decoder(bytes);
  visit_request(decoder, request);
  if (!decoder.complete()) return malformed("request", bytes.size());
  return request;
}

Result<HelperAnswer> decode_answer(std::string_view bytes) {
  HelperAnswer answer;
  Decoder decoder(bytes);
  visit_answer(decoder, answer);
  if (!decoder.complete()) return malformed("answer", bytes.size());
  make_printable(answer.text);
  make_printable(answer.driver_version);
  drop_implausible(answer.identity);
  drop_implausible(answer.telemetry);
  drop_implausible(answer.slicing);
  drop_implausible(answer.modes);
  drop_implausible(answer.events);
  return answer;
}

bool write_frame(int fd, std::string_view payload) {
  if (payload.size() > kFrameBytesMax) return false;
  std::string frame;
  for (unsigned shift = 0; shift < 32; shift += 8)
    frame.push_back(static_cast<char>((payload.size() >> shift) & 0xFFU));
  frame.append(payload);
  return write_all(fd, frame.data(), frame.size());
}

bool read_frame(int fd, std::string& payload) {
  unsigned char prefix[4];
  char raw[4];
  if (!read_all(fd, raw, sizeof raw)) return false;
  std::copy(std::begin(raw), std::end(raw), std::begin(prefix));
  std::size_t size = 0;
  for (unsigned i = 0; i < 4; ++i) size |= static_cast<std::size_t>(prefix[i]) << (8U * i);
  if (size > kFrameBytesMax) return false;
  payload.resize(size);
  return read_all(fd, payload.data(), size);
}

}  // namespace tangram::device
