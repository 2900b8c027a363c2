"""Translates the scalar expressions of pointwise operators to C++ vector loops.

An expression is Python syntax over an operator's tensors and numbers:

    fma(alpha, other, self)                         calls of the functions in FUNCTIONS below
    0.5 * self * (1 + erf(self * 0.7071067811865476))
    self if self > 0 else alpha * expm1(self)       also where(condition, a, b); and, or, not, chained comparisons
    e = exp(-abs(self)); where(self < 0, e, 1) / (1 + e)      names for parts, before the last expression

    + - * / // % **   // is floor division, % its remainder, ** is pow; / is for floats and complex numbers only
    & | ^ ~ << >>     integers and bools; & | ^ ~ of comparisons too
    inf nan pi        constants, where no argument has that name
    complex(a, b)     of two real parts, in expressions for complex numbers

A comparison used as a number is 1 or 0, a number used as a condition is true unless 0. What depends on numbers only is
computed once, before the loop. Note [Groups] in sconce/kernels/cpu/engine/loop.h says what a loop is given.

    pointwise_source(family, ops)           the loops of one family: compiled once per instruction set level
    pointwise_registry_source(family, ops)  sconce::cpu::loops_<name>, the PointwiseLoops of each: compiled once
    pointwise_header(family, ops)           declares them, as "sconce/generated/<family>_loops_list.h"
"""

import ast
import math
import re
from dataclasses import dataclass, field

CLASSES = ("bool", "int", "float", "complex")
COMPUTE_TYPES = {"bool": ("u8",), "int": ("i32", "i64"), "float": ("f32", "f64"), "complex": ("c64", "c128")}
COMPUTE_ORDER = ("f32", "f64", "i32", "i64", "u8", "c64", "c128")  # enum class Compute
LEVELS = ("v2", "v3", "v4")
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


class _Function:
    def __init__(self, arity, classes, heavy=False, kind="value", special=False, by_element=False):
        self.arity, self.classes, self.heavy, self.kind = arity, classes, heavy, kind
        self.special, self.by_element = special or by_element, by_element


def _functions():
    table = {}

    def add(names, *args, **kw):
        for name in names.split():
            table[name] = _Function(*args, **kw)

    fc, f, every = {"float", "complex"}, {"float"}, set(CLASSES)
    add("exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh", 1, fc, heavy=True)
    add("sqrt rsqrt sigmoid log2 log10 log1p expm1 exp2", 1, fc, heavy=True)
    add("erf erfc", 1, f, heavy=True)
    add("normal_cdf gelu_slope", 1, f, heavy=True)
    add("atan2 hypot nextafter", 2, f, heavy=True)
    add("floor ceil trunc round", 1, {"float", "int"})
    add("narrow", 1, {"float", "int", "complex"})
    add("abs", 1, {"int", "float", "complex"})
    add("sign", 1, every)
    add("copysign", 2, f)
    add("fma", 3, every)
    add("minimum maximum", 2, {"bool", "int", "float"})
    add("fmin fmax", 2, {"int", "float"})
    add("isnan isinf isfinite", 1, {"int", "float", "complex"}, kind="mask")
    add("signbit", 1, {"int", "float"}, kind="mask")
    add("fmod remainder floor_div trunc_div", 2, {"int", "float"}, heavy=True)
    add("pow", 2, {"int", "float", "complex"}, heavy=True)
    add("gcd lcm", 2, {"int"}, heavy=True)
    add("logaddexp", 2, {"complex"}, heavy=True)
    add("complex", 2, {"complex"})
    add("mantissa_of exponent_of", 1, f)
    add("conj real imag angle sgn", 1, {"int", "float", "complex"})
    table["angle"].heavy = True
    table["sqrt"].heavy = table["rsqrt"].heavy = False
    # sconce/kernels/cpu/simd/math/special_vectors.h
    add("bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma erfcx erfinv i0 i0e i1 i1e lgamma ndtri trigamma", 1, f,
        heavy=True, special=True)
    # sconce/kernels/cpu/special/special.h
    add("airy_ai factorial k0 k0e k1 k1e", 1, f, heavy=True, by_element=True)
    add("chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
        "hermite_polynomial_he igamma igammac laguerre_polynomial_l legendre_polynomial_p standard_gamma_grad zeta", 2, f,
        heavy=True, by_element=True)
    add("dirichlet_grad", 3, f, heavy=True, by_element=True)
    return table


