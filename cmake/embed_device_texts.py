"""embed_device_texts.py SCONCE OUT.cpp: the CUDA texts of SCONCE/kernels/cuda/text and SCONCE/codegen/cuda/text as constants of a C++ source
(sconce/kernels/cuda/texts.h). Comments are left out. Where a text holds a mark (@complex functions@) stands what the CPU
computes with: the same source serves both."""

import pathlib
import re
import sys

from cpp_literal import literal, write_source

SPECIAL = ["gamma", "incomplete_gamma", "bessel", "airy", "orthogonal", "draw_gradients"]  # bits of DeviceText::specials


def without_includes(text: str) -> str:
    return "".join(line + "\n" for line in text.splitlines() if not line.startswith(("#include", "#pragma once")))


def without_comments(text: str) -> str:
    text = re.sub(r"(?m)^\s*//.*\n|\s+//.*$", "", text)
    return re.sub(r"\n{2,}", "\n", text)


def complex_functions(folder: pathlib.Path) -> str:
    """Functions of complex numbers, without those that go through C's own complex type."""
    text = (folder / "cpu/simd/math/complex.h").read_text()
    first, last = "// Functions of a double complex number.", "[[maybe_unused]] static C64 pow(C64 a, C64 b) {"
    assert text.count(first) == 1 and text.count(last) == 1, "complex.h is not as embed_device_texts.py knows it"
    text = text[text.index(first) : text.index(last)].replace("libm::", "::").replace("[[maybe_unused]] ", "")
    return re.sub(r"static (?:inline )?(?=C128|C64|double|bool)", "DEVICE ", text)


def special(folder: pathlib.Path, name: str) -> str:
    text = without_includes((folder / f"cpu/special/{name}.cpp").read_text())
    # What a call computes is no constant of the device.
    text = re.sub(r"constexpr double (k\w+) = (std::numeric_limits<double>::(?:infinity|quiet_NaN)\(\));", r"#define \1 \2", text)
    names = re.findall(r"#define (k\w+) ", text)
    # Files stand one behind the other: what each keeps to itself gets a namespace of its own.
    text = text.replace("namespace {", f"namespace {name}_parts {{", 1)
    text = re.sub(r"\}  // namespace\n", f"}}\nusing namespace {name}_parts;\n", text, count=1)
    undefined = "".join(f"#undef {n}\n" for n in names)
    return text + undefined


def main() -> None:
    folder, out = pathlib.Path(sys.argv[1]) / "kernels", pathlib.Path(sys.argv[2])
    vectors = "".join(
        without_includes((folder / f"cpu/simd/math/{name}.h").read_text()) for name in ("special_coefficients", "special_vectors")
    )
    namespace = "namespace sconce::SCONCE_ISA_NAMESPACE"
    vectors = vectors.replace(f"{namespace} {{", "").replace(f"}}  // {namespace}", "")
    headers = ("coefficients", "polynomial", "special")
    shared = "".join(without_includes((folder / f"cpu/special/{name}.h").read_text()) for name in headers)
    marks = {"@complex functions@": complex_functions(folder), "@special vectors@": vectors}
    paths = [*(folder / "cuda").rglob("*.cuh"), *(folder.parent / "codegen/cuda/text").glob("*.cuh")]
    texts = {path.stem: path.read_text() for path in sorted(paths)}
    texts |= {"special_shared": shared} | {f"special_{name}": special(folder, name) for name in SPECIAL}
    lines = ["// Made by cmake/embed_device_texts.py from sconce/kernels/cuda/text/.", '#include "sconce/kernels/cuda/texts.h"', "",
             "namespace sconce::cuda {", "", "std::span<const NamedText> text_files() {",
             "  static constexpr NamedText kFiles[] = {"]
    for name, text in texts.items():
        for mark, what in marks.items():
            text = text.replace(mark, what)
        lines.append(f'      {{"{name}",\n{literal(without_comments(text))}}},')
    write_source(out, [*lines, "  };", "  return kFiles;", "}", "", "}  // namespace sconce::cuda"])


main()
