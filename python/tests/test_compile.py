"""sconce.compile: entries and guards, recompilation and its limits, stances, modules, threads, logs, explain."""

import collections
import copy
import functools
import gc
import inspect
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import weakref

import sconce
from sconce import _dynamo, compiler, nn


def counted(function=None, **options):
    """(compiled function, counter of its graphs)."""
    counter = _dynamo.testing.CompileCounter()
    return sconce.compile(function, backend=counter, **options), counter


class Case(unittest.TestCase):
    def setUp(self):
        compiler.reset()

    def equal(self, a, b):
        sconce.testing.assert_close(a, b)


class Functions(Case):
    def test_texts_of_containers_show_elements(self):
        def f(x):
            return str({"p": x * 2}), repr(collections.deque([x + 1])), "%s" % [x], str(ValueError(x))
        x = sconce.ones(2)
        self.assertEqual(sconce.compile(f)(x), f(x))

    def test_call(self):
        def f(a, b=2.0, *rest, scale=1.0, **more):
            return a * b * scale + len(rest) + len(more)

        compiled, counter = counted(f)
        x = sconce.ones(3)
        for args, kwargs in (((x,), {}), ((x, 3.0), {}), ((x, 3.0, 1, 2), {}), ((x,), {"scale": 2.0, "k": 1}), ((x, 3.0), {"b": 1.0}),
                             ((), {}), ((x,), {"scale": 4.0}), ((), {"a": x})):
            try:
                want = f(*args, **kwargs)
            except TypeError as error:
                with self.assertRaisesRegex(TypeError, str(error).replace("(", r"\(").replace(")", r"\)").split(": ")[-1]):
                    compiled(*args, **kwargs)
            else:
                self.equal(compiled(*args, **kwargs), want)

    def test_entries(self):
        compiled, counter = counted(lambda x: x + 1)
        for _ in range(5):
            self.equal(compiled(sconce.ones(3)), sconce.full((3,), 2.0))
        self.assertEqual(counter.frame_count, 1)
        compiled(sconce.ones(3, dtype=sconce.float64))
        self.assertEqual(counter.frame_count, 2)
        compiled(sconce.ones(3))
        self.assertEqual(counter.frame_count, 2)
        self.assertEqual(len(compiled._entries()), 2)

    def test_modes_are_guarded(self):
        compiled, counter = counted(lambda x: x * 2)
        x = sconce.ones(3, requires_grad=True)
        self.assertTrue(compiled(x).requires_grad)
        with sconce.no_grad():
            self.assertFalse(compiled(x).requires_grad)
        self.assertEqual(counter.frame_count, 2)

    def test_surface(self):
        def f(x, y=1):
            """Adds."""
            return x + y

        f.mark = "m"
        compiled = sconce.compile(f)
        self.assertIs(compiled.__wrapped__, f)
        self.assertEqual((compiled.__name__, compiled.__doc__, compiled.mark), ("f", "Adds.", "m"))
        self.assertEqual(inspect.signature(compiled), inspect.signature(f))
        self.assertIn("compiled function", repr(compiled))
        self.assertIs(copy.deepcopy(compiled), compiled)
        with self.assertRaisesRegex(TypeError, "cannot pickle the compiled function '.*f'"):
            pickle.dumps(compiled)
        compiled.extra = 3
        self.assertEqual(compiled.extra, 3)
        self.assertIs(sconce.compile(compiled).__wrapped__, f)

    def test_methods(self):
        class Thing:
            def __init__(self, k):
                self.k = k

            @sconce.compile
            def times(self, x):
                return x * self.k

            def plus(self, x):
                return x + self.k

        a, b, x = Thing(2), Thing(3), sconce.ones(2)
        self.equal(a.times(x), x * 2)
        self.equal(b.times(x), x * 3)
        a.k = 5
        self.equal(a.times(x), x * 5)
        self.equal(sconce.compile(a.plus)(x), x + 5)
        self.assertIs(Thing.times.__wrapped__, Thing.__dict__["times"].__wrapped__)

    def test_callables(self):
        x = sconce.ones(2)
        self.equal(sconce.compile(functools.partial(sconce.add, x))(x), x + x)
        self.equal(sconce.compile(sconce.add)(x, x), x + x)

        class Adder:
            def __call__(self, x):
                return x + 1

        self.equal(sconce.compile(Adder())(x), x + 1)
        with self.assertRaisesRegex(TypeError, "expected a function, method or module, got int"):
            sconce.compile(3)

    def test_exceptions(self):
        def f(x, n):
            y = x + 1
            if n == 0:
                raise ValueError("n is 0")
            return y / n

        compiled = sconce.compile(f)
        self.equal(compiled(sconce.ones(2), 2), sconce.ones(2))
        for _ in range(2):
            try:
                compiled(sconce.ones(2), 0)
            except ValueError as error:
                frames = inspect.getinnerframes(error.__traceback__)
        self.assertEqual((frames[-1].function, frames[-1].code_context[0].strip()), ("f", 'raise ValueError("n is 0")'))

    def test_recursion(self):
        @sconce.compile
        def f(x, n):
            return x if n == 0 else f(x, n - 1) + 1

        self.equal(f(sconce.zeros(2), 4), sconce.full((2,), 4.0))

    def test_new_code(self):
        def f(x):
            return x + 1

        def g(x):
            return x + 2

        compiled = sconce.compile(f)
        self.equal(compiled(sconce.zeros(2)), sconce.ones(2))
        f.__code__ = g.__code__
        self.equal(compiled(sconce.zeros(2)), sconce.full((2,), 2.0))

    def test_no_leak(self):
        class Big:
            pass

        def make():
            big = Big()

            def f(x):
                return x + (1 if big else 2)

            compiled = sconce.compile(f)
            compiled(sconce.ones(2))
            compiled.me = compiled
            return weakref.ref(big), weakref.ref(compiled), weakref.ref(f)

        references = make()
        gc.collect()
        self.assertEqual([reference() for reference in references], [None] * 3)

    def test_break_in_a_loop_is_collected(self):
        # The rest of the loop resumes itself: its code, which owns its cache, may be freed before that.
        def make():
            def f(x):
                for _ in range(3):
                    x = x + 1
                    sconce.compiler.graph_break()
                return x

            self.assertEqual(sconce.compile(f)(sconce.ones(2)).tolist(), [4, 4])
            return weakref.ref(f)

        reference = make()
        gc.collect()
        self.assertIsNone(reference())

    def test_arguments_are_not_kept(self):
        compiled = sconce.compile(lambda x, thing: x + 1)

        class Thing:
            pass

        thing, x = Thing(), sconce.ones(2)
        seen = weakref.ref(thing), weakref.ref(x)
        compiled(x, thing)
        del thing, x
        gc.collect()
        self.assertEqual([reference() for reference in seen], [None, None])

    def test_nothing_to_capture(self):
        calls = []

        def f(n):
            calls.append(n)
            return n + 1

        compiled = sconce.compile(f)
        self.assertEqual([compiled(i) for i in range(6)], [1, 2, 3, 4, 5, 6])
        self.assertEqual(calls, list(range(6)))

    def test_generators(self):
        @sconce.compile
        def f(x):
            yield x + 1
            yield x + 2

        self.assertEqual([t.item() for t in f(sconce.zeros(()))], [1.0, 2.0])


