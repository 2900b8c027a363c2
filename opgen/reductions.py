"""Translates the reductions of the table to C++ vector loops, in the expression language of loops.py.

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

    dtype    self (default), sum (integers add up in int64), float (floats only), promote (integers compute in the
             default float dtype), bool. A `dtype` argument of the schema that is given replaces it.
    result   common (default), bool, int64, real; a list for several results
    types    classes with loops: "int float complex" (default); bools run as integers where no bool loop is
    empty    "error": reducing no elements is one
    dims     "none": an empty list of dims reduces nothing (default: everything)
    loops    "argmax": hand-written loops, sconce::cpu::reduce_argmax, instead of expressions
    case     as for pointwise operators

Arguments `dim`, `keepdim` and `dtype` of the schema have their usual meaning.
"""

import re
from dataclasses import dataclass

from . import cpp, loops, script

# compute type of a class, its vector, and the wide type that partial results are kept in
_COMPUTE = {"float": (("f32", "f64"), ("f64", "f64")), "int": (("i64",), ("i64",)), "bool": (("u8",), ("u8",)),
            "complex": (("c128",), ("c128",))}
LEVELS = loops.LEVELS
_ORDER = loops.COMPUTE_ORDER
_NUMBERS = ("Scalar", "float", "int", "bool")
_SPECIAL = ("dim", "keepdim", "dtype")


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

    def texts(self):
        found = []
        for table in (self.map, self.combine, self.identity, self.merge):
            for by_class in table.values():
                found += by_class.values()
        for by_class in self.finish:
            found += by_class.values()
        return found

    @property
    def counted(self):
        return any(_mentions(t, "a_n") or _mentions(t, "b_n") for by in self.merge.values() for t in by.values())


def _mentions(text, name):
    return re.search(rf"\b{name}\b", text) is not None


def _by_class(value):
    return {"default": value} if isinstance(value, str) else dict(value)


def _is_classes(value):
    return all(k in loops.CLASSES or k == "default" for k in value)


def _table(entry, data, key, names):
    """accumulator -> class -> expression"""
    value = data.get(key)
    if value is None:
        if key == "merge":
            return {}
        entry.fail(f"a reduction needs '{key}'", key)
    if isinstance(value, str) or _is_classes(value):
        if len(names) != 1:
            entry.fail(f"'{key}' must name the accumulators {', '.join(names)}", key)
        return {names[0]: _by_class(value)}
    for name in value:
        if name not in names:
            entry.fail(f"'{key}' names '{name}', which is no accumulator", key)
    if key != "merge" and set(value) != set(names):
        entry.fail(f"'{key}' needs every accumulator: {', '.join(names)}", key)
    return {name: _by_class(v) for name, v in value.items()}


def _cases(entry):
    return entry.get("case") or [{}]


_names = {}  # (family, signature) and (entry key, case) -> name of the loops


def loops_of(entry):
    """The loops of an entry that no entry before it has."""
    result = []
    for number, case in enumerate(_cases(entry)):
        data = {**entry.data, **case}
        if entry.get("case") and "when" not in case:
            entry.fail("a case needs 'when'", "case")
        if "loops" in data:
            _names[entry.key, number] = data["loops"]
            continue
        value = data.get("map")
        if value is None:
            entry.fail("a reduction needs 'map' or 'loops'", "map")
        accumulators = ["acc"] if isinstance(value, str) or _is_classes(value) else list(value)
        if len(accumulators) > 3:
            entry.fail("at most 3 accumulators", "map")
        finish = data.get("finish", accumulators[0])
        finish = finish if isinstance(finish, list) else [finish]
        op = ReduceOp(entry.cpp_name + (f"_{number}" if entry.get("case") else ""), entry.origin, entry.key, accumulators,
                      _table(entry, data, "map", accumulators), _table(entry, data, "combine", accumulators),
                      _table(entry, data, "identity", accumulators), _table(entry, data, "merge", accumulators),
                      [_by_class(f) for f in finish], [], tuple(data.get("types", "int float complex").split()))
        texts = " ".join(op.texts())
        op.params = [a.name for a in entry.schema.arguments
                     if a.type.rstrip("?") in _NUMBERS and a.name not in _SPECIAL and _mentions(texts, a.name)]
        key = (entry.family, op.signature())
        if key not in _names:
            _names[key] = op.name
            result.append(op)
        _names[entry.key, number] = _names[key]
    return result


# Vector loops --------------------------------------------------------------------------------------------------------


def _pick(by_class, cls):
    return by_class.get(cls, by_class.get("default"))


