#!/usr/bin/env python3
"""Runs programs out of published packages in PyTorch and in Sconce, and compares what they give.

    tools/check_wild.py [WORD...]          programs whose names contain a word; all without one
    tools/check_wild.py --list

Packages are installed into a virtual environment below build/ (the first time takes minutes; PyTorch 2.13 and the packages
named in tools/wild/). Each program is scripted or traced there, saved, loaded again and called; `sconce run` then calls the
same file with the same arguments. A program that PyTorch itself cannot script, save or run is reported and not counted.
For use before a release: it needs the network and is no part of `make test`.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

try:
    import torch
    import wild
except ImportError:  # outside of the virtual environment
    torch = wild = None

# A result may differ in the last bits of every layer. Relative to the largest element.
TOLERANCE = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9, "float16": 1e-2, "bfloat16": 5e-2}


def enter_environment(folder):
    """Goes on in a virtual environment with PyTorch; makes it the first time."""
    venv = folder / "venv"
    interpreter = venv / "bin/python"
    if not interpreter.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([interpreter, "-m", "pip", "install", "-q", "torch==2.13.0", "numpy"], check=True)
    os.execv(interpreter, [str(interpreter), *sys.argv])


def install(folder, programs):
    """What the programs need, without what that asks for in turn: many ask for another PyTorch."""
    marker = folder / "installed.json"
    have = set(json.loads(marker.read_text())) if marker.exists() else set()
    for distribution in sorted({d for p in programs for d in (p.package, *p.needs)} - have):
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", distribution])
        if done.returncode == 0:
            have.add(distribution)
    marker.write_text(json.dumps(sorted(have)))


def record(program, folder):
    """In the virtual environment: writes model.pt, the arguments and the results of each call."""
    torch.manual_seed(0)
    case = program.make()
    with torch.no_grad():
        if case.how == "file":
            model = torch.jit.load(case.what)
        elif case.how == "trace":
            model = torch.jit.trace(case.what.eval() if isinstance(case.what, torch.nn.Module) else case.what,
                                    case.calls[0], check_trace=False)
        else:
            model = torch.jit.script(case.what.eval() if isinstance(case.what, torch.nn.Module) else case.what)
        path = str(folder / "model.pt")  # functions take no other kind of path
        torch.jit.save(model, path)
        model = torch.jit.load(path)
        for i, arguments in enumerate(case.calls):
            for j, value in enumerate(arguments):
                torch.save(value, folder / f"{i}.{j}.pth")
            torch.manual_seed(0)
            torch.save(getattr(model, case.method)(*arguments), folder / f"{i}.expected.pth")
    (folder / "calls.json").write_text(json.dumps({"method": case.method, "arguments": [len(c) for c in case.calls]}))


def difference(got, expected, place="result"):
    """None, or how they differ."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return f"{place}: {type(got).__name__} instead of a tensor"
        if got.dtype != expected.dtype or got.shape != expected.shape or got.layout != expected.layout:
            return f"{place}: {got.dtype} {list(got.shape)}, expected {expected.dtype} {list(expected.shape)}"
        if got.layout != torch.strided or got.is_quantized:
            return difference(got.dequantize() if got.is_quantized else got.to_dense(),
                              expected.dequantize() if expected.is_quantized else expected.to_dense(), place)
        if expected.numel() == 0:
            return None
        tolerance = TOLERANCE.get(str(expected.dtype).removeprefix("torch."), 0)
        if tolerance == 0:
            wrong = (got != expected).sum().item()
            return f"{place}: {wrong} of {got.numel()} elements differ" if wrong else None
        finite = torch.isfinite(expected)
        scale = expected[finite].abs().max().item() if finite.any() else 1.0
        return None if torch.allclose(got, expected, rtol=tolerance, atol=tolerance * max(scale, 1e-3), equal_nan=True) else \
            f"{place}: differs by {(got - expected)[finite].abs().max().item():.2g} where the largest is {scale:.2g}"
    if isinstance(expected, dict):
        if not isinstance(got, dict) or list(got) != list(expected):
            return f"{place}: other keys"
        pairs = [(got[k], expected[k], f"{place}[{k!r}]") for k in expected]
    elif isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(expected):
            return f"{place}: other length"
        pairs = [(g, e, f"{place}[{i}]") for i, (g, e) in enumerate(zip(got, expected))]
    else:
        close = got == expected or (isinstance(expected, float) and abs(got - expected) <= 1e-5 * max(1, abs(expected))) or \
            (expected != expected and got != got)
        return None if close else f"{place}: {got!r}, expected {expected!r}"
    return next((d for d in (difference(*p) for p in pairs) if d), None)


