#!/usr/bin/env bash
# Configures (once) and builds a preset: tools/build.sh dev [targets…]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/tangram/ccache}
# Paths are rewritten, so that a checkout in another folder finds the same objects in the cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
log=build/$preset.configure.log
mkdir -p build
cmake --preset "$preset" > "$log" 2>&1 || { cat "$log"; exit 1; }
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
exec cmake --build --preset "$preset" -j "${BUILD_JOBS:-$(nproc)}" "${targets[@]}" -- --quiet
