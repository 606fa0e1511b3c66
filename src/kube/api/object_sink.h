// What a reflector tells: the state of a set of objects, in order.
#pragma once

#include "base/result.h"
#include "kube/api/json.h"

namespace tangram::kube {

// All calls come from the thread that runs the reflector, one at a time, and hold up its stream: they must
// not block for long. What they are given is valid during the call.
class ObjectSink {
 public:
  ObjectSink() = default;
  virtual ~ObjectSink() = default;
  ObjectSink(const ObjectSink&) = delete;
  ObjectSink& operator=(const ObjectSink&) = delete;

  // All that exists follows. A begun one that is not ended is followed by another.
  virtual void begin_replace() = 0;
  // What did not come since begin_replace() is gone.
  virtual void end_replace() = 0;
  // Is there, new or changed or (in a replace) the same. An error makes the reflector begin anew, after a
  // rest.
  virtual Result<void> put(const ObjectMeta& meta, const json::object& object) = 0;
  // Is gone; `object` is its last state.
  virtual void remove(const ObjectMeta& meta, const json::object& object) = 0;
};

}  // namespace tangram::kube
