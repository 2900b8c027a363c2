"""Records what PyTorch makes of programs of our own. Usage: record_scripts.py PROGRAMS.py OUT

PROGRAMS.py holds programs one after the other; each is a text of its own:

    # ---- name
    def name(x: int) -> int: ...
    # >>> 1
    # >>> -5

`# ---- name` begins a program whose function, or module class, of that name is called once for each line of arguments behind
`# >>>`. Everything that it needs stands in its text; typing's names, torch, math, nn, F and Tensor are there. `# ---- !name`
is a program that PyTorch refuses: its text goes to CompilationUnit. Written are OUT/scripts/<name>.safetensors (graph, calls,
results or errors) and OUT/errors/<file>.safetensors (refusals), in the format of tests/conformance. A call that draws random
numbers gets the same seed on both sides. Needs the environment that `make bench` makes.
"""

import enum
import math
import pathlib
import re
import sys
import tempfile
import types
import typing

import torch

from case_writer import Writer

SEED = 7


def namespace():
    names = {k: getattr(typing, k) for k in ("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union", "Final")}
    return names | {"torch": torch, "math": math, "nn": torch.nn, "F": torch.nn.functional, "Tensor": torch.Tensor,
                    "enum": enum, "Enum": enum.Enum, "typing": typing}


def programs(text):
    for part in re.split(r"^# ---- ", text, flags=re.M)[1:]:
        name, body = part.split("\n", 1)
        calls = re.findall(r"^# >>> ?(.*)\n", body, flags=re.M)
        yield name.strip(), re.sub(r"^# >>>.*\n", "", body, flags=re.M).rstrip() + "\n", calls


def record(name, source, calls, folder, out):
    path = folder / f"{name}.py"
    path.write_text(source)
    # A module of its own: PyTorch looks the text of classes up there.
    module = sys.modules[name] = types.ModuleType(name)
    names = module.__dict__
    names.update(namespace(), __name__=name, __file__=str(path))
    exec(compile(source, str(path), "exec"), names)
    torch.manual_seed(SEED)
    thing = names[name]
    if isinstance(thing, type) and issubclass(thing, torch.nn.Module):
        thing = thing()
    scripted = torch.jit.script(thing)
    writer = Writer()

    def clean(text):  # without the folder, which is another one in every run
        return str(text).replace(f"{folder}/", "")

    cases = [{"name": name, "source": source, "graph": clean(scripted.graph), "seed": SEED, "program": name}]
    for call in calls:
        arguments = list(eval(f"({call},)" if call.strip() else "()", dict(names)))
        case = {"inputs": [writer.value(a) for a in arguments], "seed": SEED}
        torch.manual_seed(SEED)
        try:
            case["out"] = writer.value(scripted(*arguments))
        except Exception as error:
            case["error"] = clean(error)
        cases.append(case)
    writer.save(out / "scripts" / f"{name}.safetensors", cases)


def main():
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    refusals, recorded, failed = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text, calls in programs(source.read_text()):
            if name.startswith("!"):
                try:
                    torch.jit.CompilationUnit(text)
                    refusals.append({"name": name[1:], "source": text, "error": None})
                except Exception as error:
                    refusals.append({"name": name[1:], "source": text, "error": str(error)})
                continue
            try:
                record(name, text, calls, pathlib.Path(folder), out)
                recorded += 1
            except Exception as error:
                failed += 1
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    if refusals:
        Writer().save(out / "errors" / f"{source.stem}.safetensors", refusals)
    print(f"{recorded} programs and {len(refusals)} refusals recorded, {failed} programs could not be scripted")


main()
