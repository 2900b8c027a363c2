"""Guards on predicates: a compiled function that branches on a property of an argument or on a mode is called with one value, then with
another, in both orders, and gives what Python gives. Each predicate that the evaluator answers while it records needs a guard."""

import abc
import collections
import collections.abc
import contextlib
import enum
import functools
import itertools
import re
import types
import unittest
import weakref

import sconce as torch
from sconce import nn


class Plain:
    pass


class WithCall:
    def __call__(self):
        return None


class WithLen:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


class WithBool:
    def __init__(self, truth):
        self.truth = truth

    def __bool__(self):
        return self.truth


class WithFoo:
    foo = 1


class WithGetattr:
    def __getattr__(self, name):
        if name == "foo":
            return 2
        raise AttributeError(name)


class Unhashable:
    __hash__ = None


class Iterable:
    def __iter__(self):
        return iter(())


class Pretends:
    __class__ = int


class Abstract(abc.ABC):
    pass


class Registered:
    pass


Abstract.register(Registered)


class Hooked(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        return hasattr(other, "foo")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "a b")


class Tuple(tuple):
    pass


class List(list):
    pass


class Dict(dict):
    pass


class Int(int):
    pass


plain = Plain()
held = weakref.ref(plain)
OBJECTS = [None, 0, 1, 2, 1.0, True, False, Int(1), "", "x", (), (1,), (1, 2), Pair(1, 2), Tuple((1, 2)), [], [1], [2, 1], List([1]), {}, {1: 2},
           {"foo": 1}, Dict({1: 2}), collections.OrderedDict({1: 2}), {1}, frozenset({1}), plain, Plain(), WithCall(), WithLen(0), WithLen(2),
           WithBool(True), WithBool(False), WithFoo(), WithGetattr(), Unhashable(), Iterable(), Pretends(), Registered(), Color.RED, Color.BLUE,
           types.SimpleNamespace(foo=0), types.SimpleNamespace(foo=1), types.SimpleNamespace(bar=1), len, print, Plain, WithCall, int,
           lambda: None, lambda: 1, held, functools.partial(len), range(2), slice(1), nn.Identity(), nn.Identity().eval(), nn.Linear(1, 1),
           torch.float32, torch.int64, torch.device("cpu"), torch.ones(1), torch.ones(2), nn.Parameter(torch.ones(1))]
PREDICATES = [
    "a is None", "a is not None", "a is plain", "a is Color.RED", "a is Plain", "a is True", "a == Color.RED", "a == (1, 2)", "a == 1", "a == 'x'",
    "a", "not a", "bool(a)", "callable(a)", "hasattr(a, 'foo')", "hasattr(a, '__call__')", "hasattr(a, '__len__')", "hasattr(a, '_fields')",
    "getattr(a, 'foo', None)", "isinstance(a, int)", "isinstance(a, (str, tuple))", "isinstance(a, Abstract)", "isinstance(a, Hooked)",
    "isinstance(a, collections.abc.Callable)", "isinstance(a, collections.abc.Sized)", "isinstance(a, collections.abc.Hashable)",
    "isinstance(a, collections.abc.Iterable)", "isinstance(a, collections.abc.Mapping)", "isinstance(a, collections.abc.Sequence)",
    "isinstance(a, enum.Enum)", "isinstance(a, nn.Module)", "isinstance(a, torch.Tensor)", "isinstance(a, nn.Parameter)", "isinstance(a, type)",
    "type(a) is int", "type(a) is tuple", "type(a).__name__ == 'Plain'", "a.__class__ is int", "a in (1, None, plain)", "a is (a or 5)",
]
FEW = [("len(a) > 1", [[1], [1, 2], (1, 2, 3), "a", "ab", {1: 2}, {1, 2}, WithLen(1), WithLen(2)]),
       ("1 in a", [[1], [2], {1}, {2}, {1: 1}, {2: 1}, (1,), (2,)]),
       ("list(a)[0] == 1", [{1: 1, 2: 2}, {2: 2, 1: 1}, [1], (2,)]),
       ("a['k'] is None", [{"k": None}, {"k": 1}, {"k": plain}]),
       ("a.get('k') is plain", [{"k": plain}, {}, {"k": Plain()}]),
       ("a[0] is a[1]", [[plain, plain], [plain, Plain()]]),
       ("a.foo is plain", [types.SimpleNamespace(foo=plain), types.SimpleNamespace(foo=None), types.SimpleNamespace(foo=Plain())]),
       ("a.foo is None", [types.SimpleNamespace(foo=plain), types.SimpleNamespace(foo=None)]),
       ("'foo' in vars(a)", [types.SimpleNamespace(foo=1), types.SimpleNamespace(bar=2)]),
       ("a() is None", [held, lambda: None, lambda: plain, WithCall()]),
       ("a(2) is Color.BLUE", [Color, int, lambda v: Color.BLUE]),
       ("issubclass(a, Abstract)", [Plain, Registered]),
       ("issubclass(a, dict)", [dict, Dict, list]),
       ("a.training", [nn.Identity(), nn.Identity().eval()]),
       ("a.bias is None", [nn.Linear(1, 1), nn.Linear(1, 1, bias=False)]),
       ("len(a) > 1", [nn.Sequential(nn.Identity()), nn.Sequential(nn.Identity(), nn.Identity())]),
       ("next(a.parameters()).requires_grad", [nn.Linear(1, 1), nn.Linear(1, 1).requires_grad_(False)]),
       ("a.__defaults__ is None", [lambda: 1, lambda x=1: 1]),
       ("a.keywords", [functools.partial(len), functools.partial(len, x=1)]),
       ("any(a)", [[0, 0], [0, 1]]), ("sorted(a)[0]", [[1, 0], [1, 2]]), ("a != a", [1.0, float("nan")]), ("1 / a > 0", [1.0, -1.0]),
       ("str(a)[0] == '-'", [0.0, -0.0])]


