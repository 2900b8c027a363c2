"""Selections: the operators, dtypes, formats and vector levels that a small library is built with (docs/small.md).

    # a comment
    op aten::relu               an operator by name and overload; its kernels, and what they call
    dtype float32               a dtype that vector loops compute; without any, all of them
    format quantized            sparse or quantized tensors: kernels of the operators for them
    level v3                    an instruction-set level; without any, all of them
    file ptl                    the models are lite archives; scx: compiled files; without any, both
    random no                   no random numbers: dropout is there, and is not asked to drop anything
    places yes                  errors name lines of the program's source, where an archive has debug records
    missing allowed             models that name other operators load, and calls of those fail
"""

from dataclasses import dataclass, field

from .formats import FORMATS
from .loops.functions import COMPUTE_ORDER, LEVELS
from .table import TableError

# The type that vector loops compute a dtype in (enum class Compute); reductions of small integers run in i64.
_COMPUTE = {"float32": "f32", "float16": "f32", "bfloat16": "f32", "float64": "f64", "int8": "i32", "uint8": "i32",
            "int16": "i32", "int32": "i32", "int64": "i64", "bool": "u8", "complex64": "c64", "complex128": "c128",
            "qint8": None, "quint8": None, "qint32": None, "uint16": "i64", "uint32": "i64", "uint64": "i64",
            "float8_e4m3fn": "f32", "float8_e5m2": "f32", "complex32": "c64"}

# Those that few operators have (Note [Limited dtypes] in sconce/tensor/dtype.h).
_LIMITED = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")


@dataclass
class Selection:
    origin: str
    operators: list = field(default_factory=list)  # of table.Operator, in table order
    dtypes: list = field(default_factory=list)
    formats: list = field(default_factory=list)
    levels: list = field(default_factory=list)
    files: list = field(default_factory=list)
    partial: bool = False
    places: bool = False
    random: bool = True

    def level_for(self, level):
        """The level whose code runs where a processor has `level`: the highest selected one below, else the lowest."""
        chosen = self.levels or list(LEVELS)
        below = [l for l in LEVELS if l in chosen and LEVELS.index(l) <= LEVELS.index(level)]
        return below[-1] if below else min(chosen, key=LEVELS.index)

    def has_limited(self):
        return not self.dtypes or any(d in _LIMITED for d in self.dtypes)

    def computes(self, loops):
        """The compute types to keep of those that an operator has loops for. Bools without a loop of their own run as
        integers, and small types in a larger one where theirs is missing."""
        if not self.dtypes:
            return set(loops)
        kept = {_COMPUTE[d] for d in self.dtypes} & set(loops)
        small = {_COMPUTE[d] for d in self.dtypes} - set(loops)
        order = {"u8": ("i32", "i64"), "i32": ("i64",), "c64": ("c128",)}
        for compute in small:
            kept |= {next((c for c in order.get(compute, ()) if c in loops), None)} - {None}
        return kept


def load(path, operators):
    """A selection, checked against the table."""
    known = {f"{o.schema.namespace}::{o.schema.key}": o for o in operators}
    selection, names = Selection(path.name), set()
    words = {"dtype": (_COMPUTE, selection.dtypes), "format": (FORMATS, selection.formats),
             "level": (LEVELS, selection.levels), "file": (("ptl", "scx"), selection.files)}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        key, _, value = line.partition(" ")
        where = f"{path}:{number}"
        if key == "op":
            if value not in known:
                raise TableError(f"{where}: no operator '{value}'")
            names.add(value)
        elif line == "missing allowed":
            selection.partial = True
        elif line == "places yes":
            selection.places = True
        elif line == "random no":
            selection.random = False
        elif key in words:
            allowed, chosen = words[key]
            if value not in allowed:
                raise TableError(f"{where}: unknown {key} '{value}', expected one of {', '.join(allowed)}")
            if value not in chosen:
                chosen.append(value)
        else:
            raise TableError(f"{where}: '{line}' is none of op, dtype, format, level, file")
    selection.operators = [o for name, o in known.items() if name in names]
    return selection


assert set(filter(None, _COMPUTE.values())) == set(COMPUTE_ORDER)
