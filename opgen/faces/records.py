"""Records: the static data of each operator (struct OpRecord of sconce/dispatch/records/op_family.h)."""

import zlib

from .. import cpp, devices, formats, formulas, limited
from ..kinds import leaf
from ..signature import declare, optional_tensors, takes_out, typed, written


def gradient(op, catalog):
    """(kind of Gradient, the entry whose formulas it uses or None)"""
    return formulas.gradient(op, catalog.functional, takes_out(op.schema), written(op.schema))


def formula_symbol(entry):
    """(namespace, name) of the Formulas of an entry."""
    return f"{entry.family}_formulas", entry.cpp_name


class Texts:
    """Texts one after the other, each with a 0 at its end; equal ones are one. The place of a text is 0 where there is none."""

    def __init__(self, family):
        self.family, self.places, self.size = family, {}, 1  # the first is empty

    def place(self, text):
        if not text:
            return 0
        if text not in self.places:
            self.places[text] = self.size
            self.size += len(text.encode()) + 1
            if self.size > 0xffff:
                raise ValueError(f"ops/{self.family.name}.toml: more than 64 KB of text: split the family")
        return self.places[text]

    @property
    def bytes(self):
        return b"\0" + b"".join(t.encode() + b"\0" for t in self.places)

    def lines(self, name):
        """C++ that defines them as they are, for what is asked of every operator."""
        listed = "\n".join(f"    {cpp.string(t)[:-1]}\\0\"" for t in self.places)
        return [f'constexpr char {name}[] =\n    "\\0"\n{listed};']

    def packed(self, name):
        """C++ that defines the PackedTexts `name`."""
        deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        data = deflate.compress(self.bytes) + deflate.flush()
        return [f"char {name}_place[{self.size}];",
                f"constinit PackedTexts {name}{{{cpp.bytes_literal(data)}, {len(data)}, {self.size}, {name}_place}};"]


class Rows(dict):
    """Rows of a list: `number` gives that of a row, from 1 on, and 0 for none."""

    def number(self, row):
        return self.setdefault(row, len(self) + 1) if row is not None else 0


class Records:
    """The records of a family, and the lists that they refer to. They are constants for the linker, not for the compiler: an
    address of a function as that of bytes is no constant expression."""

    def __init__(self, family, entries):
        self.family, self.entries = family, entries
        self.names, self.schemas, self.texts = Texts(family), Texts(family), Texts(family)
        self.thunks, self.formulas = Rows(), Rows()
        self.kernels = []
        self.rows = [self._record(op) for op in family.operators]

    def lines(self):
        """C++ that defines them and <family>_ops, and has these made."""
        name, out = self.family.name, ["namespace {\n"]
        out += [f"const OpRecord {name}_records[] = {{", *[f"    {r}," for r in self.rows], "};"]
        out += self.names.lines(f"{name}_names")
        thunks = self._list("BoxThunk", f"{name}_thunks", self.thunks, out)
        formulas = self._list("Formulas* const", f"{name}_formula_list", self.formulas, out)
        kernels = self._list("OpKernel", f"{name}_format_kernels", self.kernels, out)
        out += self.schemas.packed(f"{name}_schemas") + self.texts.packed(f"{name}_texts")
        entries = f"{name}_entries::all" if self.entries.rows else "nullptr"
        out += ["\n}  // namespace\n", f"static constinit Op {name}_ops[{len(self.rows)}]{{}};",
                f"static const OpFamily {name}_family{{\"ops/{name}.toml\", {name}_ops, {name}_records, {len(self.rows)}, "
                f"{name}_names, {thunks}, {entries}, {formulas}, {kernels}, {len(self.kernels)}, "
                f"SCONCE_BOXED_KERNEL(autograd::record), &{name}_schemas, &{name}_texts, unpack_texts}};",
                f"[[gnu::constructor(101)]] static void make_{name}_ops() {{ make_ops({name}_family); }}\n"]
        return out

    @staticmethod
    def _list(type_, name, rows, out):
        if not rows:
            return "nullptr"
        out += [f"const {type_} {name}[] = {{", *[f"    {r}," for r in rows], "};"]
        return name

    def _record(self, op):
        """The initializer of an OpRecord."""
        entry, schema, family = op.entry, op.schema, self.family
        kind, source = gradient(op, family.catalog)
        for key, kernel in formats.kernels(op, family).items():
            self.kernels.append(f"{{{op.index}, Key::{key}, {kernel}}}")
        thunk = _thunk(op)
        formulas = None if source is None else "&" + "::".join(formula_symbol(source))
        members = [_kernel(op, family), _traits(op), self.names.place(f"{schema.namespace}::{schema.name}"),
                   self.names.place(schema.overload), self.schemas.place(_full_schema(schema)),
                   self.texts.place(entry.get("body")), self.texts.place(_derivatives(entry)), self.texts.place(entry.get("doc")),
                   self.thunks.number(thunk), self.entries.number(entry), self.formulas.number(formulas), entry.origin.split(":")[1],
                   family.catalog.distance(op) or 0, f"Gradient::{kind}", limited.admitted(entry), formats.taken(entry),
                   _bool(leaf.reads_memory(entry)), _bool(is_factory(op))]
        return "{" + ", ".join(str(m) for m in members) + "}"


