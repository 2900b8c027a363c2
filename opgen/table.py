"""The operator table: loads ops/*.toml, checks every entry, and derives in-place and out= forms.

Every message names file and line, and the key that is wrong:
    ops/arithmetic.toml:12: add.Tensor: unknown key 'shcema' (did you mean 'schema'?)
"""

import difflib
import pathlib
import re
import tomllib
from dataclasses import dataclass, field

from . import cpp, devices, formats, formulas, schema as schemas

KINDS = ("pointwise", "reduce", "leaf", "compound", "scalar")
FORMS = ("function", "method", "inplace", "out")
TRAITS = ("view", "random", "idempotent", "core", "core_out", "data_dependent", "commutative", "asks_autograd",
          "runs_backward", "layout_free", "keeps_floats")
CLASSES = ("bool", "int", "float", "complex")

# key -> (type, which kinds may have it)
ALL = set(KINDS)
KEYS = {
    "schema": (str, ALL),
    "kind": (str, ALL),
    "forms": (list, ALL),
    "traits": (list, ALL),
    "doc": (str, ALL),
    "grad": ((dict, str), ALL),
    "samples": (list, ALL),
    "second_order": (str, ALL),
    "facts": (list, {"leaf"}),
    "reference": (str, ALL),
    "check": (dict, {"pointwise", "reduce", "leaf", "compound"}),
    "same": (dict, {"pointwise", "reduce", "leaf", "compound"}),
    "out": (str, ALL),
    "out_schema": (str, ALL),
    "inplace_schema": (str, ALL),
    "same_as": (str, ALL),
    "alias": (str, ALL),
    "functional": (str, ALL),
    "instruction": (str, ALL),
    "each": (list, ALL),
    "dtypes": (str, {"pointwise", "reduce", "leaf"}),
    "work": (str, ALL),
    "loads": (bool, ALL),
    "small": (dict, {"compound"}),
    "named": (bool, ALL),
    "sparse": (str, ALL),
    "quantized": (str, ALL),
    "math_bits": (str, ALL),
    # pointwise
    "dtype": ((str, list), {"pointwise", "reduce", "leaf"}),
    "types": (str, {"pointwise", "reduce"}),
    "promote": (list, {"pointwise"}),
    "integral": (list, {"pointwise"}),
    "masks": (list, {"pointwise"}),
    "result": ((str, list), {"pointwise", "reduce", "leaf"}),
    "scalar": ((str, dict), {"pointwise", "scalar"}),
    "case": (list, {"pointwise", "reduce"}),
    # reduce
    "map": ((str, dict), {"reduce"}),
    "combine": ((str, dict), {"reduce"}),
    "identity": ((str, dict), {"reduce"}),
    "merge": (dict, {"reduce"}),
    "finish": ((str, dict, list), {"reduce"}),
    "absent": (dict, {"pointwise", "reduce"}),
    "empty": (str, {"reduce"}),
    "dims": (str, {"reduce"}),
    "loops": (str, {"reduce"}),
    # leaf
    "kernel": (dict, {"leaf"}),
    "on_host": (list, {"leaf"}),
    "shape": ((str, list), {"leaf"}),
    "format": (str, {"leaf"}),
    "decompose": (str, {"pointwise", "reduce", "leaf", "compound"}),
    "integers": (str, {"pointwise", "reduce", "leaf", "compound"}),
    "prepare": (str, {"leaf", "compound"}),
    # compound
    "body": (str, {"compound"}),
    "sizes": ((str, list), {"leaf", "compound"}),
    # views
    "scatter": (str, {"leaf", "compound"}),
}


class TableError(Exception):
    pass


@dataclass
class Entry:
    """One entry of the table."""

    family: str
    file: str
    line: int
    key: str
    data: dict
    lines: dict = field(default_factory=dict)  # key -> line
    schema: schemas.Schema = None

    @property
    def origin(self):
        return f"{self.file}:{self.line}"

    @property
    def kind(self):
        return self.data["kind"]

    @property
    def forms(self):
        return self.data.get("forms", ["function"])

    @property
    def cpp_name(self):
        return cpp.identifier(self.key.replace(".", "_").replace("::", "_"))

    def get(self, key, default=None):
        return self.data.get(key, default)

    def fail(self, message, key=None):
        line = self.lines.get(key, self.line)
        raise TableError(f"{self.file}:{line}: {self.key}: {message}")


@dataclass
class Operator:
    """One operator of the registry: an entry in one of its forms."""

    entry: Entry
    form: str  # function, inplace, out
    schema: schemas.Schema
    index: int = 0  # within its family

    @property
    def cpp_name(self):
        return cpp.identifier(self.schema.key.replace(".", "_"))

    @property
    def alias(self):
        """The name that this one is another for (in-place forms of an in-place form), or None."""
        alias = self.entry.data.get("alias")
        return alias + "_" if alias and self.form == "inplace" else alias