def _function(op, cls, compute, expression, names):
    """Lines of a function body that declares the `names` {name: C++ value} it mentions and returns the expression."""
    if expression is None:
        raise ValueError(f"{op.origin}: {op.title}: no expression for {cls}")
    used = {n: v for n, v in names.items() if _mentions(expression, n)}
    pointwise = loops.PointwiseOp(op.name, op.origin, [(n, "common") for n in names], [], expression, {}, (cls,),
                                  title=op.title)
    t = loops._Translator(pointwise, cls, compute, scalar=cls == "complex")
    result = t.translate()
    vector = "Z" if cls == "complex" else compute.upper()
    lines = [f"const {vector} {loops._identifier(n)} = {v};" for n, v in used.items()]
    value = f"Z({t.value(result)})" if cls == "complex" else t.value(result)
    return lines + t.hoisted + t.lines + [f"return {value};"]


def _struct(op, cls, compute, wide):
    v, w = (("Z", "Z") if cls == "complex" else (compute.upper(), wide.upper()))
    params = {n: f"p_[{i}]" for i, n in enumerate(op.params)}
    out = [f"// {op.origin}: {op.title}", f"struct {op.name}_{compute} {{"]
    if cls == "complex":
        out.append("  using Z = C128;")
    out += [f"  using V = {v};", f"  using W = {w};",
            f"  static constexpr int accumulators = {len(op.accumulators)}, params = {len(op.params)}, "
            f"results = {len(op.finish)};",
            f"  static constexpr bool counted = {'true' if op.counted else 'false'};"]

    def switch(signature, index, bodies):
        out.append(f"  template <int {index}>")
        out.append(f"  SCONCE_OP {signature} {{")
        for i, body in enumerate(bodies):
            if len(bodies) == 1:
                out.extend("    " + line for line in body)
            else:
                out.append(f"    if constexpr ({index} == {i}) {{")
                out.extend("      " + line for line in body)
                out.append("    }")
        out.append("  }")

    names = op.accumulators
    switch("V identity()", "k", [_function(op, cls, compute, _pick(op.identity[a], cls), {}) for a in names])
    maps = []
    for i, a in enumerate(names):
        known = {"self": "x_", "n": "count_", **{b: f"acc_[{j}]" for j, b in enumerate(names[:i])}, **params}
        maps.append(_function(op, cls, compute, _pick(op.map[a], cls), known))
    unused = "[[maybe_unused]] "
    switch(f"V map(V x_, {unused}const V* acc_, {unused}V count_, {unused}const V* p_)", "k", maps)
    switch("V combine(V x_, V y_)", "k",
           [_function(op, cls, compute, _pick(op.combine[a], cls), {"a": "x_", "b": "y_"}) for a in names])
    out.append(f"  SCONCE_OP void merge(W* x_, const W* y_, {unused}const W* p_) {{")
    out.append("    W r_[accumulators];")
    for i, a in enumerate(names):
        if a in op.merge:
            known = {**{f"a_{b}": f"x_[{j}]" for j, b in enumerate(names)},
                     **{f"b_{b}": f"y_[{j}]" for j, b in enumerate(names)},
                     "a_n": f"x_[{len(names)}]", "b_n": f"y_[{len(names)}]",
                     **{b: f"r_[{j}]" for j, b in enumerate(names[:i])}, **params}
            body = _function(op, cls, wide, _pick(op.merge[a], cls), known)
        else:
            body = _function(op, cls, wide, _pick(op.combine[a], cls), {"a": f"x_[{i}]", "b": f"y_[{i}]"})
        out.append("    {")
        out += ["      " + line for line in body[:-1]]
        out.append("      " + body[-1].replace("return ", f"r_[{i}] = ", 1))
        out.append("    }")
    out.append("    for (int k = 0; k < accumulators; ++k) x_[k] = r_[k];")
    out.append("  }")
    known = {**{a: f"acc_[{j}]" for j, a in enumerate(names)}, "n": "count_", **params}
    switch(f"W finish(const W* acc_, {unused}W count_, {unused}const W* p_)", "r",
           [_function(op, cls, wide, _pick(f, cls), known) for f in op.finish])
    out.append("};\n")
    return out


def _kernels(op):
    """(class, compute, wide) for every loop."""
    for cls in loops.CLASSES:
        if cls in op.types:
            yield from ((cls, c, w) for c, w in zip(*_COMPUTE[cls]))


_NOTICE = "// Generated from ops/{family}.toml by opgen/reductions.py.\n"


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
            for compute in _ORDER:
                if compute not in have:
                    row.append("nullptr")
                    continue
                owner = "v2" if have[compute] == "complex" else level
                row.append(f"&{owner}::reduce_{op.name}_{compute}")
                if owner == level:
                    declared[level].append(f"reduce_{op.name}_{compute}")
            rows.append("        {" + ", ".join(row) + "},")
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


