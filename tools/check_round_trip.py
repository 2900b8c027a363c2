#!/usr/bin/env python3
"""Checks in PyTorch what Sconce saved: every archive is loaded and saved by Sconce, then the original and the saved file run in
PyTorch on the recorded inputs, call by call; results must be the same to the bit, parameters and buffers, too.

    build/bench-venv/bin/python tools/check_round_trip.py [FOLDER ...] [--bin build/release/bin] [--lite] [--only NAME]

FOLDER holds .pt files with the .safetensors recorded from them; without one, those under tests/conformance, and programs_1_13,
jit_suite and models under ../shared/conformance where they are there. With --lite, Sconce saves for the lite interpreter,
and the saved file runs in PyTorch's. Prints what differs."""
import argparse
import copy
import enum
import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile

import torch
from torch.jit.mobile import _load_for_lite_interpreter

from recorded_cases import read_cases

ROOT = pathlib.Path(__file__).resolve().parent.parent


def folders():
    here, beside = ROOT / "tests/conformance", ROOT / "../shared/conformance"
    wanted = [here / "programs", here / "programs_1_13", here / "traced", beside / "models", beside / "jit_suite"]
    return [f for f in wanted if f.is_dir()]


def cases_of(archive):
    """The case file of an archive: a.safetensors or a.pt.safetensors; None when there is none."""
    for name in (archive.with_suffix(".safetensors"), pathlib.Path(f"{archive}.safetensors")):
        if name.exists():
            return name
    return None


@functools.lru_cache
def enum_class(archive, name):
    """An enum of the archive's code, as PyTorch wants to be given it."""
    with zipfile.ZipFile(archive) as z:
        for record in z.namelist():
            if "/code/__torch__" not in record or not record.endswith(".py"):
                continue
            found = re.search(rf"^class {name}\(Enum\):\n((?:  .*\n)+)", z.read(record).decode(), re.M)
            if found:
                module = record.split("/code/__torch__")[1].strip("/").removesuffix(".py").replace("/", ".")
                members = {k: eval(v) for k, v in re.findall(r"  (\w+) = (.*)", found[1])}
                return enum.Enum(name, members, module=module or "__main__")
    raise KeyError(name)


def same(a, b):
    """Nothing when the values are the same, to the bit; else what differs."""
    if type(a) is not type(b) and not (isinstance(a, tuple) and isinstance(b, tuple)):
        return f"{type(a).__name__} and {type(b).__name__}"
    if isinstance(a, torch.Tensor):
        if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
            return f"{a.dtype} {list(a.shape)} {a.stride()} and {b.dtype} {list(b.shape)} {b.stride()}"
        if a.requires_grad != b.requires_grad:
            return f"requires_grad {a.requires_grad} and {b.requires_grad}"
        if not torch.equal(torch.nan_to_num(a.detach()), torch.nan_to_num(b.detach())):
            return "tensors with other values"
        return None
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return f"{len(a)} and {len(b)} items"
        return next((d for d in map(same, a, b) if d), None)
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, torch.ScriptObject) or type(a).__module__.startswith("torch.jit"):
        return None
    if isinstance(a, enum.Enum):
        return None if a.name == b.name else f"{a} and {b}"
    return None if a == b or (a != a and b != b) else f"{a!r} and {b!r}"


def call(module, inputs, seed):
    torch.manual_seed(seed)
    try:
        return module(*copy.deepcopy(inputs)), None
    except Exception as error:
        text = str(error).strip().split("\n")
        return None, text[-1]


def sharing(module):
    """Which parameters and buffers lie in which memory, and where."""
    places = {}
    found = []
    for name, t in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
        storage = places.setdefault(t.untyped_storage().data_ptr(), len(places)) if t.numel() else -1
        found.append((name, storage, t.storage_offset()))
    return found


def check(original, saved, lite):
    before = torch.jit.load(str(original))
    after = _load_for_lite_interpreter(str(saved)) if lite else torch.jit.load(str(saved))
    if not lite:
        problem = same(dict(before.state_dict()), dict(after.state_dict()))
        if problem:
            return f"state: {problem}"
        if sharing(before) != sharing(after):
            return "other tensors share memory"
    path = cases_of(original)
    for i, case in enumerate(read_cases(path, lambda c, m: enum_class(original, c)[m]) if path else []):
        if "inputs" not in case:
            continue
        a, b = call(before, case["inputs"], i), call(after, case["inputs"], i)
        if (a[1] is None) != (b[1] is None) or (a[1] != b[1] and not lite):
            return f"case {i}: {a[1] or 'no error'}, now {b[1] or 'no error'}"
        problem = same(a[0], b[0])
        if problem:
            return f"case {i}: {problem}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--lite", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="where the saved files stay; else they are removed")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        target = pathlib.Path(args.keep or temporary)
        for folder in args.folders or folders():
            how = ["--archives", "--lite" if args.lite else "--resave", "--saved-to", str(target)]
            subprocess.run([args.bin / "sconce-conformance", *how, folder], stdout=subprocess.DEVNULL, check=False)
            total = differ = left_out = 0
            for original in sorted(folder.glob("*.pt")):
                if args.only not in original.name:
                    continue
                saved = target / folder.resolve().name / (original.stem + (".ptl" if args.lite else ".pt"))
                if args.lite and not saved.exists():  # Sconce says that it is not for the lite interpreter
                    left_out += 1
                    continue
                total += 1
                try:
                    problem = check(original, saved, args.lite)
                except Exception as error:
                    problem = f"{type(error).__name__}: {error}"
                if problem:
                    differ += 1
                    print(f"{folder.name}/{original.name}: {problem}"[:1500])
            print(f"{folder.name}: {total - differ} of {total} archives are the same in PyTorch {torch.__version__}"
                  + (f", {left_out} are not for the lite interpreter" if left_out else ""))
            failed += differ
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
