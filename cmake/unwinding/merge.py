#!/usr/bin/env python3
"""merge.py LIBRARY OUT: tables for unwinding of a linked library, smaller: OUT is assembly, for another link in place of
the linker's .eh_frame and .gcc_except_table.

Call frame information: an entry of the linker's has a head of 17 to 21 bytes for each function, and about 8 bytes of what
unwinding does there. One entry may serve many functions that follow each other, if it says how unwinding changes from each to the
next, which is little (cmake/unwinding/order.py): here it serves RUN of them. Handlers (clean-up code, catch): a table for each
function becomes one for each entry. Landing pads compare numbers of types, so an entry serves functions whose numbers agree. Where
a call has no place in such a table, exceptions end the program (noexcept), so functions without a table are in it as a whole.

Only states at calls matter. Where the first thing that a function says stands at a call, cmake/unwinding/as has said all of it
at calls, and what holds before is left out. Functions whose frames are computed (DW_CFA_..._expression) keep entries of their own.

Addresses are distances from the beginning of .text, which the linker script names; it also asserts that .text has the size of
the link before."""

import struct
import sys

from tables import ABSENT, ARGUMENTS, INDIRECT, REMEMBER, RESTORE, Elf, functions, uleb

RUN = 64  # functions of an entry: more would make unwinding slower, which reads an entry from its beginning


def advance(distance, factor):
    steps, rest = divmod(distance, factor)
    assert steps >= 0 and rest == 0
    if steps == 0:
        return b""
    if steps < 0x40:
        return bytes([0x40 | steps])
    for limit, opcode, form in ((0x100, 2, "<B"), (0x10000, 3, "<H"), (1 << 32, 4, "<I")):
        if steps < limit:
            return bytes([opcode]) + struct.pack(form, steps)
    raise AssertionError(distance)


def joined(run):
    """The instructions of an entry for these functions, from the first one's beginning."""
    common = run[0].common
    out, at, arguments = bytes([REMEMBER]), 0, 0
    state = common.first
    for f in run:
        for place, to in f.rows:
            by_changes = state.changes(to)
            anew = bytes([RESTORE, REMEMBER]) + common.first.changes(to)
            change = by_changes if len(by_changes) <= len(anew) else anew
            if to.arguments != arguments:
                change += bytes([ARGUMENTS]) + uleb(to.arguments)
            state, arguments = to, to.arguments
            if change:
                here = f.begin - run[0].begin + place
                out += advance(here - at, common.factor) + change
                at = here
    return out if RESTORE in out else out[1:]


