"""Pointwise operators: a scalar expression, or one for each case; the loops are written by loops/pointwise.py."""

import re

from .. import cpp, limited
from ..loops.pointwise import PointwiseOp
from ..signature import name
from ..translation import checks, expression

_NUMBERS = ("Scalar", "float", "int", "bool")
_RULES = {"promote": "promote", "float": "floating", "wide": "wide", "self": "self"}  # enum class DTypeRule


def cases_of(entry):
    """The columns of each case, over those of the entry; the entry itself where it has no cases."""
    cases = entry.get("case")
    for case in cases or ():
        if "when" not in case:
            entry.fail("a case needs 'when'", "case")
    return [{**entry.data, **case} for case in cases] if cases else [entry.data]


def loops_of(entry):
    """PointwiseOp of an entry: one, or one per case."""
    numbered = bool(entry.get("case"))
    return [_loop(entry, data, f"_{number}" if numbered else "") for number, data in enumerate(cases_of(entry))]


def _loop(entry, data, suffix):
    text = data.get("scalar")
    if text is None:
        entry.fail("a case needs 'scalar'", "case")
    by_class = {"default": text} if isinstance(text, str) else text
    texts = " ".join(by_class.values())
    masks = data.get("masks", [])
    # An optional tensor is an operand of the cases that read it.
    inputs = [(a.name, "bool" if a.name in masks else "common") for a in entry.schema.arguments
              if a.type == "Tensor" or (a.type == "Tensor?" and _mentions(texts, a.name))]
    params = [a.name for a in entry.schema.arguments if a.type.rstrip("?") in _NUMBERS
              and (_mentions(texts, a.name) or a.name in data.get("promote", []))]
    every = "float" if data.get("dtype") in ("float", "wide") else "bool int float complex"
    return PointwiseOp(name=entry.cpp_name + suffix, origin=entry.origin, inputs=inputs, params=params,
                       expr=by_class.get("default", ""), overrides={k: v for k, v in by_class.items() if k != "default"},
                       types=tuple(data.get("types", every).split()), result=data.get("result", "common"), title=entry.key)


def _mentions(text, word):
    return re.search(rf"\b{word}\b", text) is not None


def body(op, params, written, family):
    entry = op.entry
    out = checks(entry, family.schemas)
    numbered = bool(entry.get("case"))
    for data, loop in zip(cases_of(entry), loops_of(entry)):
        if not numbered:
            return out + _call(op, data, loop, params, written, family, "  ")
        out.append(f"  if ({expression(entry, 'case', data['when'], family.schemas)}) {{")
        out += _call(op, data, loop, params, written, family, "    ")
        if op.form != "function":
            out.append("    return;")
        out.append("  }")
    given = [name(a) for _, a in params if a.type in ("str", "str?")]
    shown = ": " + " and ".join("'{}'" for _ in given) if given else ""
    values = "".join(f", body::shown({g})" for g in given)
    return out + [f'  fail("no rule for these arguments{shown}"{values});']


def _call(op, data, loop, params, written, family, indent):
    """Hands the operands and the rule to the engine."""
    tensors = ", ".join("&" + cpp.identifier(n) for n, _ in loop.inputs)
    out = [f"static constexpr PointwiseRule rule{{{_rule(op.entry, data, loop)}}};", f"const Tensor* in[] = {{{tensors}}};"]
    if loop.params:
        out.append(f"const Scalar numbers[] = {{{', '.join(_number(op.entry, n, family) for n in loop.params)}}};")
    arguments = f"rule, in, {'numbers' if loop.params else 'nullptr'}"
    if op.form == "function":
        out.append(f"return pointwise({arguments});")
    elif op.form == "inplace":
        out.append(f"pointwise_inplace({arguments});")
    else:
        out.append(f"pointwise_out({arguments}, {name(params[written[0]][1])});")
    return [indent + line for line in out]


def _rule(entry, data, loop):
    """The members of a PointwiseRule: the loops, the dtype rule, and which operands and numbers take part in it."""
    promote = data.get("promote", [n for n, kind in loop.inputs if kind == "common"])
    bits = lambda names, wanted: sum(1 << i for i, n in enumerate(names) if n in wanted)
    return (f"&cpu::loops_{loop.name}, DTypeRule::{dtype_rule(entry, data)}, {bits([n for n, _ in loop.inputs], promote)}, "
            f"{bits(loop.params, promote)}, {bits(loop.params, data.get('integral', []))}, {limited.accepted(entry, data)}")


def dtype_rule(entry, data):
    """The name in enum class DTypeRule."""
    rule = _RULES.get(data.get("dtype", "promote"))
    if rule is None:
        entry.fail(f"unknown dtype rule '{data.get('dtype')}', expected promote, float, wide or self", "dtype")
    return rule


def _number(entry, argument, family):
    """A number argument as a Scalar. `absent` says what an optional one is where it is None; without it, the loop that was
    chosen does not read it."""
    a = entry.schema.argument(argument)
    if argument in entry.get("absent", {}):
        absent = expression(entry, "absent", entry.data["absent"][argument], family.schemas)
        return f"{name(a)}.has_value() ? Scalar(*{name(a)}) : Scalar({absent})"
    if a.type.endswith("?"):
        return f"{name(a)}.has_value() ? Scalar(*{name(a)}) : Scalar()"
    return name(a) if a.type == "Scalar" else f"Scalar({name(a)})"