def _lines(text):
    """Line numbers: header key -> line, (header key, name) -> line. tomllib keeps none."""
    found, current, in_string = {}, None, False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not in_string:
            m = re.match(r'\[\s*"?([^"\]]+?)"?\s*\]', stripped)
            if m and not stripped.startswith("[["):
                current = m.group(1)
                found.setdefault(current, number)
            m = re.match(r"([\w]+)(?:\.\w+)*\s*=", stripped)
            if m and current:
                found.setdefault((current, m.group(1)), number)
        if stripped.count('"""') % 2:
            in_string = not in_string
    return found


def _check_entry(entry, names):
    data = entry.data
    for key, value in data.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            entry.fail(f"unknown key '{key}'{hint}", key)
        wanted, kinds = KEYS[key]
        if not isinstance(value, wanted):
            entry.fail(f"'{key}' must be {wanted if isinstance(wanted, tuple) else wanted.__name__}", key)
    for key in ("schema", "kind"):
        if key not in data:
            entry.fail(f"'{key}' is missing")
    if entry.kind not in KINDS:
        entry.fail(f"unknown kind '{entry.kind}', expected one of {', '.join(KINDS)}", "kind")
    for key in data:
        if entry.kind not in KEYS[key][1]:
            entry.fail(f"'{key}' does not belong to kind '{entry.kind}'", key)
    for form in entry.forms:
        if form not in FORMS:
            entry.fail(f"unknown form '{form}', expected some of {', '.join(FORMS)}", "forms")
    for trait in data.get("traits", []):
        if trait not in TRAITS:
            entry.fail(f"unknown trait '{trait}', expected some of {', '.join(TRAITS)}", "traits")
    try:
        entry.schema = schemas.parse(data["schema"])
    except ValueError as e:
        entry.fail(str(e), "schema")
    wanted = entry.schema.key if entry.schema.namespace == "aten" else f"{entry.schema.namespace}::{entry.schema.key}"
    if wanted != entry.key:
        entry.fail(f"the schema is of '{wanted}', the entry is called '{entry.key}'", "schema")
    if entry.key in names:
        entry.fail(f"defined twice, first at {names[entry.key]}")
    names[entry.key] = entry.origin
    arguments = {a.name for a in entry.schema.arguments}
    for key in ("promote", "integral", "masks"):
        for name in data.get(key, []):
            if name not in arguments:
                entry.fail(f"'{key}' names '{name}', which is no argument", key)
    grad = data.get("grad", {})
    if isinstance(grad, str) and grad not in formulas.WORDS:
        entry.fail(f"grad is '{grad}', expected formulas or one of {', '.join(formulas.WORDS)}", "grad")
    for name in (n for key in grad for n in formulas.targets(key)) if isinstance(grad, dict) else ():
        if name not in arguments:
            entry.fail(f"derivative for '{name}', which is no argument", "grad")
    for what, names in data.get("same", {}).items():
        if what not in ("sizes", "dtypes"):
            entry.fail(f"same says '{what}', expected sizes or dtypes", "same")
        for name in names:
            argument = entry.schema.argument(name)
            if argument is None or argument.type not in ("Tensor", "Tensor?"):
                entry.fail(f"'same' names '{name}', which is no tensor", "same")
    need = {"pointwise": ("scalar", "case"), "reduce": ("map", "loops", "case"), "leaf": ("kernel",), "compound": ("body",),
            "scalar": ("scalar",)}
    if not any(key in data for key in need[entry.kind]):
        entry.fail(f"a {entry.kind} operator needs '{need[entry.kind][0]}'")
    if entry.kind == "leaf":
        _check_kernels(entry)
    formats.check(entry)
    if "types" in data:
        for name in data["types"].split():
            if name not in CLASSES:
                entry.fail(f"unknown type class '{name}', expected some of {' '.join(CLASSES)}", "types")


def _check_kernels(entry):
    kernels = entry.data["kernel"]
    for device, path in kernels.items():
        if device not in devices.KERNELS:
            entry.fail(f"unknown kernel '{device}', expected one of {', '.join(devices.KERNELS)}", "kernel")
        folders = devices.KERNELS[device]
        if path.split("/")[0] not in folders:
            entry.fail(f"a kernel for '{device}' stands in {' or '.join(f + '/' for f in folders)}, not in '{path}'", "kernel")
    if entry.get("result", "own") != "own":
        entry.fail(f"result is '{entry.get('result')}', a leaf operator can only say 'own'", "result")
    if "result" in entry.data and [k for k in kernels if k != "cuda"] != ["cpu"]:
        entry.fail("result = 'own' is for a kernel for 'cpu'; those for 'any' and 'boxed' make their own result anyway",
                   "result")
    if "cuda" in kernels and not {"cpu", "any"} & set(kernels):
        entry.fail("a kernel for 'cuda' stands beside one for 'cpu' or 'any'", "kernel")
    if "cpu" in kernels and "shape" not in entry.data and "result" not in entry.data:
        entry.fail("a kernel for 'cpu' needs 'shape', or result = 'own' where it makes its own result")


