// tangramd.yaml.
#include <cstddef>
#include <cstdint>

#include "input.h"
#include "require.h"
#include "service/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tangram::fuzz::require;
  const std::string_view text = tangram::fuzz::Input(data, size).rest();
  const auto config = tangram::service::parse_config(text, "tangramd.yaml", "");
  if (!config) {
    tangram::fuzz::require_presentable(config.error());
    return 0;
  }
  const tangram::service::ApiLimits& api = config->api;
  require(api.connections > 0 && api.connections_unknown < api.connections,
          "some connections are left for the known");
  require(api.memory > 0 && api.requests_per_second > 0, "the API can be used at all");
  require(config->options.grace_ms >= 0 && config->options.scan_interval_ms > 0, "times are times");
  for (const tangram::service::Listen& listen : config->listen) {
    require(listen.certificate.empty() == listen.key.empty(), "a certificate has its key");
  }
  return 0;
}
