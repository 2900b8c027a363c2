"""Translates the reductions of the table to C++ vector loops, in the expression language of expression.py.

    ["sum"]                                            one accumulator, called acc
    kind     = "reduce"
    map      = "self"                                  what an element contributes
    combine  = "a + b"                                 of two partial results
    identity = "0"                                     the result for no elements
    finish   = "acc / n"                               (default "acc") the result; n: number of elements

Several accumulators have names and are computed one after the other over a leaf of 4096 elements: the map of a later
one may use the earlier ones (of this leaf) and n (the leaf's elements). `merge` says how partial results of two leaves
become one where combining each accumulator by itself is not enough: a_x and b_x are the accumulators of both sides, x
one that is already merged, a_n and b_n the numbers of elements.

    map      = { mean = "self", m2 = "d = self - mean / n; d * d" }
    combine  = { mean = "a + b", m2 = "a + b" }
    identity = { mean = "0", m2 = "0" }
    merge.m2 = "..."

Each of these keys may differ by class: `identity.float = "-inf"`, or `identity.x = { float = "-inf", int = "0" }`.
A `finish` that is a list gives several results. Number arguments of the schema are names in every expression; an absent
optional one has the value that `absent.<argument>` says.
"""

import re
from dataclasses import dataclass

from .. import cpp
from .expression import Translator, identifier
from .functions import CLASSES, COMPUTE_ORDER, LEVELS, at_level
from .pointwise import PointwiseOp

# compute type of a class, its vector, and the wide type that partial results are kept in
_COMPUTE = {"float": (("f32", "f64"), ("f64", "f64")), "int": (("i64",), ("i64",)), "bool": (("u8",), ("u8",)),
            "complex": (("c128",), ("c128",))}


@dataclass
class ReduceOp:
    """One set of loops."""

    name: str
    origin: str
    title: str
    accumulators: list  # names, in order
    map: dict  # name -> {class or 'default': expression}
    combine: dict
    identity: dict
    merge: dict
    finish: list  # of {class or 'default': expression}
    params: list
    types: tuple

    def signature(self):
        return repr((self.accumulators, self.map, self.combine, self.identity, self.merge, self.finish, self.params,
                     self.types))

    @property
    def counted(self):
        return any(_mentions(t, "a_n") or _mentions(t, "b_n") for by in self.merge.values() for t in by.values())


def _mentions(text, name):
    return re.search(rf"\b{name}\b", text) is not None


def _pick(by_class, cls):
    return by_class.get(cls, by_class.get("default"))


def _function(op, cls, compute, expression, names):
    """Lines of a function body that declares the `names` {name: C++ value} it mentions and returns the expression."""
    if expression is None:
        raise ValueError(f"{op.origin}: {op.title}: no expression for {cls}")
    used = {n: v for n, v in names.items() if _mentions(expression, n)}
    pointwise = PointwiseOp(op.name, op.origin, [(n, "common") for n in names], [], expression, {}, (cls,),
                            title=op.title)
    t = Translator(pointwise, cls, compute, scalar=cls == "complex")
    result = t.translate()
    vector = "Z" if cls == "complex" else compute.upper()
    lines = [f"const {vector} {identifier(n)} = {v};" for n, v in used.items()]
    value = f"Z({t.value(result)})" if cls == "complex" else t.value(result)
    return lines + t.hoisted + t.lines + [f"return {value};"]


_UNUSED = "[[maybe_unused]] "


