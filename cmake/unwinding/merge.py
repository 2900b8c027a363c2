#!/usr/bin/env python3
"""merge.py LIBRARY OUT: tables for unwinding of a linked library, smaller: OUT is assembly, for a second link in place of
the linker's .eh_frame.

An entry of the linker's has a head of 17 bytes for each function, and 8 bytes of what unwinding does there. One entry may serve many functions
that follow each other, each from its own address on: here an entry serves RUN functions, and the state of unwinding goes
back to that of a function's beginning between them (DW_CFA_restore_state). Functions with handlers (clean-up code, catch) keep
entries of their own, because an entry has one table of handlers. These come first: the entries behind them may cover their
addresses, too, and the first one that fits is taken.

Addresses are distances from the beginnings of .text and .gcc_except_table, which the linker script names; it also asserts that
both have the sizes of the first link."""

import struct
import sys

RUN = 32  # functions of an entry: more would make unwinding slower, which reads an entry from its beginning
REMEMBER, RESTORE = b"\x0a", b"\x0b"
ABSENT = 0xff  # of an encoding


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise SystemExit(f"{path} is no 64-bit little-endian ELF file")
        table, = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        heads = [struct.unpack_from("<IIQQQQ", self.data, table + i * size) for i in range(count)]
        text = heads[names][4]
        self.sections = {}
        for name, _, _, address, offset, length in heads:
            end = self.data.index(b"\0", text + name)
            self.sections[self.data[text + name:end].decode()] = (address, offset, length)

    def section(self, name):
        """Its address and its bytes."""
        address, offset, length = self.sections[name]
        return address, self.data[offset:offset + length]


def uleb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def operands(opcode, data, at):
    """Where the operands of an instruction of DW_CFA_... end."""
    kinds = {0x00: "", 0x05: "uu", 0x06: "u", 0x07: "u", 0x08: "u", 0x09: "uu", 0x0A: "", 0x0B: "", 0x0C: "uu", 0x0D: "u", 0x0E: "u",
             0x2E: "u", 0x0F: "b", 0x10: "ub"}
    for kind in "u" if opcode & 0xC0 == 0x80 else "" if opcode & 0xC0 == 0xC0 else kinds[opcode]:
        length, at = uleb(data, at)
        if kind == "b":
            at += length
    return at


def rows(data, factor):
    """Instructions by where they hold from: (bytes behind the function's beginning, instructions)."""
    out, place, at = [], 0, 0
    while at < len(data):
        opcode = data[at]
        at += 1
        if opcode & 0xC0 == 0x40:
            place += (opcode & 0x3F) * factor
        elif opcode in (0x02, 0x03, 0x04):
            size = 1 << (opcode - 2)
            place += int.from_bytes(data[at:at + size], "little") * factor
            at += size
        elif opcode:  # 0 fills up
            end = operands(opcode, data, at)
            if not out or out[-1][0] != place:
                out.append((place, b""))
            out[-1] = (place, out[-1][1] + data[at - 1:end])
            at = end
    return out


def advance(distance, factor):
    steps, rest = divmod(distance, factor)
    assert steps >= 0 and rest == 0
    if steps == 0:
        return b""
    for limit, opcode, form in ((0x40, None, None), (0x100, 2, "<B"), (0x10000, 3, "<H"), (1 << 32, 4, "<I")):
        if steps < limit:
            return bytes([0x40 | steps]) if opcode is None else bytes([opcode]) + struct.pack(form, steps)
    raise AssertionError(distance)


class Common:
    """A common entry (CIE), as far as g++ writes it."""

    def __init__(self, data, at, length):
        end = data.index(b"\0", at + 9)
        self.letters = data[at + 9:end].decode()
        self.factor, place = uleb(data, end + 1)
        self.head = data[at + 8:place]
        self.data_factor, place = uleb(data, place)
        register, place = uleb(data, place)
        self.alignment_and_register = data[len(self.head) + at + 8:place]
        size, place = uleb(data, place)
        behind = place + size
        self.personality = self.handlers = ABSENT
        for letter in self.letters[1:]:
            encoding = data[place]
            place += 1
            if letter == "P":
                self.personality = encoding
                place += 4
            elif letter == "L":
                self.handlers = encoding
            elif letter == "R" and encoding != 0x1B:
                raise SystemExit("addresses of functions are not 32-bit distances")
        if self.letters not in ("zR", "zPLR") or self.personality not in (ABSENT, 0x9B) or self.handlers not in (ABSENT, 0x1B):
            raise SystemExit(f"a common entry with '{self.letters}' is not known here")
        self.instructions = data[behind:at + 4 + length]