FUNCTIONS = _functions()
# Functions that pointwise.h does not have: their header, so that few families are compiled again when it changes.
HEADERS = {"normal_cdf": "normal.h", "gelu_slope": "normal.h"}
REAL_OF_COMPLEX = {"abs", "real", "imag", "angle"}
# What complex loops compute with vectors; anything else makes them go element by element.
VECTOR_COMPLEX = {"fma", "conj", "real", "imag", "complex", "isnan", "isinf", "isfinite", "narrow", "where"}
INTEGER_DIVISIONS = {"fmod", "remainder", "floor_div", "trunc_div"}

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_BITWISE = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_CALLED = {ast.FloorDiv: "floor_div", ast.Mod: "remainder", ast.Pow: "pow", ast.LShift: "shift_left",
           ast.RShift: "shift_right"}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
_TAKEN = set("""out in step groups params n k splat select load store put put_mask next next_mask from_mask narrow_mode
  alignas and asm auto bool break case catch char class const continue default delete do double else enum explicit
  export extern false float for friend goto if inline int long mutable namespace new not operator or private protected public
  register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned
  using virtual void volatile while xor F32 F64 I32 I64 U8""".split())


def _is_vector_complex(source):
    nodes = list(ast.walk(ast.parse(source.strip())))
    calls = {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return calls <= VECTOR_COMPLEX and not any(isinstance(n, (ast.Pow, ast.FloorDiv, ast.Mod)) for n in nodes)


def _identifier(name):
    return name + "_" if name in _TAKEN or name in FUNCTIONS else name


@dataclass
class _Text:
    """C++ for a subexpression. kind: 'value', 'mask', 'real' (a real part inside a complex loop), or 'literal' with
    the number itself in text. constant: it depends on parameters only."""

    text: object
    kind: str
    constant: bool = False


class _Translator:
    """One expression for one class and compute type."""

    def __init__(self, op, cls, compute, scalar=False):
        self.op, self.cls, self.compute = op, cls, compute
        self.scalar = scalar  # element by element: conditions are bool
        self.vector = "Z" if cls == "complex" else compute.upper()
        self.heavy = False
        self.special = False  # calls functions of special.h
        self.by_element = scalar  # calls functions of one element, so that no instruction set is faster
        self.narrows = False
        self.divisor_inputs = self.divisor_params = 0
        self.hoisted = []  # lines before the loop
        self.lines = []  # lines in the loop, before the result
        self.names = {}
        for name, kind in op.inputs:
            self.names[name] = _Text(_identifier(name), "mask" if kind == "bool" else "value")
        for name in op.params:
            self.names[name] = _Text(_identifier(name), "value", constant=True)

    def fail(self, message):
        raise ValueError(f"{self.op.origin}: {self.op.title or self.op.name}: {message} "
                         f"(in '{self.op.expression(self.cls).strip()}', for {self.cls})")

    def translate(self):
        source = self.op.expression(self.cls).strip()
        if not source:
            self.fail("no expression")
        try:
            body = ast.parse(source, mode="exec").body
        except SyntaxError as e:
            self.fail(f"not an expression: {e.msg}")
        *steps, last = body
        for step in steps:
            if not (isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(step.targets[0], ast.Name)):
                self.fail("only 'name = expression' may come before the result")
            self.assign(step.targets[0].id, self.expr(step.value))
        if not isinstance(last, ast.Expr):
            self.fail("the last part must be an expression")
        return self.expr(last.value)

    def assign(self, name, value):
        if name in self.names:
            self.fail(f"'{name}' is already a name here")
        if value.kind == "literal":
            self.names[name] = value
            return
        text = _identifier(name)
        line = f"const auto {text} = {value.text};"
        (self.hoisted if value.constant else self.lines).append(line)
        self.names[name] = _Text(text, value.kind, value.constant)

    # A parameter-only subtree that meets an operand becomes a constant before the loop.
    def hoist(self, value):
        if not value.constant or value.kind == "literal" or value.text.isidentifier():
            return value
        name = f"c{len(self.hoisted)}"
        while name in self.names:
            name += "_"
        self.hoisted.append(f"const auto {name} = {value.text};")
        return _Text(name, value.kind, True)

    def join(self, parts):
        """All parts hoisted where the whole is not constant; returns (parts, whole is constant)."""
        constant = all(p.constant or p.kind == "literal" for p in parts)
        return (parts if constant else [self.hoist(p) for p in parts]), constant

    def literal(self, number):
        """The number as a scalar of the compute type."""
        if self.cls in ("float", "complex"):
            single = self.compute in ("f32", "c64")
            number = float(number)
            if math.isnan(number):
                return '__builtin_nanf("")' if single else '__builtin_nan("")'
            if math.isinf(number):
                return ("-" if number < 0 else "") + ("__builtin_inff()" if single else "__builtin_inf()")
            return repr(number) + ("f" if single else "")
        if isinstance(number, float):
            if not number.is_integer():
                self.fail(f"the number {number} is no integer")
            number = int(number)
        if self.cls == "bool":
            return "1" if number else "0"
        bits = 32 if self.compute == "i32" else 64
        if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            self.fail(f"the number {number} does not fit int{bits}")
        return "INT64_MIN" if number == -(1 << 63) else str(number)

    def value(self, x):
        """x as a vector text (or a complex or real scalar)."""
        if x.kind == "literal":
            if self.cls != "complex":
                return f"splat<{self.vector}>({self.literal(x.text)})"
            return f"Z({self.literal(x.text)})" if self.scalar else f"Z(splat<{self.part()}>({self.literal(x.text)}))"
        if x.kind == "mask":
            if self.cls == "complex":
                return f"Z({x.text} ? 1 : 0)" if self.scalar else f"Z(from_mask<{self.part()}>({x.text}))"
            return f"from_mask<{self.vector}>({x.text})"
        return x.text

    def part(self):
        return "F32" if self.compute == "c64" else "F64"

    def literal_part(self, x):
        """x as the real or imaginary part of a complex number."""
        if x.kind == "literal":
            return self.literal(x.text) if self.scalar else f"splat<{self.part()}>({self.literal(x.text)})"
        if x.kind != "real":
            self.fail("the parts of complex() are real numbers: real(x), imag(x), abs(x) or literals")
        return x.text

    def operand(self, x, other):
        """As value, but a literal beside a vector stays a plain number."""
        if x.kind == "literal" and other.kind != "literal":
            return self.literal(x.text)
        return self.value(x)

    def mask(self, x):
        if x.kind == "literal":
            self.fail(f"{x.text} is always the same condition")
        return x.text if x.kind == "mask" else f"({x.text} != {self.literal(0)})"

    def expr(self, node):
        method = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            self.fail(f"{type(node).__name__} is not part of the expression language")
        return method(node)

    def on_Constant(self, node):
        if isinstance(node.value, bool):
            return _Text(int(node.value), "literal")
        if not isinstance(node.value, (int, float)):
            self.fail(f"{node.value!r} is no number")
        return _Text(node.value, "literal")

    def on_Name(self, node):
        if node.id in self.names:
            return self.names[node.id]
        if node.id in _CONSTANTS:
            return _Text(_CONSTANTS[node.id], "literal")
        self.fail(f"unknown name '{node.id}'")

    def on_UnaryOp(self, node):
        x = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            return _Text(f"{'!' if self.scalar else '~'}{self.mask(x)}", "mask", x.constant)
        if isinstance(node.op, ast.UAdd):
            return x
        if isinstance(node.op, ast.USub):
            if x.kind == "literal":
                return _Text(-x.text, "literal")
            if self.cls == "bool":
                self.fail("a bool has no negative")
            return _Text(f"(-{self.value(x)})", "real" if x.kind == "real" else "value", x.constant)
        if x.kind == "mask":
            return _Text(f"{'!' if self.scalar else '~'}{x.text}", "mask", x.constant)
        if self.cls == "bool":
            return _Text(f"({self.value(x)} ^ 1)", "value", x.constant)
        if self.cls != "int":
            self.fail("~ is for integers and bools")
        return _Text(f"(~{self.value(x)})", "value", x.constant)

    def on_BinOp(self, node):
        (a, b), constant = self.join([self.expr(node.left), self.expr(node.right)])
        kind = type(node.op)
        if kind in _CALLED:
            return self.call(_CALLED[kind], [a, b], [node.left, node.right], constant)
        if kind in _BITWISE:
            if a.kind == "mask" and b.kind == "mask":
                return _Text(f"({a.text} {_BITWISE[kind]} {b.text})", "mask", constant)
            if self.cls not in ("int", "bool"):
                self.fail(f"{_BITWISE[kind]} is for integers, bools and conditions")
            return _Text(f"({self.operand(a, b)} {_BITWISE[kind]} {self.operand(b, a)})", "value", constant)
        if kind not in _BINARY:
            self.fail(f"{kind.__name__} is not part of the expression language")
        sign = _BINARY[kind]
        if a.kind == b.kind == "literal":
            x, y = a.text, b.text
            if sign == "/" and y == 0:
                self.fail("division by 0")
            return _Text(x + y if sign == "+" else x - y if sign == "-" else x * y if sign == "*" else x / y, "literal")
        if sign == "/" and self.cls not in ("float", "complex"):
            self.fail("/ is for floats; integers have // , trunc_div and %")
        if self.cls == "bool":
            if sign == "-":
                self.fail("bools have no -")
            sign = {"+": "|", "*": "&"}[sign]
        real = self.cls == "complex" and all(p.kind in ("real", "literal") for p in (a, b))
        return _Text(f"({self.operand(a, b)} {sign} {self.operand(b, a)})", "real" if real else "value", constant)

    def on_BoolOp(self, node):
        parts, constant = self.join([self.expr(v) for v in node.values])
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return _Text("(" + sign.join(self.mask(p) for p in parts) + ")", "mask", constant)

    def on_Compare(self, node):
        parts, constant = self.join([self.expr(v) for v in [node.left, *node.comparators]])
        tests = []
        for a, b, op in zip(parts, parts[1:], node.ops):
            if type(op) not in _COMPARE:
                self.fail(f"{type(op).__name__} is not part of the expression language")
            if self.cls == "complex" and "value" in (a.kind, b.kind) and not isinstance(op, (ast.Eq, ast.NotEq)):
                self.fail("complex numbers have no order")
            if a.kind == b.kind == "literal":
                self.fail("this comparison is always the same")
            tests.append(f"({self.operand(a, b)} {_COMPARE[type(op)]} {self.operand(b, a)})")
        return _Text(tests[0] if len(tests) == 1 else "(" + " & ".join(tests) + ")", "mask", constant)

    def on_IfExp(self, node):
        return self.where([self.expr(n) for n in (node.test, node.body, node.orelse)])

    def where(self, parts):
        (test, a, b), constant = self.join(parts)
        if a.kind == b.kind == "mask":
            m = self.mask(test)
            return _Text(f"({m} ? {a.text} : {b.text})" if self.scalar else f"(({m} & {a.text}) | (~{m} & {b.text}))",
                         "mask", constant)
        if self.cls == "complex":
            real = all(p.kind == "real" for p in (a, b))
            sides = [p.text if real else f"Z({self.value(p)})" for p in (a, b)]
            return _Text(f"choose({self.mask(test)}, {', '.join(sides)})", "real" if real else "value", constant)
        return _Text(f"select<{self.vector}>({self.mask(test)}, {self.value(a)}, {self.value(b)})", "value", constant)

    def on_Call(self, node):
        if not isinstance(node.func, ast.Name) or node.keywords:
            self.fail("a call is name(argument, ...)")
        name = node.func.id
        args = [self.expr(a) for a in node.args]
        if name == "where":
            if len(args) != 3:
                self.fail(f"where takes 3 arguments, got {len(args)}")
            return self.where(args)
        if name not in FUNCTIONS:
            self.fail(f"unknown function '{name}'")
        if len(args) != FUNCTIONS[name].arity:
            self.fail(f"{name} takes {FUNCTIONS[name].arity} arguments, got {len(args)}")
        args, constant = self.join(args)
        return self.call(name, args, node.args, constant)

    def call(self, name, args, nodes, constant):
        function = FUNCTIONS.get(name)
        if function is None:  # shifts, which have no other spelling
            function = _Function(2, {"int"})
        if self.cls not in function.classes:
            self.fail(f"{name} is not defined for {self.cls}")
        if self.cls == "int" and name in INTEGER_DIVISIONS:
            self.note_divisor(name, nodes[1])
        if name == "narrow":
            if self.compute != "f32":
                return args[0]
            self.narrows = True
            return _Text(f"narrow({self.value(args[0])}, narrow_mode)", "value", False)
        if name == "nextafter" and self.compute == "f32":  # the next number of the result's dtype
            self.heavy = self.narrows = True
            return _Text(f"nextafter({self.value(args[0])}, {self.value(args[1])}, narrow_mode)", "value", False)
        if name == "complex":
            parts = [self.literal_part(a) for a in args]
            return _Text(f"Z({', '.join(parts)})", "value", constant)
        if self.cls == "int" and name in ("floor", "ceil", "trunc", "round", "conj", "real"):
            return args[0]
        self.heavy = self.heavy or function.heavy
        kind = function.kind
        if self.cls == "complex" and kind == "value":
            kind = "real" if name in REAL_OF_COMPLEX or all(a.kind == "real" for a in args) else "value"
        self.special = self.special or function.special
        values = ", ".join(self.value(a) for a in args)
        if function.by_element:
            self.by_element = True
            return _Text(f"each([](auto... x) {{ return special::{name}(x...); }}, {values})", kind, constant)
        return _Text(f"{name}({values})", kind, constant)

    def note_divisor(self, name, node):
        inputs = [n for n, _ in self.op.inputs]
        if isinstance(node, ast.Name) and node.id in inputs:
            self.divisor_inputs |= 1 << inputs.index(node.id)
        elif isinstance(node, ast.Name) and node.id in self.op.params:
            self.divisor_params |= 1 << self.op.params.index(node.id)
        elif not (isinstance(node, ast.Constant) and node.value):
            self.fail(f"{name} of integers divides by a tensor, a number argument or a literal other than 0: "
                      "only those are tested for zero before the loop")


@dataclass
class _CompiledLoop:
    function: str  # add_Tensor_f32
    text: str
    heavy: bool
    translator: _Translator


def _real_loop(op, cls, compute):
    t = _Translator(op, cls, compute)
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
        lines.append(f"  const {vector} {_identifier(name)} = splat<{vector}>({number});")
    if t.narrows:
        lines.append(f"  const int64_t narrow_mode = params[{len(op.params)}].integer;")
    for i, (name, kind) in enumerate(op.inputs):
        lines.append(f"  Stream {_identifier(name)}_in(in[{i}], step[{i}]);")
    lines += ["  " + line for line in t.hoisted]
    if t.heavy:
        lines.append("  for (int64_t n = groups * vectors_per_group; n > 0; --n) {")
    else:
        lines.append("  for (; groups > 0; --groups) SCONCE_EACH_VECTOR {")
    for name, kind in op.inputs:
        c_name = _identifier(name)
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
    t = _Translator(op, "complex", compute, scalar)
    result = t.translate()
    part = "float" if compute == "c64" else "double"
    vector = t.part()
    per_group = 8 if compute == "c64" else 4
    lines = [f"  using Z = Complex<{part if scalar else vector}>;"]
    for i, name in enumerate(op.params):
        parts = [f"static_cast<{part}>(params[{i}].{p})" for p in ("real", "imag")]
        if not scalar:
            parts = [f"splat<{vector}>({p})" for p in parts]
        lines.append(f"  const Z {_identifier(name)}({', '.join(parts)});")
    for i, (name, kind) in enumerate(op.inputs):
        if scalar:
            lines.append(f"  ScalarStream {_identifier(name)}_in(in[{i}], step[{i}], {per_group});")
        else:
            lines.append(f"  ComplexStream {_identifier(name)}_in(in[{i}], step[{i}]);")
    lines += ["  " + line for line in t.hoisted]
    lines.append(f"  for (int64_t n = groups * {per_group if scalar else 'pairs_per_group'}; n > 0; --n) {{")
    for name, kind in op.inputs:
        c_name = _identifier(name)
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
        if i >= len(op.params) or re.search(rf"\b{_identifier(op.params[i])}\b", "\n".join(lines[len(op.params):]))]
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


