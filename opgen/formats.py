"""Formats of elements (Note [Formats] in sconce/dispatch/formats.h): what an entry does with sparse and quantised tensors.

    sparse = "sparse/sum.cpp"   a kernel: sparse::<name>_<overload>(arguments...) makes the result
    sparse = "through"          the ordinary kernel
"""

from .kinds import leaf
from .signature import declare, name, typed, written

# Key of an entry, which is also the folder below sconce/kernels/, the namespace and the dispatch key -> its bit in
# OpInfo::formats.
FORMATS = {"sparse": 1, "quantized": 2}


def check(entry):
    for format in FORMATS:
        word = entry.get(format)
        if word not in (None, "through", "refused") and not word.startswith(f"{format}/"):
            entry.fail(f"'{format}' is 'through', 'refused' or a file in {format}/, not '{word}'", format)
        if has_kernel(entry, format) and leaf.is_boxed(entry):
            entry.fail(f"a boxed kernel sees every tensor: leave out '{format}'", format)


def has_kernel(entry, format):
    return entry.get(format) not in (None, "through", "refused")


# Files of kernels that let a format through unless an entry says otherwise: those that only look at facts, and for
# quantised tensors those that make views, whose elements mean what they mean in the base.
_FACTS = ("any/queries.cpp", "any/tensor_attributes.cpp")
_THROUGH = {"sparse": _FACTS, "quantized": (*_FACTS, "any/views/views.cpp", "any/views/splits.cpp")}


def taken(entry):
    """OpInfo::formats: what the ordinary kernel takes. Compound and boxed operators leave the decision to what they call."""
    return sum(bit for format, bit in FORMATS.items() if entry.get(format, _default(entry, format)) == "through")


def _default(entry, format):
    passes = entry.kind in ("compound", "scalar") or leaf.is_boxed(entry)
    passes = passes or (entry.kind == "leaf" and entry.get("kernel").get("any") in _THROUGH[format])
    return "through" if passes else None


def kernels(op, family):
    """slot's key -> kernel, for a record."""
    return {format: f"SCONCE_TYPED_KERNEL({family.name}_kernels::{_glue_name(op, format)})"
            for format in FORMATS if has_kernel(op.entry, format)}


def declarations(entry):
    """(namespace, declaration) of each kernel."""
    for format in FORMATS:
        if has_kernel(entry, format):
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
        listed = ", ".join(["KeySet"] + [declare([p]) for p in params])
        out += [f"// {op.entry.origin}: {op.schema.key}, {format}",
                f"{'void' if places else result} {_glue_name(op, format)}({listed}) {{",
                *_body(op, params, places, call), "}\n"]
    return out


def _body(op, params, places, call):
    if op.form == "function":
        return [f"  {'' if places else 'return '}{call};"]
    if len(places) == 1:
        return [f"  become_result({name(params[places[0]][1])}, {call});"]
    return [f"  auto results = {call};"] + [f"  become_result({name(params[w][1])}, std::get<{i}>(results));"
                                            for i, w in enumerate(places)]


def _glue_name(op, format):
    return f"{op.cpp_name}_{format}"
