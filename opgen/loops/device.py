"""Device functions: the scalar expressions of pointwise operators and reductions as CUDA text, one function or struct a class.

The text is the element-by-element form of expression.py over a vocabulary that stands in sconce/kernels/cuda/text: V is the
compute type (Z beside it for complex numbers, P their parts), L(0.5) a literal of it. One text therefore serves every compute
type of its class: f32 and f64, i32 and i64, c64 and c128. What the host writes around a text says sconce/kernels/cuda/texts.h.

    pointwise   DEVICE R op(V self, V other, bool mask, V alpha, int narrow_mode) { return ...; }
    reduce      struct Op { identity<k>, map<k>, combine<k>, merge, finish<r> }, as simd/reduction_loop.h has them
"""

import ast

from .. import cpp
from .expression import Translator, identifier
from .functions import CLASSES
from .pointwise import PointwiseOp, compile_loops
from .reductions import _mentions, _pick

_COMPUTE = {"bool": "u8", "int": "i64", "float": "f32", "complex": "c64"}
# Files of special functions (sconce/kernels/cpu/special), and the bit of each in DeviceText::specials.
SPECIAL = {"gamma": 1, "incomplete_gamma": 2, "bessel": 4, "airy": 8, "orthogonal": 16, "draw_gradients": 32}
_FILE_OF = {"digamma": "gamma", "trigamma": "gamma", "factorial": "gamma", "zeta": "gamma", "igamma": "incomplete_gamma",
            "igammac": "incomplete_gamma", "standard_gamma_grad": "draw_gradients", "dirichlet_grad": "draw_gradients",
            "k0": "bessel", "k1": "bessel", "k0e": "bessel", "k1e": "bessel", "airy_ai": "airy"}


def _logistic_of(node):
    """x of 1 / (1 + exp(-x)); None of others."""
    match node:
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Div(),
                       right=ast.BinOp(left=ast.Constant(value=1), op=ast.Add(),
                                       right=ast.Call(func=ast.Name(id="exp"), args=[ast.UnaryOp(op=ast.USub(), operand=x)]))):
            return x
    return None


class _DeviceTranslator(Translator):
    """Element by element, with the compute type left open."""

    def __init__(self, op, cls):
        super().__init__(op, cls, _COMPUTE[cls], scalar=True)
        self.vector = "Z" if cls == "complex" else "V"
        self.files = set()
        self.knows_result = False  # narrow_mode is an argument

    def on_BinOp(self, node):
        inner = _logistic_of(node) if self.cls == "float" and self.knows_result else None
        return super().on_BinOp(node) if inner is None else self.logistic(self.expr(inner))

    def logistic(self, x):
        """1 / (1 + exp(-x)), as exact as the result's dtype needs it."""
        (x,), constant = self.join([x])
        return type(x)(f"logistic({self.value(x)}, narrow_mode)", "value", constant)

    def literal(self, number):
        text = super().literal(number)
        if self.cls not in ("float", "complex"):
            return "V(-9223372036854775807LL - 1)" if text == "INT64_MIN" else f"V({text}LL)" if abs(int(text)) >> 31 else text
        if "__builtin_nan" in text:
            return "V_NAN"
        return text.replace("__builtin_inff()", "V_INF") if "inf" in text else f"L({text.removesuffix('f')})"

    def call(self, name, args, nodes, constant):
        if name.endswith(("_t", "_u", "_v", "_w", "_h", "_he", "_l", "_p")) and "polynomial" in name:
            self.files.add("orthogonal")
        elif name in _FILE_OF:
            self.files.add(_FILE_OF[name])
        elif name == "sigmoid" and self.cls == "float" and self.knows_result:
            return self.logistic(args[0])
        result = super().call(name, args, nodes, constant)
        if isinstance(result.text, str) and result.text.startswith("each("):
            values = ", ".join(self.value(a) for a in args)
            result.text = f"V(special::{name}({values}))"
        return result


def _classes(op):
    """Classes that the operator's own loops exist for: bools that the byte loop cannot compute go through integers."""
    loops = compile_loops(op)
    return [cls for cls in CLASSES if _COMPUTE[cls] in loops]


