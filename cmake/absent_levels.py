"""absent_levels.py OUT CHOSEN PARTS ARCHIVE...: a linker script that leads what a library lacks to what it has.

CHOSEN are the levels of a selection, as "v3" or "v2,v4"; each ARCHIVE, libsconce_<level>.a, has the vector code of one. Kernels
name tables of all levels: for a level that was not chosen, those of the chosen one below it stand in, or of the lowest. A table
that only the missing level has becomes a null pointer, which means to its users that there is none."""

import pathlib
import re
import subprocess
import sys


def symbols(path, wanted):
    out = subprocess.run(["nm", "--format=posix", wanted, path], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in out.splitlines() if re.match(r"_ZN?K?6sconce2v\d", line)}


def without_feature(name):
    """x_vnni to x: an instruction that processors of one level may have beside it is another at the level below."""
    found = re.fullmatch(r"(_ZN6sconce2v\d)(\d+)(\w+)_vnniE", name)
    return f"{found[1]}{len(found[3])}{found[3]}E" if found else name


def main():
    out, chosen, parts, *archives = sys.argv[1:]
    levels = {m[1]: a for a in archives if (m := re.search(r"libsconce_(v\d)\.a$", a))}
    order = sorted(levels)
    chosen = [l for l in order if l in chosen.split(",")] or order
    needed = symbols(parts, "--undefined-only")
    has = {l: symbols(levels[l], "--defined-only") for l in order}
    lines = []
    for name in sorted(needed):
        level = re.match(r"_ZN?K?6sconce2(v\d)", name)[1]
        if level in chosen or name not in has[level]:
            continue  # or a generated loop, which is linked from wherever the table of loops names it
        below = [l for l in chosen if l <= level]
        stand_in = below[-1] if below else chosen[0]
        other = without_feature(name).replace(f"6sconce2{level}", f"6sconce2{stand_in}", 1)
        lines.append(f"PROVIDE({name} = {other if other in has[stand_in] else 0});\n")
    text = "".join(lines) or "/* every level is there */\n"
    path = pathlib.Path(out)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


main()