def _struct(op, cls, compute, wide):
    """The struct of functions that reduction_loop.h makes kernels of. V: vectors of a leaf; W: partial results."""
    v, w = (("Z", "Z") if cls == "complex" else (compute.upper(), wide.upper()))
    out = [f"// {op.origin}: {op.title}", f"struct {op.name}_{compute} {{"]
    if cls == "complex":
        out.append("  using Z = C128;")
    out += [f"  using V = {v};", f"  using W = {w};",
            f"  static constexpr int accumulators = {len(op.accumulators)}, params = {len(op.params)}, "
            f"results = {len(op.finish)};",
            f"  static constexpr bool counted = {'true' if op.counted else 'false'};"]
    out += _leaf_functions(op, cls, compute)
    out += _merge(op, cls, wide)
    known = {**{a: f"acc_[{j}]" for j, a in enumerate(op.accumulators)}, "n": "count_", **_params(op)}
    out += _switch(f"W finish(const W* acc_, {_UNUSED}W count_, {_UNUSED}const W* p_)", "r",
                   [_function(op, cls, wide, _pick(f, cls), known) for f in op.finish])
    return out + ["};\n"]


def _params(op):
    return {n: f"p_[{i}]" for i, n in enumerate(op.params)}


def _switch(signature, index, bodies):
    """A function with one body for each value of a template parameter."""
    long = any(_mentions(line, "pow") for body in bodies for line in body)
    out = [f"  template <int {index}>", f"  {'SCONCE_LONG_OP' if long else 'SCONCE_OP'} {signature} {{"]
    for i, body in enumerate(bodies):
        if len(bodies) == 1:
            out += ["    " + line for line in body]
        else:
            out += [f"    if constexpr ({index} == {i}) {{"] + ["      " + line for line in body] + ["    }"]
    return out + ["  }"]


def _leaf_functions(op, cls, compute):
    """identity, map and combine, of each accumulator."""
    names = op.accumulators
    out = _switch("V identity()", "k", [_function(op, cls, compute, _pick(op.identity[a], cls), {}) for a in names])
    maps = []
    for i, a in enumerate(names):
        known = {"self": "x_", "n": "count_", **{b: f"acc_[{j}]" for j, b in enumerate(names[:i])}, **_params(op)}
        maps.append(_function(op, cls, compute, _pick(op.map[a], cls), known))
    out += _switch(f"V map(V x_, {_UNUSED}const V* acc_, {_UNUSED}V count_, {_UNUSED}const V* p_)", "k", maps)
    return out + _switch("V combine(V x_, V y_)", "k", [
        _function(op, cls, compute, _pick(op.combine[a], cls), {"a": "x_", "b": "y_"}) for a in names])


def _merge(op, cls, wide):
    """Partial results of two leaves to one: an accumulator without `merge` is combined."""
    names = op.accumulators
    sides = {**{f"a_{b}": f"x_[{j}]" for j, b in enumerate(names)}, **{f"b_{b}": f"y_[{j}]" for j, b in enumerate(names)},
             "a_n": f"x_[{len(names)}]", "b_n": f"y_[{len(names)}]"}
    out = [f"  SCONCE_OP void merge(W* x_, const W* y_, {_UNUSED}const W* p_) {{", "    W r_[accumulators];"]
    for i, a in enumerate(names):
        if a in op.merge:
            known = {**sides, **{b: f"r_[{j}]" for j, b in enumerate(names[:i])}, **_params(op)}
            body = _function(op, cls, wide, _pick(op.merge[a], cls), known)
        else:
            body = _function(op, cls, wide, _pick(op.combine[a], cls), {"a": f"x_[{i}]", "b": f"y_[{i}]"})
        out.append("    {")
        out += ["      " + line for line in body[:-1]]
        out += ["      " + body[-1].replace("return ", f"r_[{i}] = ", 1), "    }"]
    return out + ["    for (int k = 0; k < accumulators; ++k) x_[k] = r_[k];", "  }"]


def _kernels(op):
    """(class, compute, wide) for every loop."""
    for cls in CLASSES:
        if cls in op.types:
            yield from ((cls, c, w) for c, w in zip(*_COMPUTE[cls]))


_NOTICE = "// Generated from ops/{family}.toml by opgen/loops/reductions.py.\n"


