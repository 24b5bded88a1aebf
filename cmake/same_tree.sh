#!/bin/sh
# same_tree.sh FOLDER: fails where the build folder FOLDER is used as a copy of itself. Its rules name the sources of the tree that it
# was made for by their whole paths, so a copy would build those, whatever was changed beside it, and say that all went well.
# Commands run in FOLDER; the program that started them, ninja or make, runs where it was told to build.
made_for=$1
pid=$PPID
while [ "$pid" -gt 1 ] && [ -r "/proc/$pid/stat" ]; do
  case $(cat "/proc/$pid/comm") in
    ninja* | make | gmake)
      here=$(readlink "/proc/$pid/cwd")
      if [ -n "$here" ] && [ "$here" != "$(readlink -f "$made_for")" ]; then
        echo "$here is a copy of the build folder $made_for and would build the sources of its tree, not those beside the copy:" \
          "delete its CMakeCache.txt and CMakeFiles, and configure again." >&2
        exit 1
      fi
      exit 0
      ;;
  esac
  pid=$(sed 's/.*) [A-Za-z] \([0-9]*\) .*/\1/' "/proc/$pid/stat")
done