class Recompiles(Case):
    def test_limit(self):
        def f(x, k):
            return x + len(k)

        compiled, counter = counted(f)
        with warnings.catch_warnings(), self.assertLogs("sconce._dynamo", "WARNING") as caught:
            warnings.simplefilter("error")  # no warning: the program could have made it an exception
            for n in range(12):
                self.equal(compiled(sconce.zeros(2), "a" * n), sconce.full((2,), float(n)))
        self.assertEqual(counter.frame_count, 8)
        self.assertEqual(len(caught.records), 1)
        text = caught.records[0].getMessage()
        self.assertIn("hit config.recompile_limit (8)", text)
        self.assertIn("L['k'] == ''", text)
        self.assertIn("What to do", text)
        for n in range(12):
            self.equal(compiled(sconce.zeros(2), "a" * n), sconce.full((2,), float(n)))

    def test_limit_as_error(self):
        compiled = sconce.compile(lambda x, k: x + len(k))
        with _dynamo.config.patch(recompile_limit=2, fail_on_recompile_limit_hit=True):
            compiled(sconce.zeros(2), "")
            compiled(sconce.zeros(2), "a")
            with self.assertRaisesRegex(_dynamo.exc.FailOnRecompileLimitHit, "recompile_limit"):
                compiled(sconce.zeros(2), "aa")
        self.assertEqual(_dynamo.config.cache_size_limit, 8)

    def test_config(self):
        with self.assertRaisesRegex(AttributeError, "does not exist; known are .*recompile_limit"):
            _dynamo.config.recompile_limits = 3
        with self.assertRaisesRegex(TypeError, "must be a positive int, got 'x'"):
            _dynamo.config.recompile_limit = "x"
        with _dynamo.config.patch(capture_scalar_outputs=False):  # kept, without effect
            self.assertFalse(_dynamo.config.capture_scalar_outputs)
            self.assertEqual(sconce.compile(lambda x: x.sum().item(), fullgraph=True)(sconce.ones(2)), 2.0)
        self.assertTrue(_dynamo.config.capture_scalar_outputs)

    def test_most_recent_first(self):
        compiled = sconce.compile(lambda x, k: x + len(k))
        for k in ("", "a", "aa", "", "a"):
            compiled(sconce.zeros(2), k)
        self.assertEqual([entry[0] for entry in compiled._entries()], [1, 0, 2])

    def test_dead_objects_drop_entries(self):
        class Key:
            pass

        def f(x, key):
            return x + 1 if key is first else x + 2

        first = Key()
        compiled = sconce.compile(f)
        for _ in range(20):  # each is another object, dead when the next one comes
            compiled(sconce.zeros(2), Key())
        self.assertLessEqual(len(compiled._entries()), 8)


