// The process that stands beside each attempt and outlives the daemon: it owns the log, the time limit, the
// exit record and the control socket. One thread, one poll loop, no state but the attempt's directory.
#pragma once

namespace tangram::runner {

// The whole life of `tangram-supervise`: reads the description from kSpecFd, talks over kControlFd. Returns
// the exit status of the process.
int run_supervisor();

// `tangram-supervise --probe`: tells over kControlFd whether namespaces can be had here ("ok" or a sentence).
int run_probe_namespaces();

}  // namespace tangram::runner