def base():
    return torch.arange(12.0)


def inference():
    with torch.inference_mode():
        return base()


def written():
    x = base()
    return x.add_(0)


def named():
    x = base()
    x.foo = 1
    return x


def with_gradient(x):
    x.grad = torch.ones_like(x)
    return x


def leaf():
    return base().requires_grad_()


whole = base()
TENSORS = [base, lambda: base()[:6], lambda: base()[3:9], lambda: base().view(3, 4), lambda: base().view(4, 3).t(), leaf, lambda: leaf() * 1,
           lambda: with_gradient(leaf()), lambda: nn.Parameter(base()), inference, lambda: inference()[3:9], written, named, lambda: whole,
           lambda: base().double(), lambda: base().long(), lambda: base().to(torch.complex64), lambda: base().view(1, 2, 2, 3),
           lambda: base().view(1, 2, 2, 3).contiguous(memory_format=torch.channels_last), lambda: torch.ones(())]
OF_TENSORS = ["x.is_leaf", "x.requires_grad", "x.grad_fn is None", "x.grad is None", "x.retains_grad", "x.is_inference()", "torch.is_inference(x)",
              "x[:3].is_inference()", "(x * 2).is_inference()", "x.is_contiguous()", "x.is_contiguous(memory_format=torch.channels_last)",
              "x.stride() == (1,)", "x.storage_offset()", "x[:3].storage_offset()", "torch.ops.aten.storage_offset(x)", "x._version",
              "x.is_floating_point()", "torch.is_floating_point(x)", "x.is_complex()", "x.is_signed()", "x.element_size() > 4", "x.itemsize > 4",
              "x.nbytes > 24", "x.dim() == 1", "x.shape == (12,)", "x.numel() == 6", "x is whole", "x.is_set_to(whole)", "hasattr(x, 'foo')",
              "getattr(x, 'foo', 0)", "isinstance(x, nn.Parameter)", "type(x) is torch.Tensor", "x.dtype is torch.float32", "x.T.is_contiguous()",
              "x.data.requires_grad", "x.detach().is_leaf", "(x * 2).requires_grad", "(x * 2).stride() == (1,)", "x.contiguous() is x",
              "x.to(torch.float32) is x", "torch.result_type(x, 1.0) is torch.float32", "x.data_ptr() == whole.data_ptr()", "x.layout is torch.strided",
              "x.device.type == 'cpu'", "x.is_sparse", "x.output_nr"]

MODES = [contextlib.nullcontext, torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16),
         lambda: torch.autocast("cpu", torch.float16), lambda: torch.autocast("cpu", torch.bfloat16, cache_enabled=False),
         lambda: setting(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
         lambda: setting(torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True),
         lambda: setting(torch.get_num_threads, torch.set_num_threads, 3 - min(torch.get_num_threads(), 2)),
         lambda: setting(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "high"),
         lambda: setting(lambda: Globals.flag, lambda v: setattr(Globals, "flag", v), False),
         lambda: setting(lambda: TABLE["key"], lambda v: TABLE.__setitem__("key", v), 2),
         lambda: setting(lambda: LAYER.training, LAYER.train, False),
         lambda: setting(lambda: LAYER.weight.requires_grad, LAYER.requires_grad_, False),
         lambda: torch.autograd.detect_anomaly(False)]
OF_MODES = ["torch.is_grad_enabled()", "torch.is_inference_mode_enabled()", "torch.is_autocast_enabled()", "torch.is_autocast_enabled('cpu')",
            "torch.get_autocast_dtype('cpu') is torch.bfloat16", "torch.is_autocast_cache_enabled()", "torch.get_default_dtype() is torch.float32",
            "torch.are_deterministic_algorithms_enabled()", "torch.get_num_threads() == 1", "torch.get_float32_matmul_precision() == 'high'",
            "Globals.flag", "TABLE['key'] == 1", "LAYER.training", "LAYER.weight.requires_grad", "(x @ x).dtype is torch.float32",
            "torch.ones(1).dtype is torch.float32", "torch.tensor(1.5).dtype is torch.float32", "(x.long() / 2).dtype is torch.float32",
            "(x * 2).is_inference()", "torch.is_anomaly_enabled()"]


