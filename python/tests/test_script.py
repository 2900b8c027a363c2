"""sconce.jit.script: functions and classes of Python, with the names that they see."""

import contextlib
import enum
import io
import math
import math as mathematics
import os
import tempfile
import typing
import unittest
import warnings
from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Optional, Tuple
from typing import List as L

import sconce
import sconce as torch
import sconce.nn.functional as functional
from sconce import Tensor, jit
from sconce.nn.functional import relu as rectify

FACTOR = 3
LIMITS = (1, 2)
Pair = Tuple[int, int]
MaybeInts = Optional[List[int]]


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: Tensor
    n: int = 4


@jit.script
class Counter:
    def __init__(self, start: int):
        self.n = start
        self.log: List[int] = []

    def add(self, k: int) -> "Counter":
        self.n += k
        self.log.append(k)
        return self

    @property
    def double(self) -> int:
        return 2 * self.n

    def __len__(self) -> int:
        return len(self.log)


@jit.script
@dataclass
class Item:
    x: int
    y: float = 0.5


@jit.interface
class Doubles:
    def apply(self, x: Tensor) -> Tensor:
        pass


def scaled(x: Tensor, by: int = FACTOR) -> Tensor:
    return x * by


def unannotated(x):
    return scaled(x) + 1


@jit.script
def scripted_before(x):
    return x - 1


def with_type_comment(x, n):
    # type: (Tensor, List[int]) -> Tuple[Tensor, int]
    return x, len(n)


def keywords(x: int, *, y: int, z: int = 2) -> int:
    return x * 100 + y * 10 + z


def undefined(x):
    y = x + 1
    return y + nowhere


