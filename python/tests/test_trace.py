"""sconce.jit.trace: graphs as PyTorch 2.13 makes them (python/tests/data/traced, written by tools/check_python_trace.py),
what traces warn of and refuse, and that they run and are saved."""

import pathlib
import tempfile
import unittest
import warnings
from typing import Dict, List, NamedTuple, Optional, Tuple

import sconce as torch
import traced_cases
from sconce import jit, nn

RECORDED = pathlib.Path(__file__).parent / "data" / "traced"


def trace(function, *inputs, **options):
    return jit.trace(function, inputs, **options)


def warnings_of(function, *inputs, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace(function, *inputs, **options)
    return [str(w.message) for w in caught if issubclass(w.category, jit.TracerWarning)]


class DictOfPairs(nn.Module):
    def forward(self, d: Dict[str, Tuple[torch.Tensor, torch.Tensor]]) -> Dict[str, Tuple[torch.Tensor, torch.Tensor]]:
        out: Dict[str, Tuple[torch.Tensor, torch.Tensor]] = {}
        for key, value in d.items():
            out[key] = (value[0] + 1, value[1] * 2)
        return out


class ListOfPairs(nn.Module):
    def forward(self, pairs: List[Tuple[torch.Tensor, torch.Tensor]]) -> List[Tuple[torch.Tensor, torch.Tensor]]:
        return [(a + b, a - b) for a, b in pairs]


class ListOfLists(nn.Module):
    def forward(self, lists: List[List[torch.Tensor]]) -> List[List[torch.Tensor]]:
        return [[a + 1 for a in items] for items in lists]


class Optionals(nn.Module):
    def forward(self, items: List[Optional[torch.Tensor]], more: Optional[torch.Tensor]) -> torch.Tensor:
        total = torch.zeros(2)
        for item in items:
            if item is not None:
                total = total + item
        return total if more is None else total + more


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


class NamedPairs(nn.Module):
    def forward(self, pairs: List[Pair], pair: Pair) -> Dict[str, List[torch.Tensor]]:
        return {"x": [p.a for p in pairs], "y": [p.b * 2 + pair.a for p in pairs]}


class Numbered(nn.Module):
    def forward(self, d: Dict[int, Dict[str, torch.Tensor]], sizes: List[int]) -> Dict[int, Dict[str, torch.Tensor]]:
        out: Dict[int, Dict[str, torch.Tensor]] = {}
        for key, value in d.items():
            out[key] = {"z": value["z"] * sizes[0]}
        return out


class RecordedGraphs(unittest.TestCase):
    def test_all_cases_have_files(self):
        self.assertEqual(sorted(p.stem for p in RECORDED.glob("*.txt")), sorted(c.name for c in traced_cases.CASES if c.recorded))
        self.assertGreater(len(list(RECORDED.glob("*.txt"))), 14)

    def test_results_of_traces_are_those_of_the_function(self):
        for case in traced_cases.CASES:
            if case.random:
                continue
            with self.subTest(case.name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function = case.build(torch)
                if isinstance(function, nn.Module):
                    function.eval()  # so that running statistics stay
                traced = jit.trace(function, case.inputs(torch), check_trace=False, strict=case.strict)
                inputs = case.other_inputs(torch)
                self.assertTrue(same(traced(*inputs), function(*inputs)))


def add_recorded(case):
    def test(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = jit.trace(case.build(torch), case.inputs(torch), check_trace=False, strict=case.strict)
        expected, got = (RECORDED / f"{case.name}.txt").read_text(), traced_cases.graphs(traced)
        if got != expected:
            self.fail(traced_cases.difference(expected, got))

    setattr(RecordedGraphs, f"test_{case.name}", test)


for each in traced_cases.CASES:
    if each.recorded:
        add_recorded(each)


def same(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and bool(torch.allclose(a.double(), b.double(), rtol=1e-5, atol=1e-6, equal_nan=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return float(a) == float(b)  # a size: a number here, a tensor without dimensions there


class Functions(unittest.TestCase):
    def test_runs_on_other_inputs(self):
        f = trace(lambda x, y: (x + y).relu(), torch.ones(3), torch.ones(3))
        self.assertEqual(f(torch.tensor([[1.0], [-5.0]]), torch.tensor([1.0])).tolist(), [[2.0], [0.0]])
        self.assertEqual(f(x=torch.ones(1), y=torch.ones(1)).tolist(), [2.0])

    def test_sizes_stay_dynamic(self):
        f = trace(lambda x: x.view(x.size(0), -1) * x.shape[1], torch.ones(2, 3, 4))
        self.assertEqual(list(f(torch.ones(5, 7, 2)).shape), [5, 14])
        self.assertEqual(f(torch.ones(5, 7, 2))[0, 0].item(), 7)

    def test_code_has_the_names_of_python(self):
        def scaled(x):
            twice = x * 2
            return twice + twice
        self.assertIn("twice = torch.mul(x, CONSTANTS.c0)", trace(scaled, torch.ones(2)).code)

    def test_containers(self):
        f = trace(lambda p, d: p[0] + p[1][0] * d["k"], (torch.ones(2), [torch.ones(2)]), {"k": torch.ones(2)})
        self.assertEqual(f((torch.ones(1), [torch.ones(1)]), {"k": torch.full((1,), 5.0)}).tolist(), [6.0])
        g = jit.trace(lambda d: d["a"] - d["b"], {"a": torch.ones(2), "b": torch.ones(2)})
        self.assertEqual(g({"a": torch.ones(1), "b": torch.zeros(1)}).tolist(), [1.0])

    def test_keyword_inputs(self):
        def f(x, y, z):
            return x + 2 * y + 3 * z
        traced = jit.trace(f, example_kwarg_inputs={"z": torch.ones(2), "x": torch.ones(2), "y": torch.ones(2)})
        self.assertEqual(traced(x=torch.ones(1), y=torch.zeros(1), z=torch.ones(1)).tolist(), [4.0])
        with self.assertRaises(NameError):
            jit.trace(f, example_kwarg_inputs={"w": torch.ones(2)})

    def test_the_same_tensor_twice_is_two_inputs(self):
        x = torch.ones(2)
        f = trace(lambda a, b: a + b * 2, x, x)
        self.assertEqual(f(torch.ones(1), torch.zeros(1)).tolist(), [1.0])

    def test_gradients(self):
        f = trace(lambda x, y: (x * y).sum(), torch.ones(3), torch.ones(3))
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        f(x, torch.tensor([2.0, 2.0, 5.0])).backward()
        self.assertEqual(x.grad.tolist(), [2.0, 2.0, 5.0])

    def test_script_functions_are_called(self):
        clipped = jit.CompilationUnit("def clipped(x):\n    if bool(x.sum() > 10):\n        return x.zero_()\n    return x + 1\n").clipped
        f = trace(lambda x: clipped(x) * 2, torch.ones(2))
        self.assertIn("prim::CallFunction", str(f.graph))
        self.assertEqual(f(torch.ones(2)).tolist(), [4.0, 4.0])
        self.assertEqual(f(torch.full((2,), 9.0)).tolist(), [0.0, 0.0])

    def test_script_if_tracing(self):
        @jit.script_if_tracing
        def halved(x):
            while bool(x.sum() > 1):
                x = x / 2
            return x

        f = trace(lambda x: halved(x) + 0, torch.ones(2))
        self.assertEqual(f(torch.full((2,), 16.0)).tolist(), [0.5, 0.5])
        self.assertEqual(halved(torch.ones(2)).tolist(), [0.5, 0.5])

    def test_is_tracing(self):
        seen = []
        trace(lambda x: (seen.append(jit.is_tracing()), x + 1)[1], torch.ones(1), check_trace=False)
        self.assertEqual((seen, jit.is_tracing(), jit._trace.is_tracing()), ([True], False, False))

    def test_refusals(self):
        weight = torch.ones(2, requires_grad=True)
        refused = {
            "Cannot insert a Tensor that requires grad as a constant": lambda x: x + weight,
            "did not have observable data dependence with trace inputs": lambda x: OUTSIDE,
            "The traced function didn't return any values": lambda x: None,
            "Encountering a dict at the output of the tracer": lambda x: {"a": x},
            "Only tensors, lists, tuples of tensors, or dictionary of tensors": lambda x: 3,
            "Tracing can't be nested": lambda x: jit.trace(lambda y: y, x),
        }
        for message, function in refused.items():
            with self.subTest(message), self.assertRaisesRegex(RuntimeError, message):
                trace(function, torch.ones(2))
            self.assertFalse(jit.is_tracing())
        with self.assertRaisesRegex(RuntimeError, "Type 'int' cannot be traced"):
            trace(lambda x, n: x * n, torch.ones(2), 3)
        with self.assertRaises(ZeroDivisionError):
            trace(lambda x: x / (1 // 0), torch.ones(2))
        with self.assertRaises(NotImplementedError):
            trace(lambda x: x, torch.ones(2), _force_outplace=True)


OUTSIDE = torch.ones(2)


class Warnings(unittest.TestCase):
    VALUE = " might cause the trace to be incorrect. We can't record the data flow of Python values"

    def test_values_of_python(self):
        x = torch.ones(1)
        for what, function in {"boolean": lambda x: x if x else -x, "integer": lambda x: x + int(x), "float": lambda x: x * float(x),
                               "number": lambda x: x * x.item(), "list": lambda x: x * x.tolist()[0],
                               "index": lambda x: x + [5, 6][x.long()]}.items():
            with self.subTest(what):
                self.assertTrue(warnings_of(function, x, check_trace=False)[0].startswith(
                    f"Converting a tensor to a Python {what}" + self.VALUE))

    def test_shapes_and_constructors(self):
        self.assertTrue(warnings_of(lambda x: sum(row for row in x), torch.ones(2, 2), check_trace=False)[0].startswith(
            "Iterating over a tensor might cause the trace to be incorrect."))
        self.assertTrue(warnings_of(lambda x: x * len(x), torch.ones(2), check_trace=False)[0].startswith("Using len to get tensor shape"))
        self.assertTrue(warnings_of(lambda x: x + torch.tensor([1.0]), torch.ones(2), check_trace=False)[0].startswith(
            "torch.tensor results are registered as constants in the trace."))
        self.assertTrue(warnings_of(lambda x: [x + 1], torch.ones(2))[0].startswith("Encountering a list at the output of the tracer"))
        self.assertEqual(warnings_of(lambda x: [x + 1], torch.ones(2), strict=False), [])
        self.assertEqual(warnings_of(lambda x: x.view(x.size(0), -1)[: x.shape[0] - 1], torch.ones(2, 2)), [])

    def test_an_error_of_a_warning_leaves_no_trace_open(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(jit.TracerWarning):
                trace(lambda x: x if x else -x, torch.ones(1))
        self.assertFalse(jit.is_tracing())


class Checks(unittest.TestCase):
    def test_other_graph(self):
        calls = []

        def f(x):
            calls.append(1)
            return x + 1 if len(calls) == 1 else x * 2
        with warnings.catch_warnings(), self.assertRaisesRegex(jit.TracingCheckError, "Graphs differed across invocations"):
            warnings.simplefilter("ignore")
            trace(f, torch.ones(2))

    def test_other_results(self):
        found = warnings_of(lambda x: x + 1 if bool(x.sum() > 0) else x * 5, torch.ones(2), check_inputs=[(-torch.ones(2),)],
                            check_trace=False)
        self.assertEqual(len(found), 1)  # of bool alone: nothing is checked
        with warnings.catch_warnings(record=True) as caught, self.assertRaises(jit.TracingCheckError):
            warnings.simplefilter("always")
            trace(lambda x: x + 1 if bool(x.sum() > 0) else x * 5, torch.ones(2), check_inputs=[(-torch.ones(2),)])
        self.assertTrue(any("Output nr 1. of the traced function does not match the corresponding output of the Python function"
                            in str(w.message) for w in caught))

    def test_random_nodes(self):
        found = warnings_of(lambda x: torch.nn.functional.dropout(x, 0.5, True), torch.ones(100))
        self.assertTrue(any(text.startswith("Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n")
                            for text in found))
        self.assertTrue(any("aten::dropout" in text for text in found))

    def test_tolerance(self):
        def noisy(x):
            return x + 1e-3 * torch.rand_like(x)
        self.assertEqual(warnings_of(noisy, torch.ones(9), check_tolerance=1e-1), [])
        self.assertGreater(len(warnings_of(noisy, torch.ones(9))), 1)


class Modules(unittest.TestCase):
    def module(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 2)
                self.register_buffer("scale", torch.full((2,), 2.0))

            def forward(self, x):
                return self.fc(x) * self.scale

            def shifted(self, x, by):
                return self.forward(x) + by

        return Scaled()

    def test_shares_parameters(self):
        module = self.module()
        traced = trace(module, torch.ones(1, 3))
        with torch.no_grad():
            module.fc.weight.fill_(1.0)
            module.fc.bias.zero_()
        self.assertEqual(traced(torch.ones(1, 3)).tolist(), [[6.0, 6.0]])
        traced(torch.ones(1, 3)).sum().backward()
        self.assertEqual(module.fc.weight.grad.tolist(), [[2.0] * 3] * 2)
        self.assertEqual([name for name, _ in traced.named_parameters()], ["fc.weight", "fc.bias"])

    def test_forward_and_bound_methods(self):
        module = self.module()
        self.assertEqual(traced_cases.graphs(jit.trace(module.forward, torch.ones(1, 3))),
                         traced_cases.graphs(jit.trace(module, torch.ones(1, 3))))
        with self.assertRaisesRegex(AttributeError, "Please use trace_module"):
            jit.trace(module.shifted, (torch.ones(1, 3), torch.ones(1)))

    def test_several_methods(self):
        module = self.module()
        inputs = {"forward": torch.ones(1, 3), "shifted": (torch.ones(1, 3), torch.ones(1))}
        traced = jit.trace_module(module, inputs)
        x = torch.rand(2, 3)
        self.assertTrue(same(traced(x), module(x)))
        self.assertTrue(same(traced.shifted(x, torch.ones(2)), module.shifted(x, torch.ones(2))))
        with self.assertRaises(AttributeError):
            jit.trace_module(lambda x: x, inputs)
        with self.assertRaises(AttributeError):
            jit.trace_module(module, torch.ones(1))

    def test_keyword_inputs(self):
        module = self.module()
        traced = jit.trace(module, example_kwarg_inputs={"x": torch.ones(1, 3)})
        self.assertTrue(same(traced(x=torch.ones(2, 3)), module(torch.ones(2, 3))))
        with self.assertRaisesRegex(NameError, "is not in forward"):
            jit.trace(module, example_kwarg_inputs={"y": torch.ones(1, 3)})

    def test_shared_parameters_are_refused(self):
        module = self.module()
        module.again = module.fc.weight
        module.more = module.fc.weight
        with self.assertRaisesRegex(ValueError, "TracedModules don't support parameter sharing between modules"):
            trace(module, torch.ones(1, 3))

    def test_calls_of_modules_are_as_before(self):
        before = nn.Module.__dict__.get("__call__")
        with self.assertRaises(ZeroDivisionError):
            trace(nn.Sequential(nn.Linear(3, 2)), 1 / 0)
        trace(self.module(), torch.ones(1, 3))
        self.assertIs(nn.Module.__dict__.get("__call__"), before)

    def test_scripted_submodules_are_called(self):
        class Doubling(nn.Module):
            def forward(self, x):
                if bool(x.sum() > 10):
                    return x
                return x * 2

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = jit.script(Doubling())

            def forward(self, x):
                return self.inner(x) + 1

        traced = trace(Outer(), torch.ones(2))
        self.assertIn('prim::CallMethod[name="forward"]', str(traced.graph))
        self.assertEqual(traced(torch.ones(2)).tolist(), [3.0, 3.0])
        self.assertEqual(traced(torch.full((2,), 9.0)).tolist(), [10.0, 10.0])

    def test_containers_cross_the_border_to_scripts(self):
        x, y = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0])
        uses = [
            (DictOfPairs, lambda c, x: (lambda r: r["a"][0] + r["b"][1])(c({"a": (x, x * 2), "b": (x + 1, x)}))),
            (ListOfPairs, lambda c, x: (lambda r: r[0][0] * r[1][1])(c([(x, x * 2), (x + 1, x)]))),
            (ListOfLists, lambda c, x: (lambda r: r[0][0] * r[1][0])(c([[x, x * 2], [x + 1]]))),
            (Optionals, lambda c, x: c([x, None, x * 2], None) + c([None], x)),
            (NamedPairs, lambda c, x: (lambda r: r["x"][0] - r["y"][1])(c([Pair(x, x * 2), Pair(x, x * 3)], Pair(x, x)))),
            (Numbered, lambda c, x: (lambda r: r[1]["z"] - r[2]["z"] * 2)(c({1: {"z": x}, 2: {"z": x * 3}}, [3, 4]))),
        ]
        for kind, use in uses:
            class Parent(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.child = jit.script(kind())

                def forward(self, x):
                    return use(self.child, x)

            module = Parent()
            traced = jit.trace(module, (x,), check_inputs=[(y,)])
            self.assertEqual(traced(y).tolist(), module(y).tolist(), kind.__name__)
            with tempfile.TemporaryDirectory() as folder:
                file = str(pathlib.Path(folder) / "m.pt")
                traced.save(file)
                self.assertEqual(jit.load(file)(y).tolist(), module(y).tolist(), kind.__name__)

    def test_modules_outside_are_refused(self):
        other = jit.script(nn.Linear(3, 3))
        with self.assertRaisesRegex(RuntimeError, "it is not part of the active trace"):
            trace(lambda x: other(x), torch.ones(1, 3))

    def test_steps_of_optimizers_are_refused(self):
        def f(value, gradient):
            p = value.clone().requires_grad_()
            p.grad = gradient
            torch.optim.SGD([p], lr=0.1).step()
            return p.detach()
        self.assertEqual(f(torch.ones(2), torch.ones(2)).tolist(), [0.8999999761581421] * 2)
        with self.assertRaisesRegex(NotImplementedError, "a step of an optimizer cannot be traced"):
            torch.jit.trace(f, (torch.ones(2), torch.ones(2)), check_trace=False)  # was: a graph without the step

    def test_archive(self):
        for case in traced_cases.CASES:
            if case.random or not case.recorded:
                continue
            with self.subTest(case.name), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function = case.build(torch)
                if not isinstance(function, nn.Module):
                    continue
                traced = trace(function.eval(), *case.inputs(torch), check_trace=False)
                traced.save(f"{folder}/traced.pt")
                loaded = jit.load(f"{folder}/traced.pt")
                inputs = case.other_inputs(torch)
                self.assertTrue(same(loaded(*inputs), traced(*inputs)))


class Lifetime(unittest.TestCase):
    def test_graphs_keep_their_types(self):
        graph = torch.jit.trace(torch.nn.Linear(3, 2), torch.ones(1, 3)).graph
        for _ in range(100):  # what was freed is used again
            torch.jit.trace(torch.nn.ReLU(), torch.ones(1))
        self.assertRegex(str(graph), r"^graph\(%self : \S*Linear,")
        self.assertRegex(str(graph.copy()), r"^graph\(%self : \S*Linear,")


if __name__ == "__main__":
    unittest.main()