def load(root):
    """All entries, by family, in file order. `root` is the folder that holds ops/."""
    root = pathlib.Path(root)
    entries, names = [], {}
    for path in sorted((root / "ops").glob("*.toml")):
        file = path.relative_to(root).as_posix()
        text = path.read_text()
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as e:
            m = re.search(r"line (\d+)", str(e))
            raise TableError(f"{file}:{m.group(1) if m else 1}: {e}") from None
        lines = _lines(text)
        for key, value in data.items():
            if not isinstance(value, dict):
                raise TableError(f"{file}:1: '{key}' stands outside of an entry")
            places = {k[1]: n for k, n in lines.items() if isinstance(k, tuple) and k[0] == key}
            for word in value.get("each", [None]):
                entries.append(_load_entry(path.stem, file, lines.get(key, 1), key, value, places, word, entries, names))
    return entries


def _filled(value, word):
    """The entry for one word of `each`: {K} replaced in every text. In the header, what stands behind a blank only tells it
    apart from other headers: ["prims::{K} of two tensors"]."""
    if isinstance(value, str):
        return value.replace("{K}", word)
    if isinstance(value, dict):
        return {k: _filled(v, word) for k, v in value.items() if k != "each"}
    return [_filled(v, word) for v in value] if isinstance(value, list) else value


def _load_entry(family, file, line, key, value, places, word, entries, names):
    if word is not None:
        key, value = key.split(" ")[0].replace("{K}", word), _filled(value, word)
    entry = Entry(family, file, line, key, value, dict(places))
    if "same_as" in value:
        base = next((e for e in entries if e.key == value["same_as"]), None)
        if base is None:
            entry.fail(f"same_as names '{value['same_as']}', which is not defined above", "same_as")
        inherited = {k: v for k, v in base.data.items() 
                     if k not in ("schema", "out", "out_schema", "inplace_schema", "alias", "functional", "instruction", "samples",
                                  "second_order", "decompose", "integers", "prepare", "small")
                     and not (k in formats.FORMATS and formats.has_own_kernel(base, k))}
        entry.data = {**inherited, **value}
        del entry.data["same_as"]
    _check_entry(entry, names)
    return entry


def _inplace_schema(entry):
    if "inplace_schema" in entry.data:
        return entry.data["inplace_schema"]
    s = entry.schema
    if not s.arguments or s.arguments[0].type != "Tensor":
        entry.fail("an in-place form needs a tensor as first argument", "forms")
    name = s.name + "_" + ("." + s.overload if s.overload else "")
    inner = s.text[s.text.index("(") + 1: s.text.rindex(") ->")]
    inner = inner.replace("Tensor " + s.arguments[0].name, "Tensor(a!) " + s.arguments[0].name, 1)
    return f"{name}({inner}) -> Tensor(a!)"


def _out_schema(entry):
    if "out_schema" in entry.data:
        return entry.data["out_schema"]
    s = entry.schema
    overload = entry.data.get("out") or ("out" if s.overload in ("", "Tensor") else s.overload + "_out")
    inner = s.text[s.text.index("(") + 1: s.text.rindex(") ->")]
    if not any(a.keyword_only for a in s.arguments):
        inner += ", *" if inner else "*"
    if len(s.returns) == 1:
        return f"{s.name}.{overload}({inner}, Tensor(a!) out) -> Tensor(a!)"
    outs = ", ".join(f"Tensor({'abcdefgh'[i]}!) out{i}" for i in range(len(s.returns)))
    rets = ", ".join(f"Tensor({'abcdefgh'[i]}!)" for i in range(len(s.returns)))
    return f"{s.name}.{overload}({inner}, {outs}) -> ({rets})"


def _check_aliases(operators):
    """An alias is another name of an operator that has none itself."""
    names = {(op.schema.namespace, op.schema.name): op.alias for op in operators}
    for op in operators:
        if op.alias is None:
            continue
        if (op.schema.namespace, op.alias) not in names:
            op.entry.fail(f"alias names '{op.alias}', which is no operator", "alias")
        if names[op.schema.namespace, op.alias] is not None:
            op.entry.fail(f"alias names '{op.alias}', which is an alias itself", "alias")


def operators(entries):
    """Every operator of the registry, with its forms, in table order; indices count within a family."""
    result, counts = [], {}
    for entry in entries:
        forms = [("function", entry.schema.text)]
        if "inplace" in entry.forms:
            forms.append(("inplace", _inplace_schema(entry)))
        if "out" in entry.forms:
            forms.append(("out", _out_schema(entry)))
        for form, text in forms:
            try:
                parsed = schemas.parse(text)
            except ValueError as e:
                entry.fail(str(e))
            index = counts.get(entry.family, 0)
            counts[entry.family] = index + 1
            result.append(Operator(entry, form, parsed, index))
    _check_aliases(result)
    seen = {}
    for op in result:
        key = f"{op.schema.namespace}::{op.schema.key}"
        if key in seen:
            op.entry.fail(f"its form '{key}' is defined twice, first at {seen[key]}")
        seen[key] = op.entry.origin
    return result