class Writer:
    def __init__(self, elf):
        self.code, _ = elf.section(".text")
        self.cells = elf.cells()
        self.lines, self.handlers, self.types, self.labels = [], [], {}, 0  # types: labels of lists

    @staticmethod
    def bytes(lines, data):
        if data:
            lines.append("  .byte " + ", ".join(str(b) for b in data))

    def entry(self, write):
        """Its length, what `write` writes, and what fills it up to a multiple of 4."""
        n = self.labels = self.labels + 1
        self.lines += [f"  .long .Lend{n} - .Lbegin{n}", f".Lbegin{n}:"]
        write(n)
        self.lines += ["  .balign 4, 0", f".Lend{n}:"]
        return n

    def common(self, of):
        def write(_):
            self.lines.append("  .long 0")
            self.bytes(self.lines, bytes([of.version]) + b"zPLR\0" + uleb(of.factor) + uleb(of.data_factor & 0x7F) + uleb(of.register) +
                       bytes([7, 0x9B]))
            self.lines.append("  .long DW.ref.__gxx_personality_v0 - .")
            self.bytes(self.lines, bytes([0x1B, 0x1B]) + of.instructions)
        return self.entry(write)

    def functions(self, common, run, instructions):
        begin = run[0].begin

        def write(n):
            self.lines += [f"  .long .Lbegin{n} - .Lbegin{common} + 4", f"  .long sconce_code + {begin - self.code} - .",
                           f"  .long {run[-1].begin + run[-1].size - begin}", "  .byte 4"]
            self.lines.append(f"  .long .Lhandlers{n} - ." if self.handlers_of(n, run) else "  .long 0")
            self.bytes(self.lines, instructions)
        self.entry(write)

    def handlers_of(self, n, run):
        """Writes the table of the handlers that these functions have; False where they have none."""
        if all(f.handlers is None for f in run):
            return False
        calls, actions, places = [], b"", {(): 0}
        whole = False  # does the last range end a function that has no table?
        for f in run:
            base = f.begin - run[0].begin
            if f.handlers is None:
                if whole:
                    calls[-1] = (calls[-1][0], base + f.size - calls[-1][0], 0, 0)
                else:
                    calls.append((base, f.size, 0, 0))
                whole = True
                continue
            whole = False
            for begin, size, pad, caught in f.handlers.calls:
                if caught not in places:
                    places[caught] = len(actions) + 1
                    for i, number in enumerate(caught):
                        actions += bytes([number, 1 if i + 1 < len(caught) else 0])
                calls.append((base + begin, size, base + pad if pad else 0, places[caught]))
        table = b"".join(uleb(v) for call in calls for v in call)
        out = self.handlers
        out.append(f".Lhandlers{n}:")
        types = types_of(run)
        if types:
            out += [f"  .byte {ABSENT}, {INDIRECT}", f"  .uleb128 {self.type_list(types)} - .Ltable{n}", f".Ltable{n}:"]
        else:
            out.append(f"  .byte {ABSENT}, {ABSENT}")
        self.bytes(out, b"\1" + uleb(len(table)) + table + actions)
        return True

    def type_list(self, types):
        """The label behind a list of these types: they are counted backwards from there."""
        cells = tuple(types.get(number, 0) for number in range(max(types), 0, -1))
        if any(cell and cell not in self.cells for cell in cells):
            raise SystemExit("a type of an anonymous namespace is caught: it needs a name that the linker sees")
        return self.types.setdefault(cells, f".Ltypes{len(self.types)}")

    def text(self):
        sections = [("sconce_unwinding", [*self.lines, "  .long 0"])]
        if self.handlers:
            types = ["  .balign 4"]
            for cells, label in self.types.items():
                types += [*(f"  .long {self.cells[cell]} - ." if cell else "  .long 0" for cell in cells), f"{label}:"]
            sections.append(("sconce_handlers", [*self.handlers, *types]))
        out = ["# Generated by cmake/unwinding/merge.py. Do not edit."]
        for name, lines in sections:
            out += [f'  .section .{name}, "a", @progbits', "  .balign 4", *lines]
        return out + [f"  .hidden {name}" for name in sorted({*self.cells.values(), "DW.ref.__gxx_personality_v0"})]


def types_of(run):
    """The types that these functions catch, by number; None where their numbers do not agree."""
    out = {}
    for f in run:
        for number, cell in (f.handlers.types if f.handlers else {}).items():
            if out.setdefault(number, cell) != cell:
                return None
    return out


def runs(all_functions):
    """Functions that one entry may serve, in order."""
    out = []
    for f in all_functions:
        last = out[-1] if out else None
        if (last and f.rows and last[-1].rows and len(last) < RUN and f.common.key() == last[0].common.key() and
                types_of([*last, f]) is not None):
            last.append(f)
        else:
            out.append([f])
    return out


def main():
    library, out = sys.argv[1:]
    elf = Elf(library)
    writer = Writer(elf)
    common = {}
    for run in runs(functions(elf)):
        key = run[0].common.key()
        if key not in common:
            common[key] = writer.common(run[0].common)
        writer.functions(common[key], run, joined(run) if run[0].rows else run[0].instructions)
    lines = [*writer.text(), "  .globl sconce_code_size", "  .hidden sconce_code_size", f"  .set sconce_code_size, {elf.sections['.text'][2]}",
             '  .section .note.GNU-stack, "", @progbits', ""]
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


main()
