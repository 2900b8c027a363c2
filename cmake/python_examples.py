"""Examples for the docstrings of operators: sconce/_examples.txt. Usage: python_examples.py PACKAGE

An example is a call with a sample of the operator table (docs/operators.md), written as Python, and what it prints. PACKAGE is the
built package, which runs them all: one that fails is left out, and so is one whose result would differ the next time.
"""

import importlib
import pathlib
import re
import signal
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from opgen import table  # noqa: E402
from opgen.faces import samples  # noqa: E402
from opgen.schema import split_top  # noqa: E402

DTYPES = {"bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16", "bf16": "bfloat16",
          "f32": "float32", "f64": "float32", "c64": "complex64", "c128": "complex64"}
TENSOR = re.compile(r"([a-z]+\d*)\[([\d, ]*)\](\.t\(\))?((?: [^ ]+)*)$")
VALUES = re.compile(r"([a-z]+\d*)(\{.*\})( .*)?$")
NAMES = {"float64": "sconce.float64", "float32": "sconce.float32", "int64": "sconce.int64", "cpu": "'cpu'", "strided": "sconce.strided",
         "channels_last": "sconce.channels_last", "inf": "float('inf')"}
SPACES = ("linalg_", "fft_", "special_")
MOST_ELEMENTS, MOST_LINES, LONGEST_CALL = 24, 8, 320


# For operators without samples in the table.
GUESSES = ["f32[2,3]", "i64[4] 0..3", "f32[2,3], f32[2,3]", "f32[3,3], 1", "[2, 3]", "[2, 3], 1.5", "f32[4] 0..1, 2", "f32[]", "f32[4], f32[3]"]


class Untranslatable(Exception):
    pass


def parts_of(text):
    """Arguments of a sample, or elements of a list."""
    swapped = text.translate(str.maketrans("{}", "()"))
    found, start = [], 0
    for part in split_top(swapped):
        start = swapped.index(part, start)
        found.append(text[start:start + len(part)])
        start += len(part)
    return found


LIMITS = [("-1", "2"), ("3", "1"), ("0.5", "2.5")]  # of floats that say none: the first tensor's, the second's, ...


def tensor_text(kind, sizes, transposed, words, number):
    """Python for `f64[2,3] 0..1`, the tensor of that number in a call."""
    dtype = DTYPES[kind]
    count = 1
    for size in sizes:
        count *= size
    if sizes and sizes[-1] == sizes[0] and len(sizes) == 2 and {"spd", "symmetric", "regular", "lower", "upper", "unit"} & set(words):
        return f"sconce.eye({sizes[0]})" + (" * 2" if "unit" not in words else "")
    limits = next((re.fullmatch(r"(-?[\d.]+)\.\.(-?[\d.]+)", word) for word in words if ".." in word), None)
    shape = f".reshape({', '.join(map(str, sizes))})" if len(sizes) != 1 else ""
    if dtype == "bool":
        text = f"(sconce.arange({count}) % 2 == 0)"
    elif dtype.startswith(("int", "uint")):
        low, high = (int(float(limits[1])), int(float(limits[2]))) if limits else (0, 5)
        text = f"sconce.arange({count})" if low == 0 and high >= count else f"(sconce.arange({count}) % {high - low}" + \
            (f" + {low})" if low else ")")
        text += "" if dtype == "int64" else f".to(sconce.{dtype})"
    else:
        low, high = (limits[1], limits[2]) if limits else LIMITS[number % len(LIMITS)]
        extra = "" if dtype == "float32" else f", dtype=sconce.{dtype}"
        text = f"sconce.linspace({low}, {high}, {count}{extra})"
    if not sizes:
        return f"sconce.tensor({low if not limits else high})" if dtype == "float32" else f"{text}[0]"
    return text + shape + (".t()" if transposed else "")


def argument_text(text, number=0):
    text = text.strip()
    if found := TENSOR.fullmatch(text):
        if found[1] not in DTYPES:
            raise Untranslatable(text)
        return tensor_text(found[1], [int(n) for n in found[2].split(",") if n.strip()], found[3], found[4].split(), number)
    if found := VALUES.fullmatch(text):
        dtype = DTYPES.get(found[1], "float32")
        values = found[2].replace("{", "[").replace("}", "]")
        return f"sconce.tensor({values}" + (")" if dtype in ("int64",) else f", dtype=sconce.{dtype})")
    if text.startswith("[") and text.endswith("]"):
        return f"[{', '.join(argument_text(part, i) for i, part in enumerate(parts_of(text[1:-1])))}]"
    if text in NAMES:
        return NAMES[text]
    if re.fullmatch(r"-?[\d.]+(e-?\d+)?j?|True|False|None|'[^']*'", text):
        return text
    raise Untranslatable(text)


def call_text(name, sample, method):
    """A line of Python for a sample."""
    sample = sample.partition(" -> ")[0]
    positional, named = [], []
    for number, part in enumerate(parts_of(sample)):
        if found := re.match(r"(\w+)=(?!=)(.*)$", part):
            named.append(f"{found[1]}={argument_text(found[2], number)}")
        else:
            positional.append(argument_text(part, number))
    if method:
        first, *rest = positional
        return f"{first}.{name}({', '.join(rest + named)})"
    function = f"sconce.{name}"
    for space in SPACES:
        if name.startswith(space):
            function = f"sconce.{space[:-1]}.{name.removeprefix(space)}"
    return f"{function}({', '.join(positional + named)})"


def sample_texts(root):
    """Name of an operator -> samples of its overloads, those of the first overload first."""
    found = {}
    for entry in table.load(root):
        if entry.schema.namespace in ("aten", None):
            found.setdefault(entry.schema.name, []).extend(samples.of_entry(entry)[0])
    return found


def printed(sconce, value):
    tensors = value if isinstance(value, (tuple, list)) else (value,)
    if any(isinstance(t, sconce.Tensor) and t.numel() > MOST_ELEMENTS for t in tensors):
        return None
    text = "" if value is None else repr(value)
    return text if len(text.splitlines()) <= MOST_LINES and "0x" not in text else None


def too_long(*_):
    raise TimeoutError


def example(sconce, name, texts):
    """The first sample that runs, twice with the same result."""
    for text in texts:
        for method in (False, True):
            try:
                call = call_text(name, text, method or name.endswith("_"))
                if len(call) > LONGEST_CALL:
                    continue
                signal.setitimer(signal.ITIMER_REAL, 5)
                first, second = (eval(call, {"sconce": sconce}) for _ in range(2))
                shown, again = printed(sconce, first), printed(sconce, second)
            except (Exception, TimeoutError):
                continue
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if shown is not None and shown == again:
                return f">>> {call}\n{shown}".rstrip()
            if isinstance(first, sconce.Tensor):
                return f">>> {call}.shape\n{first.shape!r}"
    return None


def main():
    package = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(package.parent))
    signal.signal(signal.SIGALRM, too_long)
    warnings.simplefilter("ignore")
    sconce = importlib.import_module("sconce")
    sconce.set_num_threads(1)
    known = sample_texts(ROOT)
    lines, missing = [], []
    for name in sconce._sconce._function_names():
        texts = known.get(name) or known.get(name.removesuffix("_"), [])
        made = example(sconce, name, texts + GUESSES)
        if made:
            lines.append(f"@{name}\n{made}")
        elif not name.startswith("_"):
            missing.append(name)
    (package / "_examples.txt").write_text("\n".join(lines) + "\n")
    if "--missing" in sys.argv:
        print(f"{len(lines)} examples, none for {len(missing)} functions: {' '.join(missing)}")


main()
