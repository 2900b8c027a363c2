"""Sizes do not wrap around. Usage: checked_sizes.py

Arguments of operators are numbers that a program decides, 2^62 if it likes. In the sources of kernels and extensions, these
are computed with Checked (sconce/base/checked.h), with checked_numel (sconce/tensor/strides.h) or in 128 bits:

    dilation * (kernel - 1)                  what a window reaches over
    2 * padding                              what a border adds
    kernel_size[0] * kernel_size[1]          how many elements a window, an output, a region has
    n *= s, over an argument                 the same for a list

A line that is right without says why behind it: `// fits: sizes of one tensor`. Vector loops (simd/) get what others have
checked.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

NAME = r"[\w.\->\[\]]*"
COUNTED = r"(?:kernel|kernel_size|output_size|pooled_\w+)(?:\[\w+\])?"
LISTS = r"(?:size|shape|normalized_shape|kernel_size|output_size|new_size|repeats)"
RULES = {
    rf"dilation{NAME} \* \(|\) \* {NAME}dilation\b": "what a window reaches over",
    rf"\b2 \* {NAME}padding\b": "what a border adds",
    rf"\b{COUNTED} \* {NAME}{COUNTED}\b": "how many elements a window or an output has",
    rf"for \((?:const )?(?:int64_t|auto) (\w+) : {LISTS}\)[^;]*\*= \1;|\*= {LISTS}\[": "the product of a list that was given",
}


def failures(path: pathlib.Path) -> list[str]:
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code, _, comment = line.partition("//")
        if comment.strip().startswith("fits: ") or "Checked(" in code or "wide(" in code:
            continue
        found += [f"{path.relative_to(ROOT)}:{number}: {what} may wrap around: use Checked, or say why not: {code.strip()}"
                  for rule, what in RULES.items() if re.search(rule, code)]
    return found


def main() -> None:
    for bad in ("reach = dilation[d] * (kernel[d] - 1) + 1;", "room = in + 2 * a.padding;", "n = kernel[0] * kernel[1];",
                "for (const int64_t s : normalized_shape) n *= s;"):  # the rules see what they are for
        if not any(re.search(rule, bad) for rule in RULES):
            sys.exit(f"no rule finds '{bad}'")
    files = sorted(path for folder in ("sconce/kernels", "extensions") for kind in ("*.h", "*.cpp")
                   for path in (ROOT / folder).rglob(kind) if "simd" not in path.parts and not path.stem.endswith("_test"))
    found = [each for path in files for each in failures(path)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(files)} files, {len(found)} products that may wrap around")
    sys.exit(bool(found))


main()
