"""Every recorded program, scripted from its Python source in a file of its own: results, errors and their lines as PyTorch's.

    python3 python/tests/test_scripted_programs.py tests/conformance/programs [-v]
"""

import importlib.util
import json
import pathlib
import re
import struct
import sys
import tempfile
import textwrap

import sconce
from cases import CaseFile
from sconce import jit

RECORDED = pathlib.Path(__file__).parents[2] / "tests" / "conformance"
TOLERANCE = {sconce.float64: (1e-7, 1e-7), sconce.float32: (1.3e-6, 1e-5), sconce.bfloat16: (1.6e-2, 1e-5), sconce.float16: (1e-3, 1e-5),
             sconce.complex64: (1.3e-6, 1e-5), sconce.complex128: (1e-7, 1e-7)}


def prelude():
    """What the programs find around them, with sconce in place of torch."""
    text = (RECORDED / "programs_prelude.py").read_text()
    text = re.sub(r"^import torch$", "import sconce as torch", text, flags=re.M)
    text = re.sub(r"^import torch\.", "import sconce.", text, flags=re.M)
    return re.sub(r"^from torch ", "from sconce ", text, flags=re.M)


def load(text, name, folder):
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def defined_name(source, keyword):
    """The last definition of the outermost level."""
    found = re.findall(rf"^{keyword} (\w+)", textwrap.dedent(source), flags=re.M)
    return found[-1] if found else None


def load_state(module, path):
    """The recorded tensors of a module, and whether its parts are in training mode."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    file = CaseFile.__new__(CaseFile)
    file.entries = {name: entry for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"}
    file.bytes = data[8 + size:]
    state = {name: file.tensor(name) for name in file.entries}
    for name in [name for name in state if name.rpartition(".")[2] == "training"]:
        module.get_submodule(name.rpartition(".")[0]).training = bool(state.pop(name))
    module.load_state_dict(state)


class Values:
    """Recorded forms as values: those of cases.py, and those that only programs have."""

    def __init__(self, file, module):
        self.file, self.module = file, module

    def value(self, form):
        if isinstance(form, list):
            return [self.value(item) for item in form]
        if isinstance(form, dict):
            kind = next(iter(form))
            what = form[kind]
            if kind == "dict":
                return {self.value(key): self.value(value) for key, value in what}
            if kind == "tuple":
                return tuple(self.value(item) for item in what)
            if kind == "namedtuple":
                name, fields, values = what
                values = [self.value(item) for item in values]
                cls = getattr(self.module, name.rpartition(".")[2], None)
                return cls(*values) if cls else tuple(values)
            if kind == "enum":
                return getattr(getattr(self.module, what[0].rpartition(".")[2]), what[1])
        return self.file.value(form)


def differs(got, wanted):
    """Nothing when both are equal, else how they differ."""
    if isinstance(wanted, sconce.Tensor):
        if not isinstance(got, sconce.Tensor) or got.dtype != wanted.dtype or got.shape != wanted.shape:
            return f"{got!r}, expected {wanted!r}"
        relative, absolute = TOLERANCE.get(wanted.dtype, (0, 0))
        if wanted.numel() and not sconce.allclose(got, wanted, rtol=relative, atol=absolute, equal_nan=True):
            return f"{got!r}, expected {wanted!r}"
        return ""
    if isinstance(wanted, (list, tuple)):
        if type(got) is not type(wanted) and not (isinstance(got, tuple) and isinstance(wanted, tuple)) or len(got) != len(wanted):
            return f"{got!r}, expected {wanted!r}"
        return next((d for d in map(differs, got, wanted) if d), "")
    if isinstance(wanted, dict):
        if not isinstance(got, dict) or list(got) != list(wanted):
            return f"{got!r}, expected {wanted!r}"
        return next((d for d in (differs(got[key], wanted[key]) for key in wanted) if d), "")
    if isinstance(wanted, float) and isinstance(got, float):
        same = got == wanted or (got != got and wanted != wanted) or abs(got - wanted) <= 1e-7 + 1e-7 * abs(wanted)
        return "" if same else f"{got!r}, expected {wanted!r}"
    return "" if type(got) is type(wanted) and got == wanted else f"{got!r}, expected {wanted!r}"


def without_places(message):
    """An error's text without names of files, numbers of lines and the line that underlines: the source, and the reason."""
    message = re.sub(r'  File "[^"]*", line \d+', "  File", message)
    return re.sub(r"^ *~+ <--- HERE\n", "<--- HERE\n", message, flags=re.M)


def run_program(path, folder):
    """What is wrong with the calls of one program, one text each."""
    file = CaseFile(path)
    first = file.cases[0]
    source = first["source"]
    name = re.sub(r"\W", "_", path.stem)
    module = load(prelude() + "\n\n" + textwrap.dedent(source), f"recorded_{name}", folder)
    cls = defined_name(source, "class")
    if cls and "nn.Module" in source:
        instance = getattr(module, cls)()
        state = RECORDED / "programs_state" / f"{cls}.safetensors"
        if state.exists():
            load_state(instance, state)
        program = jit.script(instance)
    else:
        program = jit.script(getattr(module, defined_name(source, "def")))
    values = Values(file, module)
    problems = []
    for case in file.cases[1:]:
        if "inputs" not in case:
            continue
        sconce.manual_seed(case.get("seed", first.get("seed", 0)))
        try:
            with sconce.no_grad():
                got = program(*values.value(case["inputs"]))
        except RuntimeError as error:
            if not case.get("error"):
                problems.append(f"{type(error).__name__}: {error}")
            elif without_places(case["error"]).strip() != without_places(str(error)).strip():
                problems.append(f"another error:\n{error}\nexpected:\n{case['error']}")
            continue
        if case.get("error"):
            problems.append(f"returns {got!r}, expected an error: {case['error']}")
        elif problem := differs(got, values.value(case["out"])):
            problems.append(problem)
    return problems


def main(folders, verbose):
    passed, failed, calls = 0, 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        for folder in folders:
            for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
                file = CaseFile(path)
                if not file.cases or not file.cases[0].get("source") or len(file.cases) < 2:
                    continue
                calls += sum("inputs" in case for case in file.cases)
                try:
                    problems = run_program(path, temporary)
                except Exception as error:  # whatever the compiler raises is the result
                    problems = [f"{type(error).__name__}: {error}"]
                passed += not problems
                failed += bool(problems)
                for problem in problems[:1]:
                    print(f"{path.name}: {problem if verbose else problem.strip()[:300]}")
    print(f"{passed} programs passed, {failed} failed; {calls} calls")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main([argument for argument in sys.argv[1:] if argument != "-v"], "-v" in sys.argv))
