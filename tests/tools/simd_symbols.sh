#!/bin/sh
# simd_symbols.sh OBJECT...: fails when a vector loop's object defines a shared inline function outside its own namespace
# sconce::v2, v3 or v4. The linker keeps one copy of such a function for the whole program: if it kept the one compiled
# for AVX-512, the program would crash on machines without it.
set -eu
found=$(nm -C --defined-only "$@" 2>/dev/null | grep -E '^[0-9a-f]+ [WVuvw] ' | grep -vE 'sconce::v[234]::' | sort -u || true)
[ -z "$found" ] && exit 0
echo "inline functions that escape the namespace of their instruction set:"
echo "$found"
exit 1
