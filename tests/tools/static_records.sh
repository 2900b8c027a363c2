#!/bin/sh
# static_records.sh OBJECT...: fails where an object runs code before main.
set -eu
found=$(nm -A "$@" | grep -F '_GLOBAL__sub_I' || true)
[ -z "$found" ] || { echo "$found"; exit 1; }
echo "no object of $# fills its tables when a program starts"
