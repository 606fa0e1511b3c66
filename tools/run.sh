#!/usr/bin/env bash
# Starts and stops Tangram on the simulated machine: tools/run.sh start|stop
#
# $MACHINE is a name of deploy/machines, or a description of your own; without it the machine has eight 910B4. Each has a
# place of its own, so that what one has done is not the other's past.
#
# Everything lives below one directory, which survives a stop: the simulated machine (ascend/), the daemon's state
# (state/) and configuration, the programs (bin/) with their manual (share/man/), logs. Not below the checkout, because tenants' users must be able to read the programs.
set -euo pipefail
cd "$(dirname "$0")/.."
verb=${1:?usage: tools/run.sh start|stop}
build=$PWD/build/release

if [ "$(id -u)" -eq 0 ]; then
  default=/var/lib/tangram-demo
else
  default=${XDG_STATE_HOME:-$HOME/.local/state}/tangram-demo
fi
machine=${MACHINE:-}
if [ -n "$machine" ]; then
  [ -f "$machine" ] || machine=deploy/machines/$machine.yaml
  default=$default-$(basename "$machine" .yaml)
  if [ ! -f "$machine" ]; then
    echo "run: MACHINE=$MACHINE is neither a file nor one of: $(basename -s .yaml deploy/machines/*.yaml | xargs)" >&2
    exit 2
  fi
fi
root=${TANGRAM_DEMO_ROOT:-$default}
socket=$root/state/run/tangram.sock

alive() { # a pid file whose process still runs that program, or the one that stood there before
  local program
  [ -f "$root/$1.pid" ] || return 1
  program=$(readlink "/proc/$(cat "$root/$1.pid")/exe" 2> /dev/null) || return 1
  [ "${program% (deleted)}" = "$root/bin/$1" ]
}

launch() { # name, arguments…: in a session of its own, with a log
  local name=$1
  shift
  setsid "$root/bin/$name" "$@" >> "$root/$name.log" 2>&1 < /dev/null &
  echo $! > "$root/$name.pid"
  # Until it has become that program, it would pass for one that has died.
  for _ in $(seq 100); do
    if alive "$name" || ! jobs -rp | grep -qx $!; then break; fi
    sleep 0.05
  done
}

wait_until() { # what, name of the process that must live meanwhile, command…
  local what=$1 process=$2
  shift 2
  for _ in $(seq 300); do
    if "$@" > /dev/null 2>&1; then return; fi
    if ! alive "$process"; then break; fi
    sleep 0.1
  done
  echo "run: $what did not happen; the end of $root/$process.log:" >&2
  tail -n 20 "$root/$process.log" >&2
  exit 1
}

end() { # name: SIGTERM, then SIGKILL
  alive "$1" || return 0
  local pid
  pid=$(cat "$root/$1.pid")
  kill "$pid"
  for _ in $(seq 100); do
    [ -d "/proc/$pid" ] || break
    sleep 0.1
  done
  kill -9 "$pid" 2> /dev/null || true
  rm -f "$root/$1.pid"
}

tangram() { "$root/bin/tangram" --socket "$socket" "$@"; }
has_devices() { tangram status -o json | grep -q '"devicesAvailable": true'; }
has_jobs() { tangram status -o json 2> /dev/null | grep -q '"jobsRunning": [1-9]'; }
driver_listens() { [ -S "$root/ascend/driver/run/ascendsim.sock" ]; }

place_of() { # of a program or library of the build
  echo "$root/$(basename "$(dirname "$1")")/$(basename "$1")"
}

