// What an NPU may say of itself. The helper keeps to it when it reads the vendor's structures, and the
// daemon, which does not trust the helper's memory, when it decodes what the helper sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/dcmi/reading.h"

namespace tangram::device {

inline constexpr std::uint32_t kPhyIdMax = 1023;
inline constexpr std::uint32_t kAiCoresMax = 1024;
inline constexpr std::uint64_t kMemoryBytesMax = 1ULL << 44;  // 16 TiB
inline constexpr std::uint32_t kPercentMax = 100;
inline constexpr std::int32_t kCelsiusMin = -60;
inline constexpr std::int32_t kCelsiusMax = 200;
inline constexpr std::int32_t kTenthWattsMax = 100'000;
inline constexpr std::size_t kChipTextBytesMax = 64;  // of a name, a version, an address

inline constexpr std::uint32_t kMilli = 1000;
inline constexpr std::uint32_t kEngineUnitsMax = 4096;  // of any media engine
inline constexpr std::uint32_t kAiCpusMax = 1024;
inline constexpr std::uint32_t kVgroupsMax = 64;
inline constexpr std::uint8_t kSeverityMax = 3;
inline constexpr std::uint8_t kAssertionMax = 2;
inline constexpr std::size_t kEventNameBytesMax = 128;

bool is_plausible_health(std::uint32_t health);
bool is_chip_text(std::string_view text);
bool is_vnpu_id(std::uint32_t id);
bool is_template_name(std::string_view name);

// Control characters, and what is not ASCII, become '?'.
void make_printable(std::string& text);

// A value that cannot be becomes unknown (kCodeImplausible), and a process or an event that cannot be is left
// out. A slice whose values cannot be stays, with what can be: it takes room.
void drop_implausible(NpuIdentity& identity);
void drop_implausible(NpuTelemetry& telemetry);
void drop_implausible(NpuSlicing& slicing);
void drop_implausible(HostModes& modes);
void drop_implausible(Field<std::vector<EventReading>>& events);

}  // namespace tangram::device
