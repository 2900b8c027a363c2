#!/bin/sh
# static_records.sh OBJECT...: fails where an object has an initialiser of the compiler's, which would fill tables when a
# program starts. The functions that make operators of records are ours (sconce/dispatch/records/op_family.h).
set -eu
found=$(nm -A "$@" | grep -F '_GLOBAL__sub_I' || true)
[ -z "$found" ] || { echo "$found"; exit 1; }
echo "no object of $# fills its tables when a program starts"
