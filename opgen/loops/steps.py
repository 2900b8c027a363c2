"""Scalar expressions as steps: what a compiler reads of them (Note [Steps] in sconce/dispatch/entry.h).

`e = exp(-abs(self)); e / (1 + e)` becomes argument 0, abs %0, neg %1, exp %2, constant 1, add %4 %3, div %3 %5. Equal
subexpressions are one step, what nothing uses is none, and arithmetic of literals is done here, as the loops do it.
"""

import ast
import math

from ..script import NUMBER_FUNCTIONS
from .functions import FUNCTIONS

MAX_STEPS = 256  # steps are numbered in a byte

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_div", ast.Mod: "remainder",
           ast.Pow: "pow", ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor", ast.LShift: "shift_left",
           ast.RShift: "shift_right"}
_FOLDED = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y}
_UNARY = {ast.USub: "neg", ast.Invert: "invert", ast.Not: "not_"}
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
_KEYWORDS = {"int": "to_int", "float": "to_float", "bool": "to_bool"}
_NUMBER_ARITY = {"int_pow": 2, "range_length": 3, "min": 2, "max": 2}


def functions():
    """[(name, number of arguments)] of every function that a step may be."""
    arity = {name: _NUMBER_ARITY.get(name, 1) for name in NUMBER_FUNCTIONS}
    arity.update({name: function.arity for name, function in FUNCTIONS.items()})
    return sorted((_KEYWORDS.get(name, name), count) for name, count in arity.items())


def _constant(value):
    """A leaf; 1.0 and 1 are one constant."""
    whole = isinstance(value, float) and value.is_integer() and (value or math.copysign(1, value) > 0)
    return ("constant", int(value) if whole or isinstance(value, bool) else value)


class Steps:
    """One expression. `operands`: name -> (kind of leaf, number); `fail` is called with what is wrong."""

    def __init__(self, text, operands, fail):
        self.names = {name: (kind, number) for name, (kind, number) in operands.items()}
        self.fail = fail
        *parts, last = ast.parse(text.strip()).body
        for part in parts:
            self.names[part.targets[0].id] = self._tree(part.value)
        self.constants, self.rows = [], []
        self._numbers = {}
        self._add(self._tree(last.value))
        if len(self.rows) > MAX_STEPS:
            fail(f"an expression has at most {MAX_STEPS} steps, this one {len(self.rows)}")

    def _add(self, tree):
        """The number of the step that computes a tree: (kind, operands...)."""
        if tree in self._numbers:
            return self._numbers[tree]
        kind, *operands = tree
        if kind == "constant":
            if operands[0] not in self.constants:
                self.constants.append(operands[0])
            operands = [self.constants.index(operands[0])]
        elif operands and isinstance(operands[0], tuple):
            operands = [self._add(t) for t in operands]
        self._numbers[tree] = len(self.rows)
        self.rows.append((kind, *operands))
        return self._numbers[tree]

    def _tree(self, node):
        return getattr(self, "_on_" + type(node).__name__)(node)

    def _on_Constant(self, node):
        return _constant(node.value)

    def _on_Name(self, node):
        if node.id in self.names:
            return self.names[node.id]
        if node.id not in _CONSTANTS:
            self.fail(f"unknown name '{node.id}'")
        return _constant(_CONSTANTS[node.id])

    def _on_UnaryOp(self, node):
        x = self._tree(node.operand)
        if isinstance(node.op, ast.UAdd):
            return x
        if isinstance(node.op, ast.USub) and x[0] == "constant":
            return _constant(-x[1])
        return (_UNARY[type(node.op)], x)

    def _on_BinOp(self, node):
        kind, a, b = _BINARY[type(node.op)], self._tree(node.left), self._tree(node.right)
        if a[0] == b[0] == "constant" and kind in _FOLDED:
            return _constant(_FOLDED[kind](a[1], b[1]))
        return (kind, a, b)

    def _on_BoolOp(self, node):
        kind = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._chain(kind, [self._tree(v) for v in node.values])

    def _on_Compare(self, node):
        parts = [self._tree(v) for v in [node.left, *node.comparators]]
        return self._chain("and_", [(_COMPARE[type(op)], a, b) for op, a, b in zip(node.ops, parts, parts[1:])])

    @staticmethod
    def _chain(kind, parts):
        tree = parts[0]
        for part in parts[1:]:
            tree = (kind, tree, part)
        return tree

    def _on_IfExp(self, node):
        return ("where", self._tree(node.test), self._tree(node.body), self._tree(node.orelse))

    def _on_Call(self, node):
        return (_KEYWORDS.get(node.func.id, node.func.id), *(self._tree(a) for a in node.args))
