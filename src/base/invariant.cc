#include "base/invariant.h"

#include <cstdio>
#include <cstdlib>

namespace tangram {

void invariant_failed(const char* expression, const char* file, int line, const char* message) {
  std::fprintf(stderr, "tangram: invariant failed at %s:%d: %s (%s)\n", file, line, expression, message);
  std::abort();
}

}  // namespace tangram
