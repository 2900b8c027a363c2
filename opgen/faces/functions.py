"""Typed functions: `sconce::add(self, other, alpha)` for programs in C++, declared in <family>.h."""

from .. import cpp
from ..signature import declare, first_default, name, optional_tensors, signature, takes_out, written
from .text import banner


def header(family):
    """<family>.h"""
    out = [banner(family.name), "#pragma once\n", '#include "sconce/tensor/tensor.h"\n', "namespace sconce {\n"]
    for op in family.operators:
        declared = declaration(op, family, public=True)
        if declared is None:
            continue
        doc = op.entry.get("doc")
        if doc and op.form == "function":
            out += [f"// {line}".rstrip() for line in doc.strip().splitlines()]
        out.append(declared + ";")
    out.append("\n}  // namespace sconce\n")
    return "\n".join(out)


def definition(op, family):
    """The function of an operator, which dispatches by the keys of its arguments; nothing where it has none."""
    declared = declaration(op, family)
    if declared is None:
        return []
    params, result = signature(op.schema)
    places = written(op.schema)
    returned = places[0] if places and len(places) == 1 else -1
    sig = f"{'void' if places else result}({declare(params, named=False)})"
    arguments = ", ".join([name(a) for _, a in params] + [f"{family.name}_ops[{op.index}]"])
    return [declared + " {",
            f"  return TypedFunction<{sig}, {optional_tensors(params)}, {returned}>::call({arguments});", "}\n"]


def _is_public(op):
    return op.form != "function" or "function" in op.entry.forms or "method" in op.entry.forms


def declaration(op, family, public=False):
    """`public`: as a header has it, with defaults."""
    # Numbers, lists and strings have C++ of their own: their operators are for programs only.
    if not _is_public(op) or op.entry.kind == "scalar" or "boxed" in op.entry.get("kernel", {}):
        return None
    found = signature(op.schema)
    if found is None:
        return None
    params, result = found
    api = "SCONCE_API " if public else ""
    if op.form == "out" or takes_out(op.schema):
        outs = [p for p in params if p[1].written]
        first = ", ".join(f"const Tensor& {name(a)}" for _, a in outs)
        tail = declare([p for p in params if not p[1].written], defaults=public)
        returns = "const Tensor&" if len(outs) == 1 else "void"
        return f"{api}{returns} {cpp.identifier(op.schema.name)}_out({first}{', ' + tail if tail else ''})"
    return (f"{api}{returned(op, result)} {cpp.function_name(op.schema.name)}"
            f"({declare(params, defaults=public, required=required(op, params, family))})")


def returned(op, result):
    """What the function returns: the tensor that it wrote, where it is one."""
    places = written(op.schema)
    if not places:
        return result
    return "const Tensor&" if len(places) == 1 else "void"


def required(op, params, family):
    """How many parameters need an argument, so that no call fits an overload before this one, or an exact one, too."""
    needed = first_default(params)
    others = _overloads(op, family)
    for count in range(needed, len(params) + 1):
        types = [t for t, _ in params[:count]]
        for theirs, before in others:
            exact = len(theirs) == count and first_default(theirs) == count
            fits = first_default(theirs) <= count <= len(theirs)
            if fits and (before or exact) and [t for t, _ in theirs[:count]] == types:
                needed = min(count + 1, len(params))
    return needed


def _overloads(op, family):
    """(parameters, whether it stands before `op`) of every other function of the same name."""
    found, before = [], True
    for other in family.operators:
        if other is op:
            before = False
        elif other.form == op.form and other.schema.name == op.schema.name \
                and takes_out(other.schema) == takes_out(op.schema) and _is_public(other):
            theirs = signature(other.schema)
            if theirs is not None:
                found.append((theirs[0], before))
    return found
