#!/usr/bin/env python3
"""order.py LIBRARY MAP OUT: functions of a linked library in the order that makes its tables for unwinding smallest (merge.py).

Unwinding is the same in functions that save the same registers and have frames of the same size: beside each other, they need one
description. Functions that handle exceptions come behind those that do not, and those that catch the same types beside each other.
OUT is what a linker script says of .text; what it does not name comes last."""

import re
import sys

from tables import Elf, functions

SECTION = re.compile(r"^ (\.text\.\S+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+ \S", re.M)


def frames(function):
    """What says how unwinding goes on at its calls, first that which most functions share."""
    caught = sorted(function.handlers.types.items()) if function.handlers else []
    return (function.common.key(), function.handlers is not None, caught, function.rows is None,
            [(sorted(state.saved.items()), state.register, state.offset, state.arguments) for _, state in function.rows or ()])


def main():
    library, link_map, out = sys.argv[1:]
    elf = Elf(library)
    with open(link_map, encoding="utf-8") as file:
        sections = {int(address, 16): name for name, address in SECTION.findall(file.read())}
    ordered = sorted(functions(elf), key=frames)
    names = dict.fromkeys(sections[f.begin] for f in ordered if f.begin in sections)
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(f"*({name})\n" for name in names)


main()
