"""Substitutes for operator: getters and callers, and functions whose operand decides in Python."""

import operator

from . import substitute, substitute_call


def _getter_arguments(self):
    return self.__reduce__()[1]


def _attribute(obj, path):
    for name in path.split("."):
        obj = getattr(obj, name)
    return obj


@substitute_call(operator.attrgetter)
def call_attrgetter(self, obj, /):
    paths = _getter_arguments(self)
    if len(paths) == 1:
        return _attribute(obj, paths[0])
    return tuple([_attribute(obj, path) for path in paths])


@substitute_call(operator.itemgetter)
def call_itemgetter(self, obj, /):
    keys = _getter_arguments(self)
    if len(keys) == 1:
        return obj[keys[0]]
    return tuple([obj[key] for key in keys])


@substitute_call(operator.methodcaller)
def call_methodcaller(self, obj, /):
    made = self.__reduce__()
    if made[0] is operator.methodcaller:
        name, *args = made[1]
        return getattr(obj, name)(*args)
    bound = made[0]  # partial(methodcaller, name, **keywords), with the positional ones beside
    return getattr(obj, bound.args[0])(*made[1], **bound.keywords)


def _iterated(a):
    try:
        return iter(a)
    except TypeError:
        raise TypeError(f"argument of type '{type(a).__name__}' is not iterable") from None


@substitute(operator.countOf)
def countOf(a, b, /):
    count = 0
    for item in _iterated(a):
        if item is b or item == b:
            count += 1
    return count


@substitute(operator.indexOf)
def indexOf(a, b, /):
    i = 0
    for item in _iterated(a):
        if item is b or item == b:
            return i
        i += 1
    raise ValueError("sequence.index(x): x not in sequence")


def _binary(name, function):
    function.__name__ = name
    substitute(getattr(operator, name))(function)


for _name, _function in {
    "add": lambda a, b, /: a + b, "sub": lambda a, b, /: a - b, "mul": lambda a, b, /: a * b,
    "truediv": lambda a, b, /: a / b, "floordiv": lambda a, b, /: a // b, "mod": lambda a, b, /: a % b,
    "pow": lambda a, b, /: a ** b, "matmul": lambda a, b, /: a @ b, "and_": lambda a, b, /: a & b,
    "or_": lambda a, b, /: a | b, "xor": lambda a, b, /: a ^ b, "lshift": lambda a, b, /: a << b,
    "rshift": lambda a, b, /: a >> b, "lt": lambda a, b, /: a < b, "le": lambda a, b, /: a <= b, "eq": lambda a, b, /: a == b,
    "ne": lambda a, b, /: a != b, "ge": lambda a, b, /: a >= b, "gt": lambda a, b, /: a > b, "is_": lambda a, b, /: a is b,
    "is_not": lambda a, b, /: a is not b, "contains": lambda a, b, /: b in a, "getitem": lambda a, b, /: a[b],
    "neg": lambda a, /: -a, "pos": lambda a, /: +a, "invert": lambda a, /: ~a, "inv": lambda a, /: ~a, "not_": lambda a, /: not a,
    "truth": lambda a, /: bool(a), "abs": lambda a, /: abs(a), "index": lambda a, /: operator.index(a),
}.items():
    _binary(_name, _function)


def _in_place(name, statement):
    namespace = {}
    exec(f"def {name}(a, b, /):\n    {statement}\n    return a\n", namespace)
    substitute(getattr(operator, name))(namespace[name])


for _name, _sign in {"iadd": "+", "isub": "-", "imul": "*", "itruediv": "/", "ifloordiv": "//", "imod": "%", "ipow": "**",
                     "imatmul": "@", "iand": "&", "ior": "|", "ixor": "^", "ilshift": "<<", "irshift": ">>"}.items():
    _in_place(_name, f"a {_sign}= b")


@substitute(operator.setitem)
def setitem(a, b, c, /):
    a[b] = c


@substitute(operator.delitem)
def delitem(a, b, /):
    del a[b]


@substitute(operator.concat)
def concat(a, b, /):
    if not hasattr(type(a), "__getitem__"):
        return operator.concat(a, b)  # refuses
    return a + b
