#!/usr/bin/env bash
# Installs the Debian packages of the given lists that are missing; does nothing, and needs no root, when all are
# there. Usage: tools/setup.sh tools/packages.txt [more lists…]
set -euo pipefail

missing=()
for list in "$@"; do
  while read -r package; do
    [ -n "$package" ] || continue
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
  done < "$list"
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo > /dev/null; then
  as_root=(sudo)
else
  echo "setup: these packages are missing: ${missing[*]}" >&2
  echo "setup: run 'make setup' as root, or install sudo" >&2
  exit 1
fi

# Some packages bring a service (a Prometheus on a port of its own) that nobody here asked to run.
policy=/usr/sbin/policy-rc.d
if ! [ -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi

echo "setup: installing ${missing[*]}" >&2
# A machine that has just been set up may hold the package lock for a while, and a mirror may fail once.
options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
"${as_root[@]}" apt-get "${options[@]}" update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y -q --no-install-recommends \
  "${missing[@]}"