def worker(command, folder, name):
    """What runs in the virtual environment: prints one line of JSON."""
    try:
        if command == "record":
            record(wild.load()[name], folder)
            print(json.dumps({"ok": True}))
        else:
            got, expected = (torch.load(folder / f, weights_only=False) for f in (f"{name}.got.pth", f"{name}.expected.pth"))
            print(json.dumps({"ok": True, "difference": difference(got, expected)}))
    except Exception as e:  # the packages' own errors are reported, not ours to handle
        print(json.dumps({"ok": False, "error": f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e) else ''}"[:300],
                          "traceback": traceback.format_exc()}))


def ask(*arguments):
    try:
        done = subprocess.run([sys.executable, __file__, "--worker", *map(str, arguments)], capture_output=True, text=True, timeout=300)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"ok": False, "error": "took more than 300 s"}
    except (IndexError, json.JSONDecodeError):
        return {"ok": False, "error": f"ended with status {done.returncode}: {done.stderr.strip()[-200:]}"}


def check(program, sconce, folder):
    """(outcome, text): "equal", "differs", "refused", or "not in PyTorch"."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "calls.json").exists():
        answer = ask("record", folder, program.name)
        if not answer["ok"]:
            return "not in PyTorch", answer["error"]
    calls = json.loads((folder / "calls.json").read_text())
    for i, count in enumerate(calls["arguments"]):
        inputs = [folder / f"{i}.{j}.pth" for j in range(count)]
        done = subprocess.run([sconce, "run", folder / "model.pt", *inputs, "--method", calls["method"], "--seed", "0", "--out",
                               folder / f"{i}.got.pth"], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            lines = [line for line in done.stderr.strip().splitlines() if line.strip()] or ["?"]
            return "refused", f"call {i}: {lines[0][:200]} ... {lines[-1][:200]}"
        answer = ask("compare", folder, i)
        if not answer["ok"]:
            return "differs", f"call {i}: {answer['error']}"
        if answer["difference"]:
            return "differs", f"call {i}: {answer['difference']}"
    return "equal", f"{len(calls['arguments'])} calls"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of the names of programs")
    parser.add_argument("--list", action="store_true", help="only list the programs")
    parser.add_argument("--sconce", default=ROOT / "build/release/bin/sconce", help="the program to check")
    parser.add_argument("--folder", default=ROOT / "build/wild", type=lambda p: pathlib.Path(p).resolve(), help="for the environment and recordings")
    parser.add_argument("--here", action="store_true", help="uses this interpreter's packages and installs nothing")
    parser.add_argument("--json", type=pathlib.Path, help="writes the outcomes there, too")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker[0], pathlib.Path(options.worker[1]), options.worker[2])
    if not options.here and sys.prefix != str(options.folder / "venv"):
        options.folder.mkdir(parents=True, exist_ok=True)
        enter_environment(options.folder.resolve())
    programs = [p for p in wild.load().values() if not options.words or any(w in p.name for w in options.words)]
    if options.list:
        for p in programs:
            print(p.name)
        return 0
    if not options.here:
        install(options.folder, programs)
    outcomes = {}
    for p in programs:
        outcome, text = check(p, options.sconce, options.folder / p.name.replace("/", "."))
        outcomes[p.name] = {"outcome": outcome, "text": text}
        print(f"{outcome:15} {p.name:45} {text}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(outcomes, indent=1))
    counted = [o["outcome"] for o in outcomes.values() if o["outcome"] != "not in PyTorch"]
    print(f"{counted.count('equal')} of {len(counted)} programs that PyTorch runs are equal here")
    return 0 if counted.count("equal") == len(counted) else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())