class Sizes(Case):
    def test_second_size_is_free(self):
        compiled, counter = counted(lambda x: (x * 2).sum(1))
        for n in (4, 5, 6, 7, 64, 100):
            self.equal(compiled(sconce.ones(n, 3)), sconce.full((n,), 6.0))
        self.assertLessEqual(counter.frame_count, 2)

    def test_fixed(self):
        compiled, counter = counted(lambda x: x * 2, dynamic=False)
        for n in (4, 5, 6):
            self.equal(compiled(sconce.ones(n)), sconce.full((n,), 2.0))
        self.assertEqual(counter.frame_count, 3)

    def test_free_from_the_start(self):
        compiled, counter = counted(lambda x: x * 2, dynamic=True)
        for n in (4, 5, 6):
            self.equal(compiled(sconce.ones(n)), sconce.full((n,), 2.0))
        self.assertEqual(counter.frame_count, 1)

    def test_marks(self):
        compiled, counter = counted(lambda x: x * 2)
        for n in (4, 5, 6):
            x = sconce.ones(n)
            compiler.mark_dynamic(x, 0)
            self.equal(compiled(x), sconce.full((n,), 2.0))
        self.assertEqual(counter.frame_count, 1)
        compiled, counter = counted(lambda x: x * 2)
        for n in (4, 5, 6):
            x = sconce.ones(n)
            compiler.mark_static(x, 0)
            compiled(x)
        self.assertEqual(counter.frame_count, 3)
        with self.assertRaisesRegex(IndexError, "mark_dynamic: dimension 3 of a tensor with 1"):
            compiler.mark_dynamic(sconce.ones(3), 3)
        with self.assertRaisesRegex(ValueError, "outside of 5 to None"):
            compiler.mark_dynamic(sconce.ones(3), 0, min=5)