_NOTICE = "// Generated from ops/{family}.toml by opgen/loops.py.\n"


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
        rows = []
        for level in LEVELS:
            row = []
            for compute in COMPUTE_ORDER:
                if compute not in loops:
                    row.append("nullptr")
                    continue
                owner = _level_of(level, loops[compute])
                row.append(f"{owner}::{loops[compute].function}")
                if owner == level:
                    declarations[level].append(loops[compute].function)
            rows.append("        {" + ", ".join(row) + "},")
        translators = [loop.translator for loop in loops.values()]
        divisor_inputs = divisor_params = masks = 0
        for t in translators:
            divisor_inputs |= t.divisor_inputs
            divisor_params |= t.divisor_params
        for i, (_, kind) in enumerate(op.inputs):
            masks |= (kind == "bool") << i
        result = {"common": "common", "bool": "boolean", "real": "real"}[op.result]
        narrows = "true" if any(t.narrows for t in translators) else "false"
        heavy = "true" if any(t.heavy for t in translators) else "false"
        entries += [f"// {op.origin}",
                    f"const PointwiseLoops loops_{op.name} = {{",
                    f"    \"{op.title or op.name}\", {len(op.inputs)}, {len(op.params)}, LoopResult::{result}, "
                    f"{masks}, {divisor_inputs}, {divisor_params}, {narrows}, {heavy},",
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


def pointwise_header(family, ops):
    lines = [_NOTICE.format(family=family) + "#pragma once\n", '#include "sconce/kernels/cpu/engine/loop.h"\n',
             "namespace sconce::cpu {\n"]
    lines += [f"extern const PointwiseLoops loops_{op.name};" for op in ops]
    return "\n".join(lines + ["", "}  // namespace sconce::cpu", ""])