class Function:
    def __init__(self, common, begin, size, handlers, instructions):
        self.common, self.begin, self.size, self.handlers, self.instructions = common, begin, size, handlers, instructions


def functions(address, data):
    common, out, at = {}, [], 0
    while at + 4 <= len(data):
        length, = struct.unpack_from("<I", data, at)
        if length == 0:
            break
        back, = struct.unpack_from("<I", data, at + 4)
        if back == 0:
            common[at] = Common(data, at, length)
        else:
            of = common[at + 4 - back]
            distance, size = struct.unpack_from("<iI", data, at + 8)
            extra, place = uleb(data, at + 16)
            handlers = None
            if of.handlers != ABSENT:
                to, = struct.unpack_from("<i", data, place)
                handlers = address + place + to if to else None
            out.append(Function(of, address + at + 8 + distance, size, handlers, data[place + extra:at + 4 + length]))
        at += 4 + length
    return out


class Writer:
    def __init__(self, code, handlers):
        self.code, self.handlers, self.lines, self.labels = code, handlers, [], 0

    def bytes(self, data):
        if data:
            self.lines.append("  .byte " + ", ".join(str(b) for b in data))

    def distance(self, symbol, offset):
        self.lines.append(f"  .long {symbol} + {offset} - .")

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
            self.bytes(of.head + of.alignment_and_register)
            if of.personality == ABSENT:
                self.bytes(b"\x01\x1b")
            else:
                self.bytes(bytes([7, of.personality]))
                self.lines.append("  .long DW.ref.__gxx_personality_v0 - .")
                self.bytes(bytes([of.handlers, 0x1B]))
            self.bytes(of.instructions.rstrip(b"\0"))
        return self.entry(write)

    def function(self, common, begin, size, handlers, instructions):
        def write(n):
            self.lines.append(f"  .long .Lbegin{n} - .Lbegin{common} + 4")
            self.distance("sconce_code", begin - self.code)
            self.lines.append(f"  .long {size}")
            if handlers is None:
                self.bytes(b"\0")
            else:
                self.bytes(b"\4")
                self.distance("sconce_handlers", handlers - self.handlers)
            self.bytes(instructions)
        self.entry(write)


def joined(run, factor):
    """The instructions of an entry for these functions, from the first one's beginning."""
    begin, out, at = run[0].begin, REMEMBER, 0
    for i, f in enumerate(run):
        for place, instructions in rows(f.instructions, factor) or [(0, b"")]:
            if i and at < f.begin - begin:
                instructions = RESTORE + REMEMBER + instructions
            to = f.begin - begin + place
            out += advance(to - at, factor) + instructions
            at = to
    return out


def main():
    library, out = sys.argv[1:]
    elf = Elf(library)
    code, text = elf.section(".text")
    handlers, tables = elf.section(".gcc_except_table")
    all_functions = functions(*elf.section(".eh_frame"))
    writer = Writer(code, handlers)
    own = [f for f in all_functions if f.handlers is not None]
    common = {}
    for f in own:
        if f.common not in common:
            common[f.common] = writer.common(f.common)
        writer.function(common[f.common], f.begin, f.size, f.handlers, f.instructions.rstrip(b"\0"))
    shared = {}
    for f in sorted((f for f in all_functions if f.handlers is None), key=lambda f: f.begin):
        shared.setdefault((f.common.factor, f.common.alignment_and_register, f.common.instructions), []).append(f)
    for (factor, _, _), those in shared.items():
        of = next((f.common for f in those if f.common.personality == ABSENT), None)
        if of is None:
            raise SystemExit("no entry without handlers to follow")
        number = writer.common(of)
        for i in range(0, len(those), RUN):
            run = those[i:i + RUN]
            writer.function(number, run[0].begin, run[-1].begin + run[-1].size - run[0].begin, None, joined(run, factor))
    lines = ["# Generated by cmake/unwinding/merge.py. Do not edit.", '  .section .sconce_unwinding, "a", @progbits', "  .balign 8",
             *writer.lines, "  .long 0", *(f"  .globl {n}\n  .hidden {n}\n  .set {n}, {v}" for n, v in
                                           (("sconce_code_size", len(text)), ("sconce_handlers_size", len(tables)))),
             '  .section .note.GNU-stack, "", @progbits', ""]
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


main()