def pointwise_text(op, cls):
    """(the function, bits of SPECIAL)"""
    t = _DeviceTranslator(op, cls)
    t.knows_result = True
    result = t.translate()
    vector = "Z" if cls == "complex" else "V"
    params = [f"{'bool' if kind == 'bool' else vector} {identifier(n)}" for n, kind in op.inputs]
    params += [f"{vector} {identifier(n)}" for n in op.params]
    if op.result == "bool" or cls == "bool":
        kind, value = "bool", t.mask(result)
    elif op.result == "real" and cls == "complex":
        kind, value = "P", result.text
    else:
        kind, value = vector, f"{vector}({t.value(result)})"
    lines = t.hoisted + t.lines + [f"return {value};"]
    text = f"DEVICE {kind} op({', '.join(params)}, int narrow_mode) {{ {' '.join(lines)} }}\n"
    return text, sum(SPECIAL[f] for f in t.files)


def _function(op, cls, expression, names):
    """Lines of a body that declares the `names` {name: value} it mentions and returns the expression; as a set: the files it
    needs."""
    if expression is None:
        raise ValueError(f"{op.origin}: {op.title}: no expression for {cls}")
    used = {n: v for n, v in names.items() if _mentions(expression, n)}
    scalar = PointwiseOp(op.name, op.origin, [(n, "common") for n in names], [], expression, {}, (cls,), title=op.title)
    t = _DeviceTranslator(scalar, cls)
    result = t.translate()
    vector = "Z" if cls == "complex" else "V"
    lines = [f"const {vector} {identifier(n)} = {v};" for n, v in used.items()]
    return lines + t.hoisted + t.lines + [f"return {vector}({t.value(result)});"]


def _switch(signature, index, bodies):
    """A function with one body for each value of a template parameter."""
    parts = " ".join(f"if constexpr ({index} == {i}) {{ {' '.join(body)} }}" for i, body in enumerate(bodies))
    return f"  template <int {index}> DEVICE static {signature} {{ {parts if len(bodies) > 1 else ' '.join(bodies[0])} }}"


def reduction_text(op, cls):
    """The struct of one class."""
    v = "Z" if cls == "complex" else "V"
    names = op.accumulators
    params = {n: f"p_[{i}]" for i, n in enumerate(op.params)}
    out = ["struct Op {", f"  static constexpr int accumulators = {len(names)}, results = {len(op.finish)};",
           f"  static constexpr bool counted = {'true' if op.counted else 'false'}, "
           f"plain = {'true' if len(names) == 1 and not op.merge else 'false'};"]
    out.append(_switch(f"{v} identity()", "k", [_function(op, cls, _pick(op.identity[a], cls), {}) for a in names]))
    maps = []
    for i, a in enumerate(names):
        known = {"self": "x_", "n": "count_", **{b: f"acc_[{j}]" for j, b in enumerate(names[:i])}, **params}
        maps.append(_function(op, cls, _pick(op.map[a], cls), known))
    out.append(_switch(f"{v} map({v} x_, const {v}* acc_, {v} count_, const {v}* p_)", "k", maps))
    out.append(_switch(f"{v} combine({v} x_, {v} y_)", "k",
                       [_function(op, cls, _pick(op.combine[a], cls), {"a": "x_", "b": "y_"}) for a in names]))
    sides = {**{f"a_{b}": f"x_[{j}]" for j, b in enumerate(names)}, **{f"b_{b}": f"y_[{j}]" for j, b in enumerate(names)},
             "a_n": "x_n", "b_n": "y_n"}
    merge = []
    for i, a in enumerate(names):
        if a in op.merge:
            known = {**sides, **{b: f"r_[{j}]" for j, b in enumerate(names[:i])}, **params}
            body = _function(op, cls, _pick(op.merge[a], cls), known)
        else:
            body = _function(op, cls, _pick(op.combine[a], cls), {"a": f"x_[{i}]", "b": f"y_[{i}]"})
        merge.append("{ " + " ".join(body[:-1] + [body[-1].replace("return ", f"r_[{i}] = ", 1)]) + " }")
    out.append(f"  DEVICE static void merge({v}* x_, {v} x_n, const {v}* y_, {v} y_n, const {v}* p_) {{ {v} r_[accumulators]; "
               + " ".join(merge) + " for (int k = 0; k < accumulators; ++k) x_[k] = r_[k]; }")
    known = {**{a: f"acc_[{j}]" for j, a in enumerate(names)}, "n": "count_", **params}
    out.append(_switch(f"{v} finish(const {v}* acc_, {v} count_, const {v}* p_)", "r",
                       [_function(op, cls, _pick(f, cls), known) for f in op.finish]))
    return "\n".join(out + ["};\n"])