class Stances(Case):
    def test_force_eager(self):
        compiled, counter = counted(lambda x: x + 1)
        with compiler.set_stance("force_eager"):
            self.equal(compiled(sconce.zeros(2)), sconce.ones(2))
        self.assertEqual(counter.frame_count, 0)
        compiled(sconce.zeros(2))
        self.assertEqual(counter.frame_count, 1)

    def test_eager_on_recompile(self):
        compiled, counter = counted(lambda x: x + 1)
        compiled(sconce.zeros(2))

        @compiler.set_stance("eager_on_recompile")
        def run():
            self.equal(compiled(sconce.zeros(3)), sconce.ones(3))
            self.equal(compiled(sconce.zeros(2)), sconce.ones(2))

        run()
        self.assertEqual(counter.frame_count, 1)

    def test_fail_on_recompile(self):
        compiled, counter = counted(lambda x: x + 1)
        compiled(sconce.zeros(2))
        with compiler.set_stance("fail_on_recompile"):
            compiled(sconce.zeros(2))
            with self.assertRaisesRegex(_dynamo.exc.RecompileError, "size mismatch at index 0. expected 2, actual 3"):
                compiled(sconce.zeros(3))
        compiled(sconce.zeros(3))

    def test_eager_then_compile(self):
        compiled, counter = counted(lambda x: x + 1)
        with compiler.set_stance("eager_then_compile"):
            compiled(sconce.zeros(2))
            self.assertEqual(counter.frame_count, 0)
            for n in (3, 4, 5):
                self.equal(compiled(sconce.zeros(n)), sconce.ones(n))
        self.assertEqual(counter.frame_count, 1)

    def test_force_backend(self):
        counter = _dynamo.testing.CompileCounter()
        compiled = sconce.compile(lambda x: x + 1)
        with compiler.set_stance(force_backend=counter):
            compiled(sconce.zeros(2))
        self.assertEqual(counter.frame_count, 1)

    def test_wrong(self):
        with self.assertRaisesRegex(RuntimeError, "Invalid stance: lazy. Must be one of: default, force_eager"):
            compiler.set_stance("lazy")
        with self.assertRaisesRegex(RuntimeError, "only supported with the 'default' stance"):
            compiler.set_stance("force_eager", force_backend="eager")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)
        self.scale = 1.0

    def forward(self, x):
        return self.second(sconce.relu(self.first(x))) * self.scale


class Modules(Case):
    def test_call(self):
        net = Net()
        compiled = sconce.compile(net)
        x = sconce.randn(3, 4)
        for _ in range(3):
            self.equal(compiled(x), net(x))
        self.assertIsInstance(compiled, nn.Module)
        self.assertIs(compiled.first, net.first)
        self.assertEqual(list(compiled.state_dict()), list(net.state_dict()))
        self.assertEqual([id(p) for p in compiled.parameters()], [id(p) for p in net.parameters()])
        compiled.scale = 3.0
        self.assertEqual(net.scale, 3.0)
        self.equal(compiled(x), net(x))
        compiled.eval()
        self.assertFalse(net.training)
        self.assertIn("(_orig_mod): Net(", repr(compiled))

    def test_parameters_change(self):
        net = Net()
        compiled = sconce.compile(net)
        x = sconce.randn(3, 4)
        for _ in range(4):
            compiled(x)
        with sconce.no_grad():
            net.first.weight.mul_(2)
        self.equal(compiled(x), net(x))
        net.first = nn.Linear(4, 8)
        self.equal(compiled(x), net(x))
        net.second.weight = nn.Parameter(sconce.ones(2, 8))
        self.equal(compiled(x), net(x))
        net.double()
        self.equal(compiled(x.double()), net(x.double()))

    def test_hooks(self):
        net = Net()
        compiled = sconce.compile(net)
        x = sconce.randn(3, 4)
        compiled(x)
        handle = net.register_forward_hook(lambda module, args, result: result + 1)
        self.equal(compiled(x), net(x))
        inner = net.first.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        self.equal(compiled(x), net(x))
        handle.remove()
        inner.remove()
        self.equal(compiled(x), net(x))

    def test_compile_in_place(self):
        net, x = Net(), sconce.randn(3, 4)
        want = net(x)
        net.compile()
        self.equal(net(x), want)

    def test_training(self):
        sconce.manual_seed(0)
        net = Net()
        other = copy.deepcopy(net)
        x = sconce.randn(5, 4)
        sconce.compile(net)(x).sum().backward()
        other(x).sum().backward()
        for a, b in zip(net.parameters(), other.parameters()):
            self.equal(a.grad, b.grad)

    def test_copies(self):
        compiled = sconce.compile(Net())
        twin = copy.deepcopy(compiled)
        x = sconce.randn(3, 4)
        self.equal(twin(x), compiled(x))
        self.assertIsNot(twin.first, compiled.first)


