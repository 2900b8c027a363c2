#!/usr/bin/env python3
"""Records what PyTorch makes of whole models with random weights. Usage: record_models.py OUT [--how HOW] [name...]

tools/zoo/*.py list the models. Written are OUT/<name>.<how>.pt and, beside each, a case file with inputs and outputs; how is
script, trace or freeze, as the list says, or what is asked for, also export (.pt2) and lite (.ptl):

    record_models.py /tmp/zoo resnet18 'fasterrcnn*'
    sconce-conformance --failures /tmp/zoo

Needs PyTorch 2.13 and, for the fields that they are for, torchvision, timm, torchaudio, transformers. What PyTorch itself cannot
script or trace is said and left out.
"""

import argparse
import fnmatch
import importlib
import pathlib
import sys
import traceback
import warnings

import torch

from case_writer import Writer

SEED = 7
ENDINGS = {"export": ".pt2", "lite": ".ptl"}
FIELDS = ["vision", "timm_models", "speech", "text", "programs"]


def convert(value, dtype):
    """Floating point tensors of a call to the model's dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(convert(v, dtype) for v in value)
    return value


def make(model, how, calls, path):
    """Writes the program, and gives what runs it in PyTorch."""
    torch.manual_seed(SEED)
    module = model.build().to(model.dtype).train(model.train)
    if how == "export":
        program = torch.export.export(module, calls[0], strict=False)
        torch.export.save(program, str(path))
        return torch.export.load(str(path)).module()
    made = torch.jit.trace(module, calls[0], check_trace=False) if how == "trace" else torch.jit.script(module)
    if how == "lite":
        made._save_for_lite_interpreter(str(path))
        return importlib.import_module("torch.jit.mobile")._load_for_lite_interpreter(str(path))
    if how == "freeze":
        made = torch.jit.freeze(made)
    torch.jit.save(made, str(path))
    return torch.jit.load(str(path))


def record(name, model, how, path):
    torch.manual_seed(SEED)
    calls = convert(model.calls(), model.dtype)
    loaded = make(model, how, calls, path)
    writer = Writer()
    cases = [{"name": name, "how": how, "seed": SEED, "torch": torch.__version__}]
    for arguments in calls[:1] if how == "export" else calls:
        case = {"inputs": [writer.value(a) for a in arguments]}
        torch.manual_seed(SEED)
        case["out"] = writer.value(loaded(*arguments))
        cases.append(case)
    if how in ENDINGS:
        path = path.with_suffix(path.suffix + ".safetensors")
    else:
        path = path.with_suffix(".safetensors")
    writer.save(path, cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--how", choices=["script", "trace", "freeze", "export", "lite"])
    parser.add_argument("names", nargs="*", default=["*"])
    asked = parser.parse_intermixed_args()
    out, names = asked.out, asked.names
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
            for how in [asked.how] if asked.how else model.how.split():
                path = out / f"{name}.{how}{ENDINGS.get(how, '.pt')}"
                try:
                    record(name, model, how, path)
                    recorded += 1
                except Exception as error:
                    failed += 1
                    path.unlink(missing_ok=True)
                    path.with_suffix(".txt").write_text(traceback.format_exc())
                    print(f"{name}.{how}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
    print(f"{recorded} recorded, {failed} that PyTorch refuses")


main()
