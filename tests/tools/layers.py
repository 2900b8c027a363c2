"""The order of folders holds: `layers.py ROOT` reads every #include below sconce/ and names those against the order.

The order is ARCHITECTURE.md's table "Folders, in the order in which data flows": a row that begins with `sconce/<folder>/`
is a layer, and a file includes only from its own layer and from those above it in the table. What is tested with more than
that (`*_test.cpp`, `test_*.h`) is free. Three more rules: no folder below sconce/ holds more than 45 files, no two
headers have one name, and kernels for any device (sconce/kernels/any/) neither look at memory nor use the CPU's kernels.
"""

import collections
import pathlib
import re
import sys

MOST_FILES = 45
CODE = {".h", ".cpp", ".inc", ".def"}
GENERATED = ("sconce/generated/", "sconce/small/")
ANY_DEVICE = "sconce/kernels/any/"
HOST_ONLY = re.compile(r"\bdata<|\.data\(\)|\bcpu::|\bsconce/kernels/cpu/")


def layers(page: str) -> list[str]:
    """Folders in their order, as written in the table's first column: ["sconce/base", ...]."""
    return re.findall(r"^\| `(sconce/[\w/]+)/`", page, re.M)


def layer_of(path: str, order: list[str]) -> str | None:
    """The layer with the longest name that the path begins with."""
    return max((layer for layer in order if path.startswith(layer + "/")), key=len, default=None)


def is_test(path: pathlib.PurePath) -> bool:
    return path.stem.endswith("_test") or path.name.startswith("test_")


def violations(files: dict[str, str], order: list[str]) -> list[str]:
    """`files`: path relative to the root => text."""
    found = []
    place = {layer: i for i, layer in enumerate(order)}
    for path, text in sorted(files.items()):
        layer = layer_of(path, order)
        if layer is None:
            found.append(f"{path}: its folder is not in ARCHITECTURE.md's table")
            continue
        if is_test(pathlib.PurePath(path)):
            continue
        for line, include in enumerate(text.split("\n"), 1):
            match = re.match(r'\s*#\s*include\s*"(sconce/[^"]+)"', include)
            if not match or match[1].startswith(GENERATED) or match[1] == "sconce/ops.h":
                continue
            target = layer_of(match[1], order)
            if target is None:
                found.append(f"{path}:{line}: includes {match[1]}, which is in no layer")
            elif place[target] > place[layer]:
                found.append(f"{path}:{line}: {layer}/ includes {match[1]} of {target}/, which comes later")
    return found


def host_only(files: dict[str, str]) -> list[str]:
    """Lines of kernels for any device that would only run on the CPU."""
    found = []
    for path, text in sorted(files.items()):
        if not path.startswith(ANY_DEVICE) or is_test(pathlib.PurePath(path)):
            continue
        for line, code in enumerate(text.split("\n"), 1):
            match = HOST_ONLY.search(code.split("//")[0])
            if match:
                found.append(f"{path}:{line}: '{match[0]}' in a kernel for any device: operators, sizes and strides, "
                             "dispatch/glue.h and dispatch/host_lists.h are what it may use")
    return found


def crowded(paths: list[str]) -> list[str]:
    count = collections.Counter(str(pathlib.PurePath(p).parent) for p in paths)
    return [f"{folder}/: {n} files, more than {MOST_FILES}" for folder, n in sorted(count.items()) if n > MOST_FILES]


def namesakes(paths: list[str]) -> list[str]:
    by_name = collections.defaultdict(list)
    for path in paths:
        if path.endswith(".h"):
            by_name[pathlib.PurePath(path).name].append(path)
    return [f"headers of one name: {', '.join(sorted(p))}" for p in by_name.values() if len(p) > 1]


def main(root: pathlib.Path) -> int:
    order = layers((root / "ARCHITECTURE.md").read_text())
    if len(order) < 10:
        print(f"ARCHITECTURE.md names {len(order)} layers; is its table still there?")
        return 1
    every = [p for p in (root / "sconce").rglob("*") if p.is_file()]
    paths = [str(p.relative_to(root)) for p in every]
    files = {str(p.relative_to(root)): p.read_text() for p in every if p.suffix in CODE}
    found = violations(files, order) + host_only(files) + crowded(paths) + namesakes(paths)
    print("\n".join(found) if found else f"{len(files)} files in {len(order)} layers, none against the order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