class Interface(Case):
    def test_wrong_arguments(self):
        def f(x):
            return x

        for options, error, text in (
                ({"mode": "zz"}, RuntimeError, "Unrecognized mode=zz, should be one of: default, reduce-overhead"),
                ({"mode": "default", "options": {}}, RuntimeError, "Either mode or options can be specified"),
                ({"options": {"zz": 1}}, RuntimeError, r"Unexpected optimization option zz, known options are \['plans'\]"),
                ({"options": {"plans": 3}}, RuntimeError, "Unexpected type of attr plans, got int should be bool"),
                ({"backend": "zz"}, _dynamo.exc.InvalidBackend, "Invalid backend: 'zz'.*known are .*eager"),
                ({"backend": 3}, TypeError, "a name or a callable, got int"), ({"dynamic": 3}, TypeError, "dynamic must be")):
            with self.assertRaisesRegex(error, text):
                sconce.compile(f, **options)

    def test_disable(self):
        def f(x):
            return x + 1

        self.assertIs(sconce.compile(f, disable=True), f)

        @compiler.disable
        def secret(x):
            return x * 2

        counter = _dynamo.testing.CompileCounter()

        @sconce.compile(backend=counter)
        def g(x):
            return secret(x + 1) + 1

        self.equal(g(sconce.zeros(2)), sconce.full((2,), 3.0))
        self.assertEqual(counter.op_count, 2)
        self.assertEqual(secret.__name__, "secret")
        found = _dynamo.explain(lambda x: secret(x + 1))(sconce.zeros(2))
        self.assertIn("a function for which capture is disabled", found.break_reasons[0].reason)

    def test_nested(self):
        @sconce.compile
        def inner(x):
            return x * 2

        compiled, counter = counted(lambda x: inner(x) + 1, fullgraph=True)
        self.equal(compiled(sconce.ones(2)), sconce.full((2,), 3.0))
        self.assertEqual((counter.frame_count, counter.op_count), (1, 2))

    def test_marked_functions(self):
        calls = []

        @compiler.assume_constant_result
        def setting(name):
            calls.append(name)
            return len(calls) * 10

        compiled = sconce.compile(lambda x: x + setting("width"), fullgraph=True)
        for _ in range(3):
            self.equal(compiled(sconce.zeros(2)), sconce.full((2,), 10.0))
        self.assertEqual(calls, ["width"])

        @compiler.allow_in_graph
        def opaque(x):
            calls.append("opaque")
            return sconce.relu(x) + 1

        compiled = sconce.compile(lambda x: opaque(x - 1) * 2, fullgraph=True)
        for _ in range(3):
            self.equal(compiled(sconce.ones(2)), sconce.full((2,), 2.0))
        self.assertEqual(calls, ["width", "opaque"])

    def test_fullgraph(self):
        @sconce.compile(fullgraph=True)
        def f(x):
            y = x + 1
            compiler.graph_break()
            return y * 2

        with self.assertRaises(_dynamo.exc.Unsupported) as caught:
            f(sconce.ones(2))
        text = str(caught.exception)
        self.assertIn("graph_break was called [SC", text)
        self.assertIn("test_compile.py", text)
        self.assertIn("compiler.graph_break()", text)

    def test_is_compiling(self):
        def f(x):
            return x + (1 if compiler.is_compiling() else 2)

        self.equal(f(sconce.zeros(2)), sconce.full((2,), 2.0))
        self.equal(sconce.compile(f)(sconce.zeros(2)), sconce.ones(2))
        self.assertFalse(compiler.is_compiling())

    def test_explain(self):
        def f(a, b):
            x = a / (sconce.abs(a) + 1)
            if b.sum() < 0:
                b = b * -1
            return x * b

        found = _dynamo.explain(f)(sconce.ones(3), sconce.ones(3))
        self.assertEqual((found.graph_count, found.graph_break_count, found.op_count), (2, 1, 6))
        self.assertIn("the truth of a tensor decides a branch", found.break_reasons[0].reason)
        self.assertIn("Graph Count: 2\nGraph Break Count: 1\nOp Count: 6\nBreak Reasons:\n  Break Reason 1:", str(found))
        self.assertTrue(any("check_tensor(L['a']" in guard for guard in found.out_guards))

    def test_export(self):
        graph, guards = _dynamo.export(lambda x, y: sconce.relu(x) + y)(sconce.ones(2), sconce.ones(2))
        self.equal(graph(sconce.ones(2), sconce.ones(2))[0], sconce.full((2,), 2.0))
        self.assertGreaterEqual(len(guards), 2)

    def test_save(self):
        net, x = Net(), sconce.randn(3, 4)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.pt")
            compiler.save(net, (x,), path)
            loaded = sconce.jit.load(path)
            self.equal(loaded(x), net(x))
            self.assertEqual(len(list(loaded.parameters())), 4)
            compiler.save(net, (x,), path + "2")
            self.equal(sconce.jit.load(path + "2")(x), net(x))
            with self.assertRaisesRegex(ValueError, r"net.onnx must end with .pt \(TorchScript\) or .pt2 \(exported program\)"):
                compiler.save(net, (x,), os.path.join(folder, "net.onnx"))

    def test_classes_over_containers(self):
        """Instances are made again without the program's methods, which have run."""
        calls = []

        class Table(collections.OrderedDict):
            def __init__(self, *args):
                super().__init__(*args)
                calls.append("init")

            def __setitem__(self, key, value):
                super().__setitem__(key, value)
                super().__setattr__(key, value)

            def __reduce__(self):
                raise TypeError("not pickled")

        class Row(list):
            def append(self, value):
                super().append(value)
                sconce.compiler.graph_break()  # with the bound method of list on the stack
                super().append(value)

        def f(x):
            table, row = Table(), Row()
            table["b"] = x + 1
            table["a"] = x + 2
            table.move_to_end("b")
            row.append(x * 2)
            row.name = "row"
            return table, row

        table, row = sconce.compile(f)(sconce.ones(2))
        self.assertEqual((type(table), list(table), calls), (Table, ["a", "b"], ["init"]))
        self.equal(table.b, sconce.full((2,), 2.0))
        self.assertEqual((type(row), len(row), row.name), (Row, 2, "row"))

    def test_iterators_from_outside(self):
        """Code of C does not use up an iterator while the function is evaluated."""
        def f(x, items):
            return x + 1, tuple(item for item in items)

        for items in ([1, 2], {1: 2, 3: 4}, {5, 6}, collections.deque([7])):
            self.assertEqual(sconce.compile(f)(sconce.ones(2), iter(items))[1], tuple(items))

    def test_annotated_functions(self):
        def f(x):
            def inner(y: sconce.Tensor, times: int = 2) -> sconce.Tensor:
                return y * times
            return inner(x), len(inspect.signature(inner).parameters), inner.__annotations__["times"]

        result = sconce.compile(f, fullgraph=True)(sconce.ones(2))
        self.equal(result[0], sconce.full((2,), 2.0))
        self.assertEqual(result[1:], (2, int))

    def test_backends(self):
        self.assertIn("sconce", compiler.list_backends())
        for backend in ("eager", "interpreter", "sconce", "inductor", "aot_eager"):
            self.equal(sconce.compile(lambda x: x + 1, backend=backend)(sconce.zeros(2)), sconce.ones(2))

    def test_counters(self):
        sconce.compile(lambda x: x + 1)(sconce.zeros(2))
        self.assertEqual(_dynamo.utils.counters["stats"]["unique_graphs"], 1)


