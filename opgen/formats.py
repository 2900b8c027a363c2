"""Formats of elements (Note [Formats] in sconce/dispatch/formats.h): what an entry does with sparse and quantised tensors.

    sparse = "sparse/sum.cpp"   a kernel: sparse::<name>_<overload>(arguments...) makes the result
    sparse = "through"          the ordinary kernel
    sparse = "values"           the operator itself on the values of the first tensor, under the same indices;
                                "coalesced values": on those of the coalesced tensor, where it is not linear
"""

from . import cpp
from .kinds import leaf
from .signature import declare, name, typed, written

# Key of an entry, which is also the folder below sconce/kernels/, the namespace and the dispatch key -> its bit in
# OpInfo::formats.
FORMATS = {"sparse": 1, "quantized": 2}

# Words of `sparse` beside "through" and "refused" -> what map_values() is told.
MAPS = {"values": "values", "coalesced values": "coalesced_values"}
MAPS_HEADER = "kernels/sparse/map_values.h"


def check(entry):
    if entry.get("math_bits") not in (None, "through", "refused"):
        entry.fail(f"'math_bits' is 'through' or 'refused', not '{entry.get('math_bits')}'", "math_bits")
    for format in FORMATS:
        word = entry.get(format)
        if _maps(entry, format):
            continue
        if word not in (None, "through", "refused") and not word.startswith(f"{format}/"):
            entry.fail(f"'{format}' is 'through', 'refused' or a file in {format}/, not '{word}'", format)
        if has_kernel(entry, format) and leaf.is_boxed(entry):
            entry.fail(f"a boxed kernel sees every tensor: leave out '{format}'", format)


def _maps(entry, format):
    """Whether the operator is applied to the values of a sparse tensor."""
    return format == "sparse" and entry.get(format) in MAPS


def maps_values(entry):
    return _maps(entry, "sparse")


def has_kernel(entry, format):
    return entry.get(format) not in (None, "through", "refused")


# Files of kernels that let a format through unless an entry says otherwise: those that only look at facts, and for
# quantised tensors those that make views, whose elements mean what they mean in the base.
_FACTS = ("any/queries.cpp", "any/tensor_attributes.cpp")
_THROUGH = {"sparse": _FACTS, "quantized": (*_FACTS, "any/views/views.cpp", "any/views/splits.cpp")}


# The bit for conjugate and negative views (Note [Math bits] in sconce/tensor/math_bits.h), and the files of kernels that take
# them: they pass the bits on, or copy with copy_tensor, which knows them.
_MATH_BITS = 4
_MATH_BITS_FILES = (*_FACTS, "any/views/", "any/copy_operators.cpp")


def taken(entry):
    """OpInfo::formats: what the ordinary kernel takes. Compound and boxed operators leave the decision to what they call, and
    what gives no tensor asks for facts."""
    bits = sum(bit for format, bit in FORMATS.items() if entry.get(format, _default(entry, format)) == "through")
    return bits | (_MATH_BITS if _takes_math_bits(entry) else 0)


def _takes_math_bits(entry):
    """Views and whatever may give its argument back keep the bits: a copy in place of the argument would not be a view."""
    if "math_bits" in entry.data:
        return entry.get("math_bits") == "through"
    if entry.kind in ("compound", "scalar") or leaf.is_boxed(entry) or _asks_facts(entry):
        return True
    file = entry.get("kernel", {}).get("any", "") if entry.kind == "leaf" else ""
    shares = any(a.type.startswith("Tensor(") and not a.written for a in entry.schema.arguments)
    return file.startswith(_MATH_BITS_FILES) or (file != "" and shares) or "view" in entry.get("traits", [])


def _default(entry, format):
    passes = entry.kind in ("compound", "scalar") or leaf.is_boxed(entry) or _asks_facts(entry)
    passes = passes or (entry.kind == "leaf" and entry.get("kernel").get("any") in _THROUGH[format])
    return "through" if passes else None


def _asks_facts(entry):
    file = entry.get("kernel", {}).get("any", "")
    writes = any(a.written for a in entry.schema.arguments)
    gives = any(r.type.startswith("Tensor") for r in entry.schema.returns)
    return file.startswith("autograd/") or (file != "" and not writes and not gives)


def has_own_kernel(entry, format):
    """Whether a file is named, whose function is for this entry alone."""
    return has_kernel(entry, format) and not _maps(entry, format)


def kernels(op, family):
    """slot's key -> kernel, for a record."""
    return {format: f"SCONCE_TYPED_KERNEL({family.name}_kernels::{_glue_name(op, format)})"
            for format in FORMATS if has_kernel(op.entry, format)}


def declarations(entry):
    """(namespace, declaration) of each kernel."""
    for format in FORMATS:
        if has_own_kernel(entry, format):
            params, result = typed(entry, entry.schema)
            result = "void" if written(entry.schema) else result
            yield format, f"{result} {entry.cpp_name}({declare(params)});"


def functions(op):
    """The functions between dispatch and those kernels."""
    out = []
    for format in FORMATS:
        if not has_kernel(op.entry, format):
            continue
        params, result = typed(op.entry, op.schema)
        places = written(op.schema)
        plain = [name(a) for _, a in params if not (op.form == "out" and a.written)]
        call = f"{format}::{op.entry.cpp_name}({', '.join(plain)})"
        if _maps(op.entry, format):
            call = _mapped(op, plain)
        listed = ", ".join(["KeySet keys"] + [declare([p]) for p in params])
        out += [f"// {op.entry.origin}: {op.schema.key}, {format}",
                f"{'void' if places else result} {_glue_name(op, format)}({listed}) {{",
                *leaf.mixed_devices(op.entry), *_body(op, format, params, places, call), "}\n"]
    return out


def _mapped(op, arguments):
    """A call that applies the operator to the values of its first argument."""
    first, rest = arguments[0], ["values", *arguments[1:]]
    function = f"[&](const Tensor& values) {{ return sconce::{cpp.function_name(op.entry.schema.name)}({', '.join(rest)}); }}"
    what = f"sparse::MapOf::{MAPS[op.entry.get('sparse')]}"
    if op.form == "inplace":
        return f'sparse::map_values_in_place({first}, {what}, "{op.schema.name}", {function})'
    return f"sparse::map_values({first}, {what}, {function})"


def _body(op, format, params, places, call):
    if op.form == "function":
        return [f"  {'' if places else 'return '}{call};"]
    if op.form == "inplace" and _maps(op.entry, format):
        return [f"  {call};"]
    if len(places) == 1:
        return [f"  become_result({name(params[places[0]][1])}, {call});"]
    return [f"  auto results = {call};"] + [f"  become_result({name(params[w][1])}, std::get<{i}>(results));"
                                            for i, w in enumerate(places)]


def _glue_name(op, format):
    return f"{op.cpp_name}_{format}"