class Globals:
    flag = True


TABLE = {"key": 1}
LAYER = nn.Linear(1, 1)


@contextlib.contextmanager
def setting(get, set_, value):
    before = get()
    set_(value)
    try:
        yield
    finally:
        set_(before)


def outcome(function, *args):
    try:
        result = function(*args)
    except Exception as error:
        return type(error)
    return result.tolist() if isinstance(result, torch.Tensor) else result


def function_of(predicate, arguments):
    return eval(f"lambda {arguments}: torch.zeros(1) if {predicate} else torch.ones(1)", globals())


class Held:
    v = None


class FlippedAnswers(unittest.TestCase):
    def flip(self, predicate, arguments, calls):
        """calls: functions that call a function. Each pair of calls with different answers meets one compiled function."""
        eager = function_of(predicate, arguments)
        answers = [call(eager) for call in calls]
        kinds = {}
        for at, answer in enumerate(answers):
            kinds.setdefault(str(answer), []).append(at)
        # All of one answer behind one of another: each first call is followed by a few with other answers.
        with self.subTest(predicate):
            for first, others in itertools.permutations(kinds.values(), 2):
                for at in first:
                    compiled = torch.compile(function_of(predicate, arguments))
                    order = [at, *others[:: max(1, len(others) // 3)], at]
                    for which in order:
                        self.assertEqual(calls[which](compiled), answers[which], f"call {which} of {order}")

    def test_objects(self):
        x = torch.ones(1)
        calls = [lambda f, a=a: outcome(f, x, a) for a in OBJECTS]
        for predicate in PREDICATES:
            self.flip(predicate, "x, a", calls)
        for predicate, objects in FEW:
            self.flip(predicate, "x, a", [lambda f, a=a: outcome(f, x, a) for a in objects])

    def test_objects_from_elsewhere(self):
        x, layer, table, items, named = torch.ones(1), nn.Identity(), {}, [None], types.SimpleNamespace()
        ways = [("h.v", lambda v: setattr(named, "v", v) or named), ("h['v']", lambda v: table.update(v=v) or table),
                ("h[0]", lambda v: items.__setitem__(0, v) or items), ("h[0]", lambda v: (v,)), ("h()", lambda v: lambda: v),
                ("h.v", lambda v: setattr(Held, "v", v) or Held), ("h.v", lambda v: layer.__dict__.update(v=v) or layer),
                ("Held.v", lambda v: setattr(Held, "v", v))]
        for path, put in ways:
            for predicate in ["a is None", "a == Color.RED", "a is plain", "a", "callable(a)", "isinstance(a, int)", "hasattr(a, 'foo')"]:
                calls = [lambda f, a=a: outcome(f, x, put(a)) for a in OBJECTS[::3] + [None, Color.RED, plain, torch.ones(1)]]
                self.flip(re.sub(r"\ba\b", path, predicate), "x, h", calls)

    def test_tensors_of_classes_and_modules(self):
        module = types.ModuleType("module")
        Held.v = module.v = torch.ones(1)

        def given(h, log):
            kept = h.v
            log.append(1)
            print(end="")
            return kept, h.v, [kept]

        for holder in (Held, module):
            for _ in range(2):
                results = torch.compile(given)(holder, [])
                self.assertTrue(all(result is holder.v for result in (*results[:2], *results[2])))
                self.assertIs(torch.compile(lambda x, h: h.v)(torch.ones(1), holder), holder.v)
                holder.v = torch.zeros(1)

    def test_tensors(self):
        for predicate in OF_TENSORS:
            self.flip(predicate, "x", [lambda f, make=make: outcome(f, make()) for make in TENSORS])

    def test_modes(self):
        x = torch.ones(2, 2)

        def inside(f, mode):
            with mode():
                return outcome(f, x)

        for predicate in OF_MODES:
            self.flip(predicate, "x", [lambda f, mode=mode: inside(f, mode) for mode in MODES])

    def test_patched_classes(self):
        x = torch.ones(1)
        for name, value, predicate in (("__call__", lambda self: None, "callable(a)"), ("__bool__", lambda self: False, "a"),
                                       ("__len__", lambda self: 0, "hasattr(a, '__len__')"), ("foo", 1, "hasattr(a, 'foo')"),
                                       ("__eq__", lambda self, other: True, "a == 3")):
            kind = type("Kind", (), {})
            eager, a = function_of(predicate, "x, a"), kind()
            compiled = torch.compile(eager)
            for _ in range(2):
                self.assertEqual(outcome(compiled, x, a), outcome(eager, x, a), name)
                setattr(kind, name, value)
                self.assertEqual(outcome(compiled, x, a), outcome(eager, x, a), name)
                delattr(kind, name)


if __name__ == "__main__":
    unittest.main()