class Threads(Case):
    def test_two_threads(self):
        @sconce.compile
        def f(x, k):
            return x * len(k) + 1

        wrong = []

        def run(start):
            for i in range(300):
                k = "a" * ((start + i) % 5)
                x = sconce.full((1 + i % 3,), 2.0)
                if not sconce.equal(f(x, k), x * len(k) + 1):
                    wrong.append((start, i))

        threads = [threading.Thread(target=run, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_modes_of_threads(self):
        compiled = sconce.compile(lambda x: x * 2)
        x = sconce.ones(2, requires_grad=True)
        seen = []

        def run():
            with sconce.no_grad():
                for _ in range(100):
                    seen.append(compiled(x).requires_grad)

        thread = threading.Thread(target=run)
        thread.start()
        mine = [compiled(x).requires_grad for _ in range(100)]
        thread.join()
        self.assertEqual((set(mine), set(seen)), ({True}, {False}))


OVERVIEW = """
import sconce as torch

@torch.compile
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

toy_example(torch.ones(10), torch.ones(10))
toy_example(torch.ones(10), -torch.ones(10))
"""


class Logs(Case):
    def logged(self, words, program=OVERVIEW):
        done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, SCONCE_LOGS=words), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_overview(self):
        text = self.logged("+dynamo,graph_code,guards,bytecode,output_code,graph_breaks,graph")
        for part in ("torchdynamo start tracing toy_example", "TRACED GRAPH", "L_a_", "L_b_", 'abs_1: "f32[10]" = torch.abs(l_a_)', "GUARDS:",
                     "check_tensor(L['a'], Tensor, DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), torch.float32, "
                     "device=None, requires_grad=False, size=[10], stride=[1])", "ORIGINAL BYTECODE toy_example", "MODIFIED BYTECODE",
                     "__compiled_fn_", "    return __resume_at_", "    b = b * (-1)", "Graph break in user code at", "the truth of a tensor decides a branch"):
            self.assertIn(part, text)

    def test_recompiles(self):
        text = self.logged("recompiles", "import sconce\nf = sconce.compile(lambda x, k: x + len(k))\n"
                                         "f(sconce.ones(2), 'a'); f(sconce.ones(2), 'ab')")
        self.assertIn("[0/1] [__recompiles] Recompiling function <lambda> in <string>:2", text)
        self.assertIn("triggered by the following guard failure(s):", text)
        self.assertIn("- 0/0: L['k'] == 'a'  # actual 'ab'", text)

    def test_loop_that_is_left(self):
        text = self.logged("graph_breaks", "import sconce\ndef f(x):\n    for _ in range(2):\n        print(end='')\n    return x + 1\n"
                                           "sconce.compile(f)(sconce.ones(2))")
        self.assertIn("Graph break in user code at <string>:4", text)
        self.assertIn("is in a loop: Python runs the loop, and the rest of the function", text)

    def test_unknown_word(self):
        done = subprocess.run([sys.executable, "-c", "import sconce.compiler as c; c.reset"], env=dict(os.environ, SCONCE_LOGS="guard"),
                              capture_output=True, text=True)
        self.assertIn("Invalid log settings: guard", done.stderr)
        self.assertIn("graph_breaks", done.stderr)


if __name__ == "__main__":
    unittest.main()
