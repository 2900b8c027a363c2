"""Vector loops of pointwise operators.

    pointwise_source(family, ops)           the loops of one family: compiled once per instruction set level
    pointwise_registry_source(family, ops)  sconce::cpu::loops_<name>, the PointwiseLoops of each: compiled once
    pointwise_header(family, ops)           declares them, as "sconce/generated/<family>_loops_list.h"
"""

import ast
import re
from dataclasses import dataclass, field

from .expression import Translator, identifier
from .functions import CLASSES, COMPUTE_ORDER, COMPUTE_TYPES, HEADERS, LEVELS, VECTOR_COMPLEX, at_level

MAX_INPUTS, MAX_PARAMS = 6, 8  # kMaxLoopInputs, kMaxLoopParams


@dataclass
class PointwiseOp:
    """One operator. `expr` serves every class in `types` that has no entry of its own in `overrides`."""

    name: str  # a C identifier: add_Tensor
    origin: str  # where it is written: ops/arithmetic.toml:12
    inputs: list  # of (name, 'common' | 'bool'); bool is a mask, whatever the common dtype is
    params: list = field(default_factory=list)  # names of number arguments
    expr: str = ""
    overrides: dict = field(default_factory=dict)  # class -> expression
    types: tuple = ("float",)  # which of CLASSES
    result: str = "common"  # 'common' | 'bool' | 'real' (of a complex number)
    title: str = ""  # for messages: add.Tensor

    def expression(self, cls):
        return self.overrides.get(cls, self.expr)


