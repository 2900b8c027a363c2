"""Tables for unwinding that are merged (cmake/unwinding/merge.py) say what those of the linker say, where functions are called."""

import bisect
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake/unwinding"))
from tables import Elf, functions  # noqa: E402


def said(state):
    return state and (state.register, state.offset, state.saved, state.arguments)


def said_at(entry, place):
    return said(next((state for begin, state in reversed(entry.rows or ()) if begin <= place), None))


def call_at(handlers, place):
    return next((call for call in handlers.calls if call[0] <= place < call[0] + call[1]), None)


def compare_handlers(function, entry, base, cells, merged_cells):
    """What is wrong, None for nothing; `base` is where the function begins in the entry."""
    if entry.handlers is None:
        return None if function.handlers is None else "its handlers are gone"
    if function.handlers is None:
        ends = [call_at(entry.handlers, base), call_at(entry.handlers, base + function.size - 1)]
        return None if ends[0] and ends[0] == ends[1] and ends[0][2:] == (0, ()) else "exceptions do not pass"
    for begin, size, pad, caught in function.handlers.calls:
        want = (base + pad if pad else 0, caught)
        got = [call_at(entry.handlers, base + at) for at in (begin, begin + size - 1)]
        if not got[0] or got[0] != got[1] or got[0][2:] != want:
            return f"the call at {begin} leads to {got[0]}, not to {want}"
        for number in filter(None, caught):
            types = [cells.get(function.handlers.types[number], "all"), merged_cells.get(entry.handlers.types[number], "all")]
            if types[0] != types[1]:
                return f"type {number} is {types[1]}, not {types[0]}"
    for gap in range(function.size):  # what has no place in the one has none in the other: it ends the program
        if call_at(function.handlers, gap) is None and call_at(entry.handlers, base + gap) is not None:
            return f"exceptions at {gap} do not end the program"
    return None


def differences(linked, merged):
    """Of the libraries with the linker's tables and with merged ones, in words; how many functions there are."""
    linked, merged = Elf(linked), Elf(merged)
    entries = functions(merged, ".unwinding")
    begins = [entry.begin for entry in entries]
    moved = merged.section(".text")[0] - linked.section(".text")[0]
    cells, merged_cells = linked.cells(), merged.cells()
    all_functions = functions(linked)
    wrong = []
    for function in all_functions:
        entry = entries[max(bisect.bisect_right(begins, function.begin + moved) - 1, 0)]
        base = function.begin + moved - entry.begin
        if base < 0 or base + function.size > entry.size:
            wrong.append((function, "has no entry"))
            continue
        if function.rows is None:
            if base or entry.instructions.rstrip(b"\0") != function.instructions.rstrip(b"\0"):
                wrong.append((function, "its instructions are others"))
        else:
            places = [place for place, state in function.rows if said(state) != said_at(entry, base + place)]
            if places:
                wrong.append((function, f"its frame is another at {places}"))
        if message := compare_handlers(function, entry, base, cells, merged_cells):
            wrong.append((function, message))
    return [f"the function at {function.begin:#x}: {message}" for function, message in wrong], len(all_functions)