def source(family, ops):
    real, complex_ = [], []
    for op in ops:
        for cls, compute, wide in _kernels(op):
            lines = ["namespace {"] + _struct(op, cls, compute, wide) + ["}  // namespace"]
            name = f"{op.name}_{compute}"
            lines.append(f"extern const ReduceKernels reduce_{name} = SCONCE_REDUCE_KERNELS({name});\n")
            (complex_ if cls == "complex" else real).extend(lines)
    out = [_NOTICE.format(family=family), '#include "sconce/kernels/cpu/simd/reduction_loop.h"\n',
           "namespace sconce::SCONCE_ISA_NAMESPACE {\n", *real]
    if complex_:
        out += ["#if SCONCE_ISA == 2  // element by element: no level is faster\n", *complex_, "#endif"]
    out.append("}  // namespace sconce::SCONCE_ISA_NAMESPACE\n")
    return "\n".join(out)


def registry_source(family, ops):
    declared = {level: [] for level in LEVELS}
    tables = []
    for op in ops:
        have = {compute: cls for cls, compute, _ in _kernels(op)}
        rows = []
        for level in LEVELS:
            row = []
            for compute in COMPUTE_ORDER:
                if compute not in have:
                    row.append("nullptr")
                    continue
                owner = "v2" if have[compute] == "complex" else level
                row.append(f"&{owner}::reduce_{op.name}_{compute}")
                if owner == level:
                    declared[level].append(f"reduce_{op.name}_{compute}")
            rows.append(at_level(level, "{" + ", ".join(row) + "},"))
        states = len(op.accumulators) + op.counted
        tables += [f"// {op.origin}", f"const ReduceLoops reduce_{op.name} = {{",
                   f"    {cpp.string(op.title.split('.')[0])}, {states}, {len(op.finish)}, {len(op.params)}, false, 0,",
                   "    {", *rows, "    },", "};", ""]
    out = [_NOTICE.format(family=family), f'#include "sconce/generated/{family}_reductions_list.h"\n',
           "namespace sconce {\n"]
    for level in LEVELS:
        if declared[level]:
            out += [f"namespace {level} {{", *[f"extern const ReduceKernels {n};" for n in declared[level]],
                    f"}}  // namespace {level}\n"]
    return "\n".join(out + ["namespace cpu {\n", *tables, "}  // namespace cpu", "}  // namespace sconce", ""])


def selected_table(op, selection, declared):
    """The table with the kernels of a selection; `declared` gets declarations of kernels, by level. Sums of small integers
    run in int64, those of complex numbers in complex128."""
    have = {compute: cls for cls, compute, _ in _kernels(op)}
    kept = selection.computes(have)
    rows = []
    for level in LEVELS:
        row = []
        for compute in COMPUTE_ORDER:
            if compute not in kept:
                row.append("nullptr")
                continue
            owner = "v2" if have[compute] == "complex" else selection.level_for(level)
            declared.setdefault(owner, {})[f"extern const ReduceKernels reduce_{op.name}_{compute};"] = None
            row.append(f"&{owner}::reduce_{op.name}_{compute}")
        rows.append(at_level(level, "{" + ", ".join(row) + "},").strip())
    states = len(op.accumulators) + op.counted
    name = f"reduce_{op.name}"
    return [f"constexpr char name_of_{name}[] = {cpp.string(op.title.split('.')[0])};", f"extern const ReduceLoops {name};",
            f"const ReduceLoops {name} = {{name_of_{name}, {states}, {len(op.finish)}, {len(op.params)}, "
            f"false, 0, {{{' '.join(rows)}}}}};"]


def header(family, ops):
    lines = [_NOTICE.format(family=family) + "#pragma once\n", '#include "sconce/kernels/cpu/engine/reduce_loop.h"\n',
             "namespace sconce::cpu {\n"]
    lines += [f"extern const ReduceLoops reduce_{op.name};" for op in ops]
    return "\n".join(lines + ["", "}  // namespace sconce::cpu", ""])
