"""Draws docs/benchmark.svg, the README's picture, from the tables of docs/status.md. Needs nothing but Python.

picture.py writes the file; picture.py --check says whether it shows today's figures, and fails when it does not.
"""
import math
import pathlib
import re
import sys
from html import escape

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLES = ROOT / "docs/status.md"
PICTURE = ROOT / "docs/benchmark.svg"

# Rows of the tables, by section, with the words that stand beside the bars.
SHOWN = {
    "Operators": {
        "pointwise chain (mul, add, sigmoid, mul), 16 M floats": "pointwise chain, 16 M floats",
        "sum, 16 M floats": "sum, 16 M floats",
        "softmax, 16 M floats in rows of 1,024": "softmax, 16 M floats",
        "layer_norm, 16 M floats in rows of 1,024": "layer_norm, 16 M floats",
        "`mm` of 1,024 x 1,024": "mm, 1,024 x 1,024",
        "convolution 3 x 3, 64 channels of 56 x 56": "convolution 3 x 3",
        "max_pool2d of feature maps": "max_pool2d",
        "attention of 12 heads, 1,024 tokens": "attention, 12 heads",
        "sort of 1 M floats": "sort, 1 M floats",
    },
    "Scripts": {
        "a step of an integer loop": "integer loop",
        "a step of `x = x + 1` on 8 floats": "x = x + 1 on 8 floats",
        "method call in a loop": "method call",
    },
    "Models": {
        "load resnet18 from `.pt`": "load resnet18",
        "run resnet18, 224 x 224": "run resnet18",
        "run mobilenet_v3_small, 224 x 224": "run mobilenet_v3_small",
        "run gpt2 (tiny), 32 tokens": "run gpt2 (tiny)",
    },
    "Training steps": {
        "small CNN": "CNN",
        "transformer of 4 layers": "transformer",
        "ResNet-18, batch 8, 64 x 64": "ResNet-18",
        "LSTM of 2 layers": "LSTM",
    },
}

WIDTH, LEFT, RIGHT, TOP = 720, 196, 44, 38  # of the picture; of the names, the figures and the title around the bars
ROW, BAR, GAP = 15, 10, 18  # a row, its bar, the heading of a section
LOW, HIGH = 0.5, 64  # times as fast: the ends of the logarithmic axis

# A background of its own keeps the text legible wherever the picture is shown; viewers that are dark ask for dark colours.
STYLE = """
  .page { fill: #ffffff; stroke: #d0d7de } text { font: 12px sans-serif; fill: #24292f } .title { font-size: 13px }
  .head { font-weight: bold } .name, .figure { fill: #424a53 } .tick { fill: #57606a; font-size: 11px }
  .grid { stroke: #d8dee4 } .even { stroke: #24292f; stroke-width: 1.5 } .faster { fill: #2a7f62 } .slower { fill: #c2573a }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d } text { fill: #e6edf3 } .name, .figure { fill: #c9d1d9 } .tick { fill: #9198a1 }
    .grid { stroke: #30363d } .even { stroke: #e6edf3 } .faster { fill: #3fb68b } .slower { fill: #e5785a }
  }
"""


def figures(page: str) -> dict[str, dict[str, str]]:
    """Section to row to "times as fast" with one thread, as the page says it."""
    found: dict[str, dict[str, str]] = {}
    for section, text in re.findall(r"^### (.*)\n((?:(?!##).*\n)*)", page, re.M):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
        if rows and "times as fast, 1 thread" in rows[0]:
            column = rows[0].index("times as fast, 1 thread")
            found[section] = {row[0]: row[column] for row in rows[2:]}
    return found


def x_of(ratio: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(ratio / LOW) / math.log(HIGH / LOW)


def draw(page: str) -> str:
    measured = figures(page)
    bars: list[str] = []
    y = TOP
    for section, rows in SHOWN.items():
        bars.append(f'<text class="head" x="12" y="{y + 12}">{escape(section)}</text>')
        y += GAP
        for row, name in rows.items():
            if row not in measured.get(section, {}):
                sys.exit(f"{TABLES.name} has no row '{row}' under '{section}'")
            said = measured[section][row]
            start, end = sorted((x_of(1), x_of(float(said))))
            side = "faster" if float(said) >= 1 else "slower"
            bars.append(f'<text class="name" x="{LEFT - 10}" y="{y + 9}" text-anchor="end">{escape(name)}</text>')
            bars.append(f'<rect class="{side}" x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{BAR}"/>')
            bars.append(f'<text class="figure" x="{end + 5:.1f}" y="{y + 9}">{escape(said)}</text>')
            y += ROW
        y += 4
    axis = []
    ticks = [2.0**n for n in range(round(math.log2(LOW)), round(math.log2(HIGH)) + 1)]
    for tick in ticks:
        style = "even" if tick == 1 else "grid"
        axis.append(f'<line class="{style}" x1="{x_of(tick):.1f}" y1="{TOP}" x2="{x_of(tick):.1f}" y2="{y}"/>')
        axis.append(f'<text class="tick" x="{x_of(tick):.1f}" y="{y + 15}" text-anchor="middle">{tick:g}</text>')
    height = y + 24
    title = "Times as fast as PyTorch 2.13, one thread: right of the line Sconce is faster"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{title}</title>", f"<style>{STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        f'<text class="title" x="12" y="24">{title}</text>', *axis, *bars, "</svg>", ""])


def main() -> None:
    picture = draw(TABLES.read_text())
    if sys.argv[1:] == ["--check"]:
        if not PICTURE.exists() or PICTURE.read_text() != picture:
            sys.exit("docs/benchmark.svg shows other figures than docs/status.md: run bench/picture.py")
        print("docs/benchmark.svg shows the figures of docs/status.md")
    else:
        PICTURE.write_text(picture)


main()
