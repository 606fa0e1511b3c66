#!/usr/bin/env bash
# Proves the two commands on a fresh Debian 12: a new root (debootstrap; only git and make added), a clone of this
# repository in it, and whatever command follows, by default `make test`. Needs root, debootstrap and the network.
#
#   tools/fresh_root.sh [--keep] [--dir DIR] [command…]
#
# The root gets its own mount namespace; nothing of the machine is changed. --keep leaves the root for a second look.
set -euo pipefail

source_dir=$(cd "$(dirname "$0")/.." && pwd)
dir=/var/tmp/tangram-fresh-root
keep=
while [ $# -gt 0 ]; do
  case $1 in
    --keep) keep=yes; shift ;;
    --dir) dir=$2; shift 2 ;;
    *) break ;;
  esac
done
[ "$(id -u)" -eq 0 ] || { echo "fresh_root: needs root" >&2; exit 1; }
command -v debootstrap > /dev/null || { echo "fresh_root: install debootstrap first" >&2; exit 1; }

base=$dir/base root=$dir/root
if [ ! -d "$base/usr" ]; then
  mkdir -p "$dir"
  debootstrap --variant=minbase --include=git,make bookworm "$base"
fi
rm -rf --one-file-system "$root"
cp -a "$base" "$root"
git clone -q "$source_dir" "$root/root/tangram"
cp /etc/resolv.conf "$root/etc/resolv.conf"
[ $# -gt 0 ] || set -- make test

# --kill-child: what the command leaves running in there ends with it.
status=0
unshare --mount --pid --fork --kill-child --propagation private bash -s -- "$root" "$@" <<'INSIDE' || status=$?
root=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
exec chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  LANG=C.UTF-8 TERM=dumb bash -c 'cd /root/tangram && exec "$@"' fresh "$@"
INSIDE
[ -n "$keep" ] || rm -rf --one-file-system "$root"
exit $status
