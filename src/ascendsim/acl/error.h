// How a call of libascendcl.so fails: a code for the program, and a sentence for aclGetRecentErrMsg.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "acl/acl_base.h"
#include "ascendsim/protocol/connection.h"

namespace ascendsim {

// Keeps the sentence for this thread and returns `code`.
aclError fail(aclError code, const std::string& message);

// What a failed exchange with the driver means to the program.
aclError fail(const CallResult& result, const std::string& what);

// Takes this thread's sentence; NULL when there is none. Valid until the next call of the same thread.
const char* take_error_message();

// No exception may cross the C interface.
template <class Body>
aclError guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return ACL_ERROR_BAD_ALLOC;
  } catch (const std::exception&) {
    return ACL_ERROR_INTERNAL_ERROR;
  }
}

}  // namespace ascendsim
