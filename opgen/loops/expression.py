"""The expression language: one scalar expression, for one class of dtypes and one compute type, to C++.

An expression is Python syntax over an operator's tensors and numbers:

    fma(alpha, other, self)                         calls of the functions in functions.py
    0.5 * self * (1 + erf(self * 0.7071067811865476))
    self if self > 0 else alpha * expm1(self)       also where(condition, a, b); and, or, not, chained comparisons
    e = exp(-abs(self)); where(self < 0, e, 1) / (1 + e)      names for parts, before the last expression

    + - * / // % **   // is floor division, % its remainder, ** is pow; / is for floats and complex numbers only
    & | ^ ~ << >>     integers and bools; & | ^ ~ of comparisons too
    inf nan pi        constants, where no argument has that name
    complex(a, b)     of two real parts, in expressions for complex numbers

A comparison used as a number is 1 or 0, a number used as a condition is true unless 0. What depends on numbers only is
computed once, before the loop. Note [Groups] in sconce/kernels/cpu/engine/loop.h says what a loop is given.
"""

import ast
import math
from dataclasses import dataclass

from .functions import FUNCTIONS, Function, INTEGER_DIVISIONS, REAL_OF_COMPLEX

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


def identifier(name):
    return name + "_" if name in _TAKEN or name in FUNCTIONS else name


@dataclass
class _Text:
    """C++ for a subexpression. kind: 'value', 'mask', 'real' (a real part inside a complex loop), or 'literal' with
    the number itself in text. constant: it depends on parameters only."""

    text: object
    kind: str
    constant: bool = False


class Translator:
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
            self.names[name] = _Text(identifier(name), "mask" if kind == "bool" else "value")
        for name in op.params:
            self.names[name] = _Text(identifier(name), "value", constant=True)

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
        text = identifier(name)
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
            function = Function(2, {"int"})
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
