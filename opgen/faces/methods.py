"""Methods of Tensor: `tensor.add(other)` calls the typed function."""

from .. import cpp
from ..signature import declare, name, signature, takes_out
from .functions import required, returned
from .text import banner

# Tensor has these itself.
_OWN = ("dim", "size", "numel", "dtype", "device", "stride", "storage_offset", "is_contiguous", "data")


def files(families):
    methods = [m for family in families for m in _methods(family)]
    yield ("sconce/generated/tensor_methods.inc", "header",
           banner() + "".join(f'#include "sconce/{layer}/tensor_methods.inc"\n' for layer in ("api", "autograd")) +
           "".join(m[0] + "\n" for m in methods))
    yield ("sconce/generated/methods.cpp", "source", banner() +
           "// The face of Tensor that programs see: see tensor.h.\n#undef SCONCE_BUILDING\n"
           '#include "sconce/ops.h"\n\nnamespace sconce {\n\n' + "".join(m[1] + "\n" for m in methods) +
           "\n}  // namespace sconce\n")


def _methods(family):
    """(declaration, definition) of each method."""
    for op in family.operators:
        if op.form == "out" or takes_out(op.schema) or "method" not in op.entry.forms:
            continue
        found = signature(op.schema)
        if found is None or not op.schema.arguments or op.schema.arguments[0].type != "Tensor":
            continue
        params, result = found
        method = cpp.identifier(op.schema.name)
        if method in _OWN:
            continue
        returns, rest = returned(op, result), params[1:]
        given = declare(rest, defaults=True, required=required(op, params, family) - 1)
        call = f"sconce::{cpp.function_name(op.schema.name)}({', '.join(['*this'] + [name(a) for _, a in rest])})"
        yield (f"SCONCE_API {returns} {method}({given}) const;",
               f"{returns} Tensor::{method}({declare(rest)}) const {{ return {call}; }}")