class Functions(unittest.TestCase):
    def test_names_of_the_file(self):
        @jit.script
        def f(x: torch.Tensor, xs: typing.List[int], o: MaybeInts, p: Pair) -> Tensor:
            total = FACTOR + p[0] + LIMITS[1]
            for i in xs:
                total += i
            if o is not None:
                total += len(o)
            y = unannotated(x) + mathematics.sqrt(4.0) + math.pi * 0
            return rectify(functional.relu(scripted_before(y))) + sconce.ones(2) * total

        self.assertEqual(f(torch.ones(2), [1, 2], None, (1, 2)).tolist(), [14, 14])
        self.assertEqual(f(torch.ones(2), [], [7], (1, 2)).tolist(), [12, 12])

    def test_closures(self):
        def scale_by(n):
            def inner(x):
                return x * n

            return jit.script(inner)

        self.assertEqual(scale_by(5)(torch.ones(2)).tolist(), [5, 5])
        self.assertEqual(scale_by(2.5)(torch.ones(1)).tolist(), [2.5])

    def test_a_function_is_compiled_once(self):
        self.assertIs(jit.script(scaled), jit.script(scaled))
        self.assertIs(jit.script(jit.script(scaled)), jit.script(scaled))

    def test_what_it_is(self):
        f = jit.script(scaled)
        self.assertEqual(f.name, "scaled")
        self.assertEqual(f.qualified_name, f"__torch__.{__name__}.scaled" if __name__ != "__main__" else "__torch__.scaled")
        self.assertEqual(f.code, "def scaled(x: Tensor,\n    by: int=3) -> Tensor:\n  return torch.mul(x, by)\n")
        self.assertEqual(str(f.schema), "scaled(Tensor x, int by=3) -> Tensor")
        self.assertIn("aten::mul", str(f.graph))

    def test_type_comments_and_keywords(self):
        f = jit.script(with_type_comment)
        self.assertEqual(f(torch.ones(1), [1, 2])[1], 2)
        g = jit.script(keywords)
        self.assertEqual(g(1, y=3), 132)
        with self.assertRaisesRegex(RuntimeError, "missing value for argument 'y'"):
            g(1)

    def test_aliases_of_types(self):
        @jit.script
        def f(xs: L[int], d: Dict[str, L[float]]) -> L[float]:
            return [float(x) for x in xs] + d["a"]

        self.assertEqual(f([1], {"a": [0.5]}), [1.0, 0.5])

    def test_errors_show_the_file_and_the_line(self):
        first = undefined.__code__.co_firstlineno
        with self.assertRaises(RuntimeError) as caught:
            jit.script(undefined)
        self.assertEqual(str(caught.exception),
                         f'\nundefined value nowhere:\n  File "{__file__}", line {first + 2}\n'
                         "def undefined(x):\n    y = x + 1\n    return y + nowhere\n               ~~~~~~~ <--- HERE\n")

    def test_what_cannot_be_used(self):
        table = [1, 2]
        tensor = torch.ones(2)

        def uses_list(x):
            return x + len(table)

        def uses_tensor(x):
            return x + tensor

        def uses_builtin(x):
            return x + open("file")

        for f, message in ((uses_list, "python value of type 'list' cannot be used as a value"),
                           (uses_tensor, "python value of type 'Tensor' cannot be used as a value"),
                           (uses_builtin, "Python builtin <built-in function open> is currently not supported in Torchscript")):
            with self.subTest(f.__name__), self.assertRaisesRegex(RuntimeError, message):
                jit.script(f)
        with self.assertRaisesRegex(OSError, "TorchScript requires source access"):
            jit.script(eval("lambda x: x"))

    def test_run_time_errors(self):
        @jit.script
        def f(x: int) -> int:
            if x < 0:
                raise ValueError("negative")
            return x

        self.assertEqual(f(1), 1)
        with self.assertRaisesRegex(RuntimeError, "negative"):
            f(-1)
        with self.assertRaisesRegex(RuntimeError, "Expected a value of type 'int' for argument 'x' but instead found type 'str'"):
            f("one")

    def test_marks(self):
        @jit.unused
        def left_out(x: Tensor) -> Tensor:
            return [y for y in (z for z in x)]

        @jit.script
        def f(x: Tensor, reach: bool) -> Tensor:
            if reach:
                x = left_out(x)
            return x

        self.assertEqual(f(torch.ones(1), False).tolist(), [1])
        with self.assertRaises(RuntimeError):
            f(torch.ones(1), True)

    def test_calls_of_python(self):
        seen = []

        @jit.ignore
        def in_python(x: Tensor, names: List[str], *, scale: float = 2.0) -> Tuple[Tensor, float]:
            seen.append((names, scale))
            return x * 2, int(scale)  # becomes the float that the signature says

        @jit.script
        def f(x: Tensor) -> Tuple[Tensor, float]:
            y, n = in_python(x, ["a"], scale=3.0)
            return y + 1, n

        x = torch.ones(2, requires_grad=True)
        y, n = f(x)
        self.assertEqual((y.tolist(), n, type(n)), ([3, 3], 3.0, float))
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 2])
        self.assertEqual(seen, [(["a"], 3.0)])
        self.assertIsNotNone(f.inlined_graph.findNode("python::in_python"))
        with self.assertRaisesRegex(RuntimeError, "Could not export Python function call 'in_python'. Remove calls to Python functions "
                                    "before export. Did you forget to add @script or @script_method annotation[?]"):
            f.save("never.pt")

        @jit.ignore
        def fails(x: Tensor) -> Tensor:
            raise KeyError("from Python")

        @jit.script
        def g(x):
            return fails(x)

        with self.assertRaisesRegex(Exception, "from Python"):
            g(x)

    def test_output_is_that_of_python(self):
        @jit.script
        def speak(x: Tensor) -> Tensor:
            print("size", x.size(0), [1.5])
            warnings.warn("careful")
            return x

        with contextlib.redirect_stdout(io.StringIO()) as said, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            speak(torch.ones(2))
            speak(torch.ones(2))
        self.assertEqual(said.getvalue(), "size 2 [1.5]\n" * 2)
        self.assertEqual([(w.category, str(w.message)) for w in warned], [(UserWarning, "careful")] * 2)
        with contextlib.redirect_stdout(None), warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(Exception, "careful"):
                speak(torch.ones(2))

    def test_graphs(self):
        @jit.script
        def f(x, n: int):
            for i in range(n):
                x = scaled(x) + i
            return x

        graph = f.graph
        self.assertTrue(str(graph).startswith("graph(%x : Tensor,\n      %n : int):\n"))
        self.assertEqual([value.debugName() for value in graph.inputs()], ["x", "n"])
        self.assertEqual([str(value.type()) for value in graph.inputs()], ["Tensor", "int"])
        loop = graph.findNode("prim::Loop")
        (block,) = loop.blocks()
        self.assertEqual([node.kind() for node in block.nodes()], ["prim::CallFunction", "aten::add"])
        add = graph.findAllNodes("aten::add")[0]
        self.assertEqual((add.inputsSize(), add.outputsSize(), add.output().type().annotation_str), (3, 1, "Tensor"))
        self.assertEqual(add.inputsAt(0).node().kind(), "prim::CallFunction")
        self.assertEqual(add.output().uses()[0][0].kind(), "prim::Return")
        self.assertIn("x = scaled(x) + i", add.sourceRange())
        self.assertEqual(next(node for node in graph.nodes() if node.kind() == "prim::Constant" and node.hasAttribute("name")).s("name"),
                         "scaled")
        page = graph._repr_html_()
        self.assertTrue(page.startswith("<iframe") and page.endswith("</iframe>"))
        self.assertIn("aten::add", page)
        self.assertNotIn('"', page[page.index('srcdoc="') + 8:page.rindex('"')])
        self.assertIsNone(graph.findNode("aten::mul"))
        self.assertIsNotNone(f.inlined_graph.findNode("aten::mul"))
        self.assertEqual(graph.return_node().inputsAt(0), graph.outputs()[0])

    def test_files_of_functions(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.pt")
            jit.script(unannotated).save(path)
            self.assertEqual(jit.load(path)(torch.ones(1)).tolist(), [4])
        buffer = io.BytesIO()
        jit.save(jit.script(scaled), buffer)
        buffer.seek(0)
        self.assertEqual(jit.load(buffer)(torch.ones(1), 5).tolist(), [5])

    def test_overloads(self):
        @jit._overload
        def double(x: int) -> int: ...

        @jit._overload
        def double(x: str) -> str: ...

        def double(x):
            return x + x

        @jit.script
        def f(n: int, s: str) -> Tuple[int, str]:
            return double(n), double(s)

        self.assertEqual(f(2, "a"), (4, "aa"))
        with self.assertRaisesRegex(RuntimeError, "cannot be directly compiled because it is overloaded"):
            jit.script(double)

    def test_special_forms(self):
        @jit.script
        def f(x: typing.Any) -> int:
            empty = jit.annotate(List[int], [])
            if jit.is_scripting():
                empty.append(1)
            if isinstance(x, int):
                return x + len(empty)
            if isinstance(x, List[str]):
                return len(x)
            return -1

        self.assertEqual([f(5), f(["a", "b"]), f(0.5)], [6, 2, -1])
        self.assertEqual(jit.annotate(List[int], [1]), [1])
        self.assertFalse(jit.is_scripting())
        self.assertTrue(jit.isinstance([1], List[int]))
        self.assertFalse(jit.isinstance(["a"], List[int]))

    def test_fork(self):
        @jit.script
        def f(x):
            future = jit.fork(scaled, x)
            return jit.wait(future) + 1

        self.assertEqual(f(torch.ones(2)).tolist(), [4, 4])
        self.assertEqual(jit.wait(jit.fork(scaled, torch.ones(1))).tolist(), [3])


class Classes(unittest.TestCase):
    def test_instances_of_both_languages(self):
        @jit.script
        def f(c: Counter, k: int) -> Counter:
            return c.add(k)

        result = f(Counter(3), 4)
        self.assertEqual((result.n, result.double, result.log, len(result)), (7, 14, [4], 1))
        self.assertEqual(result.add(2).n, 9)
        result.n = 1
        self.assertEqual(f(result, 1).n, 2)
        self.assertEqual(Counter(1).add(1).n, 2)
        with self.assertRaises(AttributeError):
            result.nothing

    def test_dataclass(self):
        @jit.script
        def f(x: int) -> Tuple[float, bool]:
            item = Item(x)
            return item.x + item.y, item == Item(x, 0.5)

        self.assertEqual(f(2), (2.5, True))

    def test_enums(self):
        @jit.script
        def f(c: Color) -> Tuple[Color, int, bool]:
            return Color.GREEN, c.value, c == Color.RED

        self.assertEqual(f(Color.RED), (Color.GREEN, 1, True))

    def test_named_tuples(self):
        @jit.script
        def f(p: Point) -> Point:
            return Point(p.x + 1, n=p.n * 2)

        result = f(Point(torch.zeros(1)))
        self.assertIsInstance(result, Point)
        self.assertEqual((result.x.tolist(), result.n), ([1], 8))

    def test_classes_are_found_by_use(self):
        class Local:
            def __init__(self, n: int):
                self.n = n

        @jit.script
        def f(n: int) -> int:
            return Local(n).n + 1

        self.assertEqual(f(1), 2)

    def test_interfaces(self):
        @jit.script
        class Twice:
            def __init__(self):
                self.factor = 2

            def apply(self, x: Tensor) -> Tensor:
                return x * self.factor

        @jit.script
        def f(x: Tensor) -> Tensor:
            impl: Doubles = Twice()
            return impl.apply(x)

        self.assertEqual(f(torch.ones(1)).tolist(), [2])

    def test_refused(self):
        class Derived(Counter):
            pass

        with self.assertRaisesRegex(RuntimeError, "does not support inheritance"):
            jit.script(Derived)
        with self.assertRaisesRegex(RuntimeError, "cannot be compiled since it inherits from nn.Module"):
            jit.script(torch.nn.Linear)


if __name__ == "__main__":
    unittest.main()
