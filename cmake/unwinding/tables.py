"""Tables for unwinding of a linked library: call frame information (.eh_frame) and handlers (.gcc_except_table), as far as
g++ and the linker write them."""

import struct

REMEMBER, RESTORE, ARGUMENTS = 0x0A, 0x0B, 0x2E  # opcodes
ABSENT = 0xFF  # of an encoding
INDIRECT = 0x9B  # of types: a 32-bit distance to a cell with the address


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise SystemExit(f"{path} is no 64-bit little-endian ELF file")
        table, = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        heads = [struct.unpack_from("<IIQQQQ", self.data, table + i * size) for i in range(count)]
        self.sections = {self.text(heads[names][4] + name): (address, offset, length)
                         for name, _, _, address, offset, length in heads}

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def section(self, name):
        """Its address and its bytes."""
        address, offset, length = self.sections.get(name, (0, 0, 0))
        return address, self.data[offset:offset + length]

    def cells(self):
        """Names of cells with the addresses of types (DW.ref...), by address."""
        _, symbols = self.section(".symtab")
        _, names, _ = self.sections[".strtab"]
        found = {}
        for at in range(0, len(symbols), 24):
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", symbols, at)
            if self.data.startswith(b"DW.ref.", names + name):
                found[value] = self.text(names + name)
        return found


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self, size, signed=False):
        self.at += size
        return int.from_bytes(self.data[self.at - size:self.at], "little", signed=signed)

    def uleb(self, signed=False):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value


def uleb(value):
    out = bytearray()
    while True:
        value, byte = value >> 7, value & 0x7F
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


class Common:
    """A common entry (CIE), as far as g++ writes it."""

    def __init__(self, data, at, length):
        end = data.index(b"\0", at + 9)
        letters = data[at + 9:end].decode()
        reader = Reader(data, end + 1)
        self.factor, self.data_factor, self.register = reader.uleb(), reader.uleb(signed=True), reader.uleb()
        self.version = data[at + 8]
        reader.uleb()  # how long the rest is
        self.personality = self.handlers = ABSENT
        for letter in letters[1:]:
            encoding = reader.byte()
            if letter == "P":
                self.personality = encoding
                reader.number(4)
            elif letter == "L":
                self.handlers = encoding
            elif letter == "R" and encoding != 0x1B:
                raise SystemExit("addresses of functions are not 32-bit distances")
        if letters not in ("zR", "zPLR") or self.personality not in (ABSENT, 0x9B) or self.handlers not in (ABSENT, 0x1B):
            raise SystemExit(f"a common entry with '{letters}' is not known here")
        self.instructions = data[reader.at:at + 4 + length].rstrip(b"\0")

    def key(self):
        return self.version, self.factor, self.data_factor, self.register, self.instructions


class Function:
    def __init__(self, common, begin, size, handlers, instructions):
        self.common, self.begin, self.size, self.handlers, self.instructions = common, begin, size, handlers, instructions
        self.rows = rows(common, instructions)

    def leave_out_beginning(self, code):
        """`code` is that of the function."""
        if self.rows and len(self.rows) > 1 and is_call(code[self.rows[1][0]:]):
            del self.rows[0]


def is_call(code):
    prefixes = 1 if code[:1] and code[0] & 0xF0 == 0x40 else 0
    opcode = code[prefixes:prefixes + 2]
    return opcode[:1] == b"\xe8" or (len(opcode) == 2 and opcode[0] == 0xFF and opcode[1] & 0x38 == 0x10)


def functions(elf, table=".eh_frame"):
    """Of a library and its table, by address."""
    address, data = elf.section(table)
    code = elf.section(".text")
    tables = elf.section(".gcc_except_table")
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
            reader = Reader(data, at + 16)
            extra = reader.uleb()
            handlers = None
            if of.handlers != ABSENT:
                to, = struct.unpack_from("<i", data, reader.at)
                handlers = Handlers(*tables, address + reader.at + to) if to else None
            begin = address + at + 8 + distance
            out.append(Function(of, begin, size, handlers, data[reader.at + extra:at + 4 + length]))
            out[-1].leave_out_beginning(code[1][begin - code[0]:begin - code[0] + size])
        at += 4 + length
    return sorted(out, key=lambda f: f.begin)


