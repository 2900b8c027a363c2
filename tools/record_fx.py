"""Records what PyTorch's fx writes for the programs of python/tests/fx_programs.py, into python/tests/data/fx_texts.json.

    python tools/record_fx.py        with a Python that has torch 2.13 and tabulate
"""

import json
import pathlib
import sys

import torch
import torch.fx

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))
import fx_programs  # noqa: E402

recorded = {name: fx_programs.texts(torch, name) for name in fx_programs.programs(torch)}
(ROOT / "python" / "tests" / "data" / "fx_texts.json").write_text(json.dumps(recorded, indent=1) + "\n")
print(f"{len(recorded)} programs")