def header(family, ops):
    lines = [_NOTICE.format(family=family) + "#pragma once\n", '#include "sconce/kernels/cpu/engine/reduce_loop.h"\n',
             "namespace sconce::cpu {\n"]
    lines += [f"extern const ReduceLoops reduce_{op.name};" for op in ops]
    return "\n".join(lines + ["", "}  // namespace sconce::cpu", ""])


# Glue ----------------------------------------------------------------------------------------------------------------

_DTYPES = {"self": "self", "sum": "sum", "float": "floating", "promote": "promoted", "bool": "predicate"}
_RESULTS = {"common": "common", "bool": "predicate", "int64": "index", "real": "real"}


def _axes(entry):
    dim, keepdim = entry.schema.argument("dim"), entry.schema.argument("keepdim")
    keep = "keepdim" if keepdim is not None else "false"
    if dim is None:
        return f"{{IntList(), false, {keep}}}"
    if dim.type == "int":
        return f"{{IntList(&dim, 1), true, {keep}}}"
    if dim.type == "int?":
        return f"{{dim ? IntList(&*dim, 1) : IntList(), dim.has_value(), {keep}}}"
    if dim.type.endswith("?"):
        return f"{{dim.value_or(IntList()), dim.has_value(), {keep}}}"
    return f"{{dim, true, {keep}}}"


def _number(entry, data, name):
    a = entry.schema.argument(name)
    c = cpp.identifier(name)
    if a.type.endswith("?"):
        absent = data.get("absent", {}).get(name)
        if absent is None:
            entry.fail(f"'{name}' may be None: absent.{name} must say what it is then", "map")
        return f"{c}.has_value() ? Scalar(*{c}) : Scalar({absent})"
    return c if a.type == "Scalar" else f"Scalar({c})"


def glue(op, params, written, family):
    entry = op.entry
    out = []
    cases = entry.get("case")
    count = len(entry.schema.returns)
    for number, case in enumerate(_cases(entry)):
        data = {**entry.data, **case}
        indent = "  "
        if cases:
            condition = family._script(entry, "case", lambda: script.translate_expression(
                case["when"], entry.schema.arguments, family.schemas)[0])
            out.append(f"  if ({condition}) {{")
            indent = "    "
        rule, results = data.get("dtype", "self"), data.get("result", "common")
        if rule not in _DTYPES:
            entry.fail(f"unknown dtype rule '{rule}', expected one of {', '.join(_DTYPES)}", "dtype")
        results = results if isinstance(results, list) else [results] * count
        for r in results:
            if r not in _RESULTS:
                entry.fail(f"unknown result '{r}', expected one of {', '.join(_RESULTS)}", "result")
        if len(results) != count:
            entry.fail(f"{count} results, 'result' has {len(results)}", "result")
        listed = ", ".join(f"ReduceResult::{_RESULTS[r]}" for r in results)
        flags = ["true" if data.get("empty") == "error" else "false", "true" if data.get("dims") == "none" else "false"]
        name = _names[entry.key, number]
        out.append(f"{indent}static constexpr ReduceRule rule{{&cpu::reduce_{name}, {cpp.string(entry.schema.name)}, "
                   f"ReduceDType::{_DTYPES[rule]}, {{{listed}}}, {', '.join(flags)}}};")
        numbers = "nullptr"
        texts = " ".join(_texts(data))
        names = [a.name for a in entry.schema.arguments
                 if a.type.rstrip("?") in _NUMBERS and a.name not in _SPECIAL and _mentions(texts, a.name)]
        if names:
            out.append(f"{indent}const Scalar numbers[] = {{{', '.join(_number(entry, data, n) for n in names)}}};")
            numbers = "numbers"
        dtype = "std::nullopt"
        if entry.schema.argument("dtype") is not None:
            dtype = "dtype"
        tensor = cpp.identifier(entry.schema.arguments[0].name)
        arguments = f"rule, {tensor}, {_axes(entry)}, {dtype}, {numbers}"
        if op.form == "function":
            out.append(f"{indent}return {'reduce' if count == 1 else 'reduce_pair'}({arguments});")
        else:
            given = [cpp.identifier(params[i][1].name) for i in written]
            out.append(f"{indent}const Tensor* const outs[] = {{{', '.join('&' + g for g in given)}}};")
            out.append(f"{indent}reduce_out({arguments}, outs);")
            if cases:
                out.append(f"{indent}return;")
        if cases:
            out.append("  }")
    if cases:
        out.append('  fail("no rule for these arguments");')
    return out


def _texts(data):
    for key in ("map", "combine", "identity", "merge", "finish"):
        stack = [data.get(key)]
        while stack:
            value = stack.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, dict):
                stack += value.values()
            elif isinstance(value, list):
                stack += value

