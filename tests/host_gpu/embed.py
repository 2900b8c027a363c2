"""embed.py IN OUT: a file as a C++ string literal."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "cmake"))
from cpp_literal import literal  # noqa: E402

pathlib.Path(sys.argv[2]).write_text(literal(pathlib.Path(sys.argv[1]).read_text()) + "\n")
