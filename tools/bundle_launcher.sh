#!/bin/sh
# Runs the program of this folder on any x86-64 Linux, with the folder's own libraries and the machine's own GPU driver.
set -eu
here=$(dirname "$(readlink -f "$0")")
program=$here/bin/$(basename "$0")
[ -x "$program" ] || program=$here/bin/weft
. "$here/lib/vulkan.sh"

# The newer C library wins: the machine's drivers may need it as much as the program does.
glibc_of() { "$1" --version 2>/dev/null | sed -n '1s/.* version \([0-9.]*[0-9]\).*/\1/p'; }
loader=$here/lib/glibc/ld-linux-x86-64.so.2
path=$here/lib/glibc:$here/lib
host_loader=/lib64/ld-linux-x86-64.so.2
newest=$(printf '%s\n' "$(glibc_of "$loader")" "$(glibc_of "$host_loader")" | sort -V | tail -n 1)
if [ "$newest" = "$(glibc_of "$host_loader")" ]; then
  loader=$host_loader
  path=$here/lib
fi
exec "$loader" --argv0 "$0" --library-path "$path${driver_path:+:$driver_path}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$program" "$@"
