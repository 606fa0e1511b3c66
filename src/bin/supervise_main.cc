// tangram-supervise: the process beside each attempt. Started by the daemon only.
#include <cstdio>
#include <string_view>

#include "runner/supervisor.h"

int main(int argc, char** argv) {
  if (argc == 1) return tangram::runner::run_supervisor();
  if (argc == 2 && std::string_view(argv[1]) == "--probe") return tangram::runner::run_probe_namespaces();
  std::fputs("tangram-supervise is started by tangramd and takes no arguments\n", stderr);
  return 2;
}
