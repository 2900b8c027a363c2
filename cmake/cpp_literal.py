"""Text as C++ literals, for files that are embedded into programs."""

import pathlib

PIECE = 12000  # bytes that every compiler takes as one literal


def literal(text: str) -> str:
    """Raw string literals that follow each other."""
    assert ')text"' not in text, "the text holds the mark that ends a C++ literal"
    pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)] or [""]
    return "\n".join(f'R"text({piece})text"' for piece in pieces)


def write_source(out: pathlib.Path, lines: list[str]) -> None:
    """The source, unless it is there already: what has not changed is not compiled again."""
    text = "\n".join([*lines, ""])
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists() or out.read_text() != text:
        out.write_text(text)