_NOTICE = "// Generated from ops/{family}.toml by opgen/loops/device.py: texts that NVRTC compiles.\n"


def source(family, pointwise, reductions):
    """<family>_device.cpp: the texts in the order of the family's loops."""
    rows = []
    for op in pointwise:
        texts = {cls: pointwise_text(op, cls) for cls in _classes(op)}
        specials = 0
        for _, bits in texts.values():
            specials |= bits
        rows.append((op, [texts[cls][0] if cls in texts else None for cls in CLASSES], specials))
    pairs = [("pointwise", rows),
             ("reduce", [(op, [reduction_text(op, cls) if cls in op.types else None for cls in CLASSES], 0) for op in reductions])]
    out = [_NOTICE.format(family=family), '#include "sconce/kernels/cuda/texts.h"\n', "namespace sconce::cuda {\n"]
    for kind, listed in pairs:
        if not listed:
            continue
        out.append(f"extern const DeviceText {family}_{kind}_texts[{len(listed)}] = {{")
        for op, texts, specials in listed:
            shown = ",\n     ".join("nullptr" if t is None else _literal(t) for t in texts)
            out.append(f"    // {op.origin}: {op.title}\n    {{\"{op.name}\",\n    {{{shown}}}, {specials}}},")
        out.append("};\n")
    return "\n".join(out + ["}  // namespace sconce::cuda\n"])


def _literal(text):
    """A text of one line or several as C++ literals, one a line."""
    return "\n     ".join(cpp.string(line + "\n") for line in text.rstrip("\n").split("\n"))


# Hand-written loops (`loops = "argmax"`) that reductions share: their texts stand in sconce/kernels/cuda/text/arguments.cuh.
INDEX_LOOPS = ("argmax", "argmin", "max_index", "min_index")


def lists(families):
    """(loop_lists.cpp of libsconce, device_texts.cpp of libsconce_cuda): all loops, and all texts in the same order."""
    pointwise = [f for f in families if f.pointwise]
    reductions = [f for f in families if f.reductions]
    includes = [f'#include "sconce/generated/{f.name}_loops_list.h"' for f in pointwise]
    includes += [f'#include "sconce/generated/{f.name}_reductions_list.h"' for f in reductions]
    loops = ['// Generated by opgen/loops/device.py: every loop, in the order of the texts in libsconce_cuda.\n'
             '#include "sconce/kernels/loop_lists.h"\n', *includes, "", "namespace sconce {",
             "namespace cpu {", *[f"extern const ReduceLoops reduce_{name};" for name in INDEX_LOOPS], "}", "",
             "std::span<const PointwiseLoops* const> pointwise_loops() {",
             "  static constexpr const PointwiseLoops* kLoops[] = {",
             *[f"      &cpu::loops_{op.name}," for f in pointwise for op in f.pointwise], "  };", "  return kLoops;", "}", "",
             "std::span<const ReduceLoops* const> reduce_loops() {", "  static constexpr const ReduceLoops* kLoops[] = {",
             *[f"      &cpu::reduce_{op.name}," for f in reductions for op in f.reductions],
             *[f"      &cpu::reduce_{name}," for name in INDEX_LOOPS], "  };", "  return kLoops;", "}",
             "", "}  // namespace sconce", ""]
    texts = ['// Generated by opgen/loops/device.py: the texts of every family, in the order of loop_lists.cpp.\n'
             '#include "sconce/kernels/cuda/texts.h"\n', "namespace sconce::cuda {", ""]
    for kind, listed, ops in (("pointwise", pointwise, lambda f: f.pointwise), ("reduce", reductions, lambda f: f.reductions)):
        texts += [f"extern const DeviceText {f.name}_{kind}_texts[{len(ops(f))}];" for f in listed]
        texts += ["", f"std::span<const std::span<const DeviceText>> {kind}_texts() {{",
                  "  static constexpr std::span<const DeviceText> kFamilies[] = {",
                  *[f"      {f.name}_{kind}_texts," for f in listed], "  };", "  return kFamilies;", "}", ""]
    return "\n".join(loops), "\n".join(texts + ["}  // namespace sconce::cuda", ""])