def _bool(value):
    return "true" if value else "false"


def is_factory(op):
    """Whether a device and no tensor is an argument: then the library of the device may not be loaded yet."""
    types = [a.type for a in op.schema.arguments]
    return not leaf.is_boxed(op.entry) and "Device?" in types and not any(t.startswith("Tensor") for t in types)


def small_record(op, family, selection):
    """The same of a small library (small.py): no gradients, no texts for people, no entry, kernels of selected formats only. Guards stand in their slots: there is no time at which they could be
    registered."""
    kernel = _kernel(op, family)
    kernels = {key: kernel for key in devices.GLUE}
    kernels |= {key: k for key, k in formats.kernels(op, family).items() if key in selection.formats}
    if leaf.reads_memory(op.entry):
        kernels["meta"] = "SCONCE_BOXED_KERNEL(refuse_meta)"
    guards = {"observe": "pay_for_call"} | ({"limited": "admit_limited"} if selection.has_limited() else {})
    guards |= {"sparse": "guard_sparse", "quantized": "guard_quantized"} if selection.formats else {}
    kernels = {key: f"SCONCE_BOXED_KERNEL({guard})" for key, guard in guards.items()} | kernels
    slots = {devices.SLOTS[key]: k for key, k in kernels.items()}
    listed = ", ".join(slots.get(i, "nullptr") for i in range(max(slots) + 1))
    schema = op.schema
    texts = [cpp.string(t) for t in (f"{schema.namespace}::{schema.name}", schema.overload, _full_schema(schema))]
    # Every member is written: one that is left to its default makes g++ fill the whole table when a program starts.
    info = ", ".join(texts + ["{nullptr, nullptr, nullptr, nullptr}", "nullptr", _traits(op), "Gradient::through", "0", "nullptr",
                              str(limited.admitted(op.entry)), str(formats.taken(op.entry))])
    return f"{{{{{info}}}, {_thunk(op) or 'nullptr'}, {sum(1 << s for s in slots)}, {{{listed}}}, nullptr, nullptr}}"


def _kernel(op, family):
    if leaf.is_boxed(op.entry):
        return f"SCONCE_BOXED_KERNEL(boxed::{leaf.boxed_name(op.entry)})"
    return f"SCONCE_TYPED_KERNEL({family.name}_kernels::{op.cpp_name})"


def _full_schema(schema):
    return schema.text if "::" in schema.text.split("(")[0] else f"{schema.namespace}::{schema.text}"


def _thunk(op):
    """The function that calls a typed kernel over Values."""
    if leaf.is_boxed(op.entry):
        return None
    params, result = typed(op.entry, op.schema)
    places = written(op.schema)
    optional = optional_tensors(params)
    aliased = "".join(f", {i}" for i in places) if places else ""
    return f"box_call<{'void' if places else result}({declare(params, named=False)}), {optional}{aliased}>"


def _derivatives(entry):
    """As derivative.h reads them: a formula of several lines, or that raises, is indented below its argument."""
    grad = entry.get("grad")
    if not isinstance(grad, dict):
        return None
    lines = [f"{k}: {v}" if "\n" not in v.strip() and not v.strip().startswith("raise ") else f"{k}:\n  " + v.strip().replace("\n", "\n  ")
             for k, v in grad.items()]
    return "\n".join(lines) or None


def _keeps_floats(op):
    """Where it follows from the entry; others say it among their traits."""
    entry, kernel = op.entry, op.entry.get("kernel", {})
    if entry.kind in ("pointwise", "reduce"):
        return len(op.schema.returns) == 1 and not formulas.is_constant(entry) and "result" not in entry.data and entry.get("dtype") != "wide"
    views = "view" in entry.get("traits", []) and entry.key != "view_as_complex"
    return views or kernel.get("any") == "any/queries.cpp"


def _traits(op):
    names = [t for t in op.entry.get("traits", []) if t != "core_out"]
    if op.form != "function":
        core = op.form == "out" and "core_out" in op.entry.get("traits", [])
        names = [t for t in names if t != "view" and (t != "core" or core)] + [op.form]
    elif takes_out(op.schema):
        names.append("out")
    elif op.schema.name.endswith("_") and written(op.schema):
        names.append("inplace")
    if _keeps_floats(op):
        names.append("keeps_floats")
    kind = {"pointwise": "pointwise", "reduce": "reduction", "compound": "compound"}.get(op.entry.kind)
    if kind:
        names.append(kind)
    if devices.runs_everywhere(op.entry):
        names.append("every_device")
    return " | ".join(f"static_cast<uint32_t>(Trait::{t})" for t in dict.fromkeys(names)) or "0"
