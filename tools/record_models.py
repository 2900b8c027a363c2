#!/usr/bin/env python3
"""Records what PyTorch makes of whole models with random weights. Usage: record_models.py OUT [name...]

tools/zoo/*.py list the models. Written are OUT/<name>.<how>.pt and, beside each, a case file with inputs and outputs:

    record_models.py /tmp/zoo resnet18 'fasterrcnn*'
    sconce-conformance --failures --ops build/release/lib/libsconce_torchvision.so /tmp/zoo

Needs PyTorch 2.13 and, for the fields that they are for, torchvision, torchaudio, transformers. What PyTorch itself cannot
script or trace is said and left out.
"""

import fnmatch
import importlib
import pathlib
import sys
import traceback
import warnings

import torch

from case_writer import Writer

SEED = 7
FIELDS = ["vision", "speech", "text", "programs"]


def convert(value, dtype):
    """Floating point tensors of a call to the model's dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(convert(v, dtype) for v in value)
    return value


def make(model, how, calls):
    torch.manual_seed(SEED)
    module = model.build().to(model.dtype).train(model.train)
    if how == "trace":
        return torch.jit.trace(module, calls[0], check_trace=False)
    scripted = torch.jit.script(module)
    return torch.jit.freeze(scripted) if how == "freeze" else scripted


def record(name, model, how, out):
    torch.manual_seed(SEED)
    calls = convert(model.calls(), model.dtype)
    path = out / f"{name}.{how}.pt"
    torch.jit.save(make(model, how, calls), str(path))
    loaded = torch.jit.load(str(path))
    writer = Writer()
    cases = [{"name": name, "how": how, "seed": SEED, "torch": torch.__version__}]
    for arguments in calls:
        case = {"inputs": [writer.value(a) for a in arguments]}
        torch.manual_seed(SEED)
        case["out"] = writer.value(loaded(*arguments))
        cases.append(case)
    writer.save(path.with_suffix(".safetensors"), cases)


def main():
    out, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or ["*"]
    out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    recorded = failed = 0
    for field in FIELDS:
        try:
            models = importlib.import_module(f"zoo.{field}").MODELS
        except ImportError as error:
            print(f"{field} left out: {error}", file=sys.stderr)
            continue
        for name, model in models.items():
            if not any(fnmatch.fnmatch(name, pattern) for pattern in names):
                continue
            for how in model.how.split():
                try:
                    record(name, model, how, out)
                    recorded += 1
                except Exception as error:
                    failed += 1
                    (out / f"{name}.{how}.pt").unlink(missing_ok=True)
                    (out / f"{name}.{how}.txt").write_text(traceback.format_exc())
                    print(f"{name}.{how}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
    print(f"{recorded} recorded, {failed} that PyTorch refuses")


main()