class State:
    """How unwinding goes on: the frame is at `offset` from a register, other registers are saved at places in it, and
    `arguments` bytes were pushed for a call."""

    def __init__(self, register=7, offset=8, saved=None, arguments=0):
        self.register, self.offset, self.saved, self.arguments = register, offset, dict(saved or {}), arguments

    def copy(self):
        return State(self.register, self.offset, self.saved, self.arguments)

    def step(self, opcode, reader):
        """Does what an instruction says; False where it is not known here."""
        kind, low = opcode & 0xC0, opcode & 0x3F
        if kind == 0x80:
            self.saved[low] = reader.uleb()
        elif kind == 0xC0:
            self.saved.pop(low, None)
        elif opcode == 0x0C:
            self.register, self.offset = reader.uleb(), reader.uleb()
        elif opcode == 0x0D:
            self.register = reader.uleb()
        elif opcode == 0x0E:
            self.offset = reader.uleb()
        elif opcode == ARGUMENTS:
            self.arguments = reader.uleb()
        else:
            return opcode == 0  # which fills up
        return True

    def changes(self, to):
        """Instructions that lead from this state to another."""
        out = b""
        if self.register != to.register and self.offset != to.offset:
            out += b"\x0c" + uleb(to.register) + uleb(to.offset)
        elif self.register != to.register:
            out += b"\x0d" + uleb(to.register)
        elif self.offset != to.offset:
            out += b"\x0e" + uleb(to.offset)
        for register, place in sorted(to.saved.items()):
            if self.saved.get(register) != place:
                out += bytes([0x80 | register]) + uleb(place)
        out += bytes(0xC0 | register for register in sorted(self.saved) if register not in to.saved)
        return out


def rows(common, instructions):
    """States by where they hold from, in bytes behind the function's beginning; None where they are not known here."""
    state, kept, place, out = State(), [], 0, {0: State()}
    for data, is_own in ((common.instructions, False), (instructions, True)):
        reader = Reader(data)
        while reader.at < len(data):
            opcode = reader.byte()
            if opcode & 0xC0 == 0x40:
                place += (opcode & 0x3F) * common.factor
            elif opcode in (0x02, 0x03, 0x04):
                place += reader.number(1 << (opcode - 2)) * common.factor
            elif opcode == REMEMBER:
                kept.append(state.copy())
            elif opcode == RESTORE:
                arguments = state.arguments  # are no part of what is remembered
                state = kept.pop()
                state.arguments = arguments
            elif not state.step(opcode, reader):
                return None
            out[place] = state.copy()
        if not is_own:
            first = state.copy()
            out = {0: state.copy()}
    common.first = first
    return sorted(out.items())


class Handlers:
    """The table of a function's handlers (LSDA): ranges of calls, each with its landing pad and its list of types."""

    def __init__(self, address, data, at):
        reader = Reader(data, at - address)
        if reader.byte() != ABSENT:
            raise SystemExit("landing pads of another part of the program are not known here")
        encoding = reader.byte()
        types = None
        if encoding != ABSENT:
            if encoding != INDIRECT:
                raise SystemExit(f"types of handlers with encoding {encoding} are not known here")
            distance = reader.uleb()
            types = reader.at + distance
        if reader.byte() != 1:
            raise SystemExit("ranges of calls are not known here")
        length = reader.uleb()
        end = reader.at + length
        self.calls = []  # (begin, size, landing pad, types): numbers of types, 0 for clean-up
        self.types = {}  # by number, which landing pads compare with: cells' addresses, 0 for all types
        while reader.at < end:
            begin, size, pad, action = reader.uleb(), reader.uleb(), reader.uleb(), reader.uleb()
            self.calls.append((begin, size, pad, self.caught(address, data, end + action - 1, types) if action else ()))

    def caught(self, address, data, at, types):
        out = []
        while True:
            reader = Reader(data, at)
            which = reader.uleb(signed=True)
            next_at = reader.at
            step = reader.uleb(signed=True)
            if which < 0:
                raise SystemExit("lists of exceptions are not known here")
            out.append(which)
            if which:
                cell = types - 4 * which
                to, = struct.unpack_from("<i", data, cell)
                self.types[which] = address + cell + to if to else 0
            if step == 0:
                return tuple(out)
            at = next_at + step