def _is_vector_complex(source):
    nodes = list(ast.walk(ast.parse(source.strip())))
    calls = {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return calls <= VECTOR_COMPLEX and not any(isinstance(n, (ast.Pow, ast.FloorDiv, ast.Mod)) for n in nodes)


@dataclass
class _CompiledLoop:
    function: str  # add_Tensor_f32
    text: str
    heavy: bool
    translator: Translator


def _real_loop(op, cls, compute):
    t = Translator(op, cls, compute)
    result = t.translate()
    vector = compute.upper()
    element = {"f32": "float", "f64": "double", "i32": "int32_t", "i64": "int64_t"}.get(compute)
    lines = []
    for i, name in enumerate(op.params):
        if cls == "float":
            number = f"static_cast<float>(params[{i}].real)" if compute == "f32" else f"params[{i}].real"
        elif cls == "int":
            number = f"static_cast<{element}>(params[{i}].integer)"
        else:
            number = f"params[{i}].real != 0"
        lines.append(f"  const {vector} {identifier(name)} = splat<{vector}>({number});")
    if t.narrows:
        lines.append(f"  const int64_t narrow_mode = params[{len(op.params)}].integer;")
    for i, (name, kind) in enumerate(op.inputs):
        lines.append(f"  Stream {identifier(name)}_in(in[{i}], step[{i}]);")
    lines += ["  " + line for line in t.hoisted]
    if t.heavy:
        lines.append("  for (int64_t n = groups * vectors_per_group; n > 0; --n) {")
    else:
        lines.append("  for (; groups > 0; --groups) SCONCE_EACH_VECTOR {")
    for name, kind in op.inputs:
        c_name = identifier(name)
        if kind == "bool":
            lines.append(f"    const Lane<{vector}>::Mask {c_name} = {c_name}_in.next_mask<{vector}>();")
        else:
            lines.append(f"    const {vector} {c_name} = {c_name}_in.next<{vector}>();")
    lines += ["    " + line for line in t.lines]
    if op.result == "bool" or cls == "bool":
        lines.append(f"    put_mask(out, {t.mask(result)});")
    else:
        lines.append(f"    put(out, {t.value(result)});")
    lines.append("  }")
    return t, lines


def _complex_loop(op, compute):
    scalar = not _is_vector_complex(op.expression("complex"))
    t = Translator(op, "complex", compute, scalar)
    result = t.translate()
    part = "float" if compute == "c64" else "double"
    vector = t.part()
    per_group = 8 if compute == "c64" else 4
    lines = [f"  using Z = Complex<{part if scalar else vector}>;"]
    for i, name in enumerate(op.params):
        parts = [f"static_cast<{part}>(params[{i}].{p})" for p in ("real", "imag")]
        if not scalar:
            parts = [f"splat<{vector}>({p})" for p in parts]
        lines.append(f"  const Z {identifier(name)}({', '.join(parts)});")
    for i, (name, kind) in enumerate(op.inputs):
        if scalar:
            lines.append(f"  ScalarStream {identifier(name)}_in(in[{i}], step[{i}], {per_group});")
        else:
            lines.append(f"  ComplexStream {identifier(name)}_in(in[{i}], step[{i}]);")
    lines += ["  " + line for line in t.hoisted]
    lines.append(f"  for (int64_t n = groups * {per_group if scalar else 'pairs_per_group'}; n > 0; --n) {{")
    for name, kind in op.inputs:
        c_name = identifier(name)
        if kind != "bool":
            lines.append(f"    const Z {c_name} = {c_name}_in.next<Z>();")
        elif scalar:
            lines.append(f"    const bool {c_name} = {c_name}_in.next<uint8_t>() != 0;")
        else:
            lines.append(f"    const Lane<{vector}>::Mask {c_name} = {c_name}_in.next_mask<{vector}>();")
    lines += ["    " + line for line in t.lines]
    if op.result == "bool":
        lines.append(f"    {'put_scalar<uint8_t>' if scalar else 'put_mask'}(out, {t.mask(result)});")
    elif op.result == "real":
        if result.kind != "real":
            t.fail("the result is complex, not real")
        lines.append(f"    put_scalar<{part}>(out, {result.text});" if scalar else f"    put(out, {result.text});")
    else:
        lines.append(f"    {'put_scalar<Z>' if scalar else 'put_complex'}(out, Z({t.value(result)}));")
    lines.append("  }")
    return t, lines


def _loop(op, cls, compute):
    t, lines = _complex_loop(op, compute) if cls == "complex" else _real_loop(op, cls, compute)
    # The expression of one class or case need not use every number.
    lines = lines[:1] * (cls == "complex") + [
        line for i, line in enumerate(lines[cls == "complex":])
        if i >= len(op.params) or re.search(rf"\b{identifier(op.params[i])}\b", "\n".join(lines[len(op.params):]))]
    function = f"{op.name}_{compute}"
    source = "; ".join(s.strip() for s in op.expression(cls).strip().splitlines() if s.strip())
    text = "\n".join([f"// {op.origin}: {op.title or op.name}: {source}",
                      f"void {function}(SCONCE_LOOP_ARGUMENTS) {{",
                      *lines, "}", ""])
    return _CompiledLoop(function, text, t.heavy, t)


def _check(op):
    def fail(message):
        raise ValueError(f"{op.origin}: {op.title or op.name}: {message}")

    if not op.name.isidentifier():
        fail(f"'{op.name}' is no C identifier")
    if not 0 < len(op.inputs) <= MAX_INPUTS:
        fail(f"a pointwise operator has 1 to {MAX_INPUTS} tensors, this one {len(op.inputs)}")
    if len(op.params) > MAX_PARAMS - 1:
        fail(f"at most {MAX_PARAMS - 1} numbers, got {len(op.params)}")
    names = [n for n, _ in op.inputs] + list(op.params)
    for name in names:
        if not name.isidentifier() or names.count(name) > 1:
            fail(f"'{name}' cannot be the name of an operand")
    for _, kind in op.inputs:
        if kind not in ("common", "bool"):
            fail(f"an operand is 'common' or 'bool', not '{kind}'")
    for cls in [*op.types, *op.overrides]:
        if cls not in CLASSES:
            fail(f"unknown class '{cls}': one of {', '.join(CLASSES)}")
    if not op.types:
        fail("types is empty")
    if op.result not in ("common", "bool", "real"):
        fail(f"unknown result '{op.result}'")


def compile_loops(op):
    """compute type -> _CompiledLoop for everything that the operator supports."""
    _check(op)
    loops = {}
    for cls in CLASSES:
        if cls not in op.types:
            continue
        for compute in COMPUTE_TYPES[cls]:
            try:
                loops[compute] = _loop(op, cls, compute)
            except ValueError:
                # Bools that the byte loop cannot compute (pow, say) go through int32.
                if cls != "bool" or "int" not in op.types or "bool" in op.overrides:
                    raise
    return loops


_NOTICE = "// Generated from ops/{family}.toml by opgen/loops/pointwise.py.\n"


def pointwise_source(family, ops):
    cheap, heavy, by_element = [], [], []
    special = False
    for op in ops:
        for compute, loop in compile_loops(op).items():
            special = special or loop.translator.special
            (by_element if loop.translator.by_element else heavy if loop.heavy else cheap).append(loop.text)
    includes = ['#include "sconce/kernels/cpu/simd/pointwise_loop.h"']
    if special:
        includes.append('#include "sconce/kernels/cpu/simd/math/special_vectors.h"')
    parts = [_NOTICE.format(family=family), "\n".join(includes) + "\n", "namespace sconce::SCONCE_ISA_NAMESPACE {\n", *heavy]
    if cheap:
        parts += ["#if SCONCE_ISA != 4  // without math, 64-byte vectors are no faster than 32-byte ones\n", *cheap,
                  "#endif\n"]
    if by_element:
        parts += ["#if SCONCE_ISA == 2  // element by element: no level is faster\n", *by_element, "#endif\n"]
    parts.append("}  // namespace sconce::SCONCE_ISA_NAMESPACE\n")
    text = "\n".join(parts[2:])
    for header in sorted({h for name, h in HEADERS.items() if f"{name}(" in text}):
        parts.insert(1, f'#include "sconce/kernels/cpu/simd/{header}"')
    return "\n".join(parts)


def _level_of(level, loop):
    if loop.translator.by_element:
        return "v2"
    return "v3" if level == "v4" and not loop.heavy else level


def pointwise_registry_source(family, ops):
    declarations = {level: [] for level in LEVELS}
    entries = []
    for op in ops:
        loops = compile_loops(op)
        rows = [at_level(level, "{" + ", ".join(_row(loops, level)) + "},") for level in LEVELS]
        for level in LEVELS:
            declarations[level] += [loops[c].function for c in COMPUTE_ORDER
                                    if c in loops and _level_of(level, loops[c]) == level]
        entries += [f"// {op.origin}", f"const PointwiseLoops loops_{op.name} = {{", f"    {_facts(op, loops)},",
                    "    {", *rows, "    },", "};", ""]
    parts = [_NOTICE.format(family=family), f'#include "sconce/generated/{family}_loops_list.h"\n',
             "namespace sconce {\n"]
    for level in LEVELS:
        if declarations[level]:
            parts.append(f"namespace {level} {{")
            parts += [f"void {f}(SCONCE_LOOP_ARGUMENTS);" for f in declarations[level]]
            parts.append(f"}}  // namespace {level}\n")
    parts += ["namespace cpu {\n", *entries, "}  // namespace cpu", "}  // namespace sconce", ""]
    return "\n".join(parts)


def selected_table(op, selection, declared):
    """The table with the loops of a selection; `declared` gets declarations of functions, by level."""
    loops = compile_loops(op)
    kept = selection.computes(loops)
    rows = []
    for level in LEVELS:
        row = []
        for c in COMPUTE_ORDER:
            if c not in kept:
                row.append("nullptr")
                continue
            owner = _level_of(selection.level_for(level), loops[c])
            declared.setdefault(owner, {})[f"void {loops[c].function}(SCONCE_LOOP_ARGUMENTS);"] = None
            row.append(f"{owner}::{loops[c].function}")
        rows.append(at_level(level, "{" + ", ".join(row) + "},").strip())
    name = f"loops_{op.name}"
    # The name is a variable: the linker drops one that nothing uses, while literals of a file stay together.
    title, _, facts = _facts(op, loops).partition(", ")
    return [f"constexpr char name_of_{name}[] = {title};", f"extern const PointwiseLoops {name};",
            f"const PointwiseLoops {name} = {{name_of_{name}, {facts}, {{{' '.join(rows)}}}}};"]


def _row(loops, level):
    """The loops of an instruction set level, by compute type."""
    return [f"{_level_of(level, loops[c])}::{loops[c].function}" if c in loops else "nullptr" for c in COMPUTE_ORDER]


def _facts(op, loops):
    """The members of PointwiseLoops before the loops."""
    translators = [loop.translator for loop in loops.values()]
    masks = divisor_inputs = divisor_params = 0
    for t in translators:
        divisor_inputs |= t.divisor_inputs
        divisor_params |= t.divisor_params
    for i, (_, kind) in enumerate(op.inputs):
        masks |= (kind == "bool") << i
    result = {"common": "common", "bool": "boolean", "real": "real"}[op.result]
    narrows = "true" if any(t.narrows for t in translators) else "false"
    heavy = "true" if any(t.heavy for t in translators) else "false"
    return (f"\"{op.title or op.name}\", {len(op.inputs)}, {len(op.params)}, LoopResult::{result}, "
            f"{masks}, {divisor_inputs}, {divisor_params}, {narrows}, {heavy}")


def pointwise_header(family, ops):
    lines = [_NOTICE.format(family=family) + "#pragma once\n", '#include "sconce/kernels/cpu/engine/loop.h"\n',
             "namespace sconce::cpu {\n"]
    lines += [f"extern const PointwiseLoops loops_{op.name};" for op in ops]
    return "\n".join(lines + ["", "}  // namespace sconce::cpu", ""])