# Names of what was built, and is otherwise than what runs was started from; the description of the machine, too.
newer_files() {
  local file
  for file in "$build"/bin/* "$build"/lib/*.so; do
    if [ -f "$file" ] && ! cmp -s "$file" "$(place_of "$file")"; then basename "$file"; fi
  done
  if [ -n "$machine" ]; then
    cmp -s "$machine" "$root/machine.yaml" || echo machine.yaml
  elif [ -f "$root/machine.yaml" ]; then
    echo machine.yaml
  fi
}

# The machine's own part: to replace it is a reboot, which ends all jobs.
of_the_machine() { grep -xE 'ascendsimd|npu-smi|lib.*\.so|machine\.yaml' || true; }

install_programs() {
  mkdir -p "$root/bin" "$root/lib"
  # Replaced by rename: a program that still runs keeps its file.
  local file target
  for file in "$build"/bin/* "$build"/lib/*.so; do
    target=$(place_of "$file")
    if [ ! -f "$file" ] || cmp -s "$file" "$target"; then continue; fi
    install -m 755 "$file" "$target.new"
    mv -f "$target.new" "$target"
  done
  mkdir -p "$root/share"
  rm -rf "$root/share/man"
  cp -r "$build/share/man" "$root/share/man"
}

# Yours once you have edited it: what was written last stands beside it.
write_configuration() {
  local file=$root/tangramd.yaml written=$root/.tangramd.yaml.written
  configuration > "$file.new"
  if [ -f "$file" ] && ! cmp -s "$file" "$written" && ! cmp -s "$file" "$file.new"; then
    echo "run: $file was edited, so it stays as it is"
    rm "$file.new"
    return
  fi
  cp "$file.new" "$written"
  mv "$file.new" "$file"
}

configuration() {
  cat << CONFIG
# The daemon on the simulated machine. docs/configuration.md describes every field.
node: demo
cgroup: $(basename "$root")
devices:
  library: $root/ascend/driver/lib64/libdcmi.so
  directory: $root/ascend/dev
  driver: $root/ascend/driver
CONFIG
}

# What the vendor's set_env.sh does for programs that use its library is done here as well.
write_environment() {
  cat > build/env.sh << ENVIRONMENT
# For a shell that talks to what \`make run\` started.
export PATH="$root/ascend/driver/tools:$root/bin:\$PATH"
export MANPATH="$root/share/man:\${MANPATH:-}"
export LD_LIBRARY_PATH="$root/ascend/driver/lib64\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export TANGRAM_SOCKET="$socket"
ENVIRONMENT
}

# Without root, jobs have no file systems of their own.
refuse_private_root() {
  [ "$(id -u)" -eq 0 ] || return 0
  case $(realpath -m "$root")/ in
    /tmp/* | /var/tmp/*)
      echo "run: TANGRAM_DEMO_ROOT is $root, but each job has a /tmp and a /var/tmp of its own and sees" >&2
      echo "run: nothing of what lies there; choose another directory, or leave it out for $default" >&2
      exit 2
      ;;
  esac
}

install_all() {
  echo "run: putting the programs into $root/bin"
  install_programs
  write_configuration
  write_environment
}

start_machine() {
  echo "run: starting the simulated machine"
  rm -f "$root/machine.yaml"
  [ -z "$machine" ] || cp "$machine" "$root/machine.yaml"
  launch ascendsimd --root "$root/ascend" --lib-dir "$root/lib" ${machine:+--machine "$root/machine.yaml"}
  wait_until "the simulated driver" ascendsimd driver_listens
}

start_daemon() {
  echo "run: starting the daemon"
  launch tangramd --root "$root/state" --config "$root/tangramd.yaml"
  wait_until "the daemon's start" tangramd has_devices
}

start_all() {
  end tangramd
  end ascendsimd
  install_all
  start_machine
  start_daemon
  run_example
}

# What runs already, if it is not what was built.
renew() { # names of what is newer
  local boot
  boot=$(of_the_machine <<< "$1" | xargs)
  if [ -z "$boot" ]; then
    echo "run: the daemon that runs is of an older build: the new one takes its place, and jobs go on"
    end tangramd
    install_all
    start_daemon
  elif has_jobs; then
    echo "run: an older build runs, and jobs on it, which a new simulated machine ($boot) would end" >&2
    echo "run: nothing was changed; make stop ends them, and then make run starts what was built" >&2
    exit 1
  else
    echo "run: an older build runs ($boot): starting the simulated machine and the daemon anew"
    start_all
  fi
}

start() {
  local newer
  refuse_private_root
  mkdir -p "$root"
  chmod 755 "$root"
  if alive ascendsimd && driver_listens && ! { alive tangramd && has_devices; }; then
    echo "run: the simulated machine runs, and the daemon does not: jobs go on"
    end tangramd
    start_daemon
  fi
  if alive tangramd && alive ascendsimd && has_devices; then
    newer=$(newer_files)
    if [ -n "$newer" ]; then
      renew "$newer"
    else
      write_environment
      echo "run: Tangram runs already; make stop ends it"
      if [ "$root/tangramd.yaml" -nt "$root/tangramd.pid" ]; then
        echo "run: $root/tangramd.yaml was edited since it was started, and holds after make stop and make run"
      fi
    fi
  else
    start_all
  fi
  echo
  tangram status
  cat << TEXT

Tangram runs on the simulated machine. In another terminal, from this folder:

    . build/env.sh
    tangram status

Configuration (edit it, then make stop and make run), state and logs: $root. The end: make stop${MACHINE:+ MACHINE=$MACHINE}.
TEXT
}

# Real work from the first minute: three tenants multiply matrices on the NPUs.
run_example() {
  echo "run: three tenants, one GEMM each"
  tangram apply -f examples/quickstart/tenants.yaml
  local tenant jobs=()
  local -A priority=([inference]=high [training]=normal [preprocessing]=low)
  for tenant in inference training preprocessing; do
    jobs+=("$(tangram submit --tenant "$tenant" --priority "${priority[$tenant]}" -- "$root/bin/gemm" --size 256)")
  done
  tangram wait "${jobs[@]}" --timeout 2m
  for tenant in "${jobs[@]}"; do
    tangram logs "$tenant"
  done
  tangram queue --all
}

stop() {
  if ! alive tangramd && ! alive ascendsimd; then
    echo "run: nothing runs"
    return
  fi
  # Jobs outlive the daemon by design. A machine that is switched off ends them: the driver goes first, and the
  # daemon lives to see its jobs end.
  end ascendsimd
  for _ in $(seq 200); do
    alive tangramd && has_jobs || break
    sleep 0.1
  done
  end tangramd
  echo "run: stopped; the state stays in $root"
}

case $verb in
  start) start ;;
  stop) stop ;;
  *) echo "usage: tools/run.sh start|stop" >&2; exit 2 ;;
esac
