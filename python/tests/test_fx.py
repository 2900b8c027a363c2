"""sconce.fx: graphs, names and texts as PyTorch's fx has them (recorded by tools/record_fx.py), and what is done with graphs."""

import contextlib
import copy
import io
import json
import operator
import pathlib
import pickle
import tempfile
import unittest
import warnings

import fx_programs
import sconce as torch
import sconce.fx as fx
import sconce.nn as nn
import sconce.nn.functional as F
from sconce.fx import subgraph_rewriter
from sconce.fx.experimental.proxy_tensor import make_fx
from sconce.fx.proxy import TraceError
from sconce.fx.script import from_script, to_script

RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "fx_texts.json").read_text())


@fx.wrap
def leaf(x, n):
    return x * n + (1 if n > 2 else 0)


fx.wrap("len")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.full((3,), 2.0))
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x, y=None):
        z = torch.relu(self.linear(x)) * self.scale
        return F.softmax(z - self.shift, dim=-1)


def close(a, b):
    return torch.allclose(a, b)


class Recorded(unittest.TestCase):
    def test_texts(self):
        for name, expected in RECORDED.items():
            found = fx_programs.texts(torch, name)
            for kind in expected:
                with self.subTest(program=name, text=kind):
                    self.assertEqual(expected[kind], found[kind])

    def test_traced_programs_run(self):
        x = torch.randn(2, 4)
        for name, inputs in (("MLP", (x,)), ("Conv", (torch.randn(2, 3, 8, 8),)), ("Residual", (x,)), ("Annotated", (x,)),
                             ("Attention", (torch.randn(2, 5, 8),)), ("indexing", (x,)), ("methods", (x,)),
                             ("builtins_and_math", (x,)), ("unpack", (torch.randn(4, 3),)), ("keyword_names", (x,))):
            program = fx_programs.programs(torch)[name][0]
            if isinstance(program, nn.Module):
                program.eval()
            found, expected = fx.symbolic_trace(program)(*inputs), program(*inputs)
            pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
            for a, b in pairs:
                with self.subTest(program=name):
                    self.assertTrue(close(a, b) if isinstance(b, torch.Tensor) else a == b)


class Tracing(unittest.TestCase):
    def test_parameters_are_shared(self):
        net = Net()
        traced = fx.symbolic_trace(net)
        self.assertIs(traced.linear, net.linear)
        self.assertIs(traced.scale, net.scale)
        self.assertEqual(sorted(name for name, _ in traced.named_parameters()), sorted(n for n, _ in net.named_parameters()))
        x = torch.randn(2, 4)
        self.assertTrue(close(traced(x), net(x)))
        self.assertEqual(type(traced).__name__, "Net")

    def test_control_flow(self):
        def branch(x):
            return x if x.sum() > 0 else -x

        def loop(x):
            return [y for y in x]

        def length(x):
            return x.__len__()

        with self.assertRaisesRegex(TraceError, "symbolically traced variables cannot be used as inputs to control flow"):
            fx.symbolic_trace(branch)
        with self.assertRaisesRegex(TraceError, "Proxy object cannot be iterated. This can be attempted when"):
            fx.symbolic_trace(loop)
        with self.assertRaisesRegex(RuntimeError, "'len' is not supported in symbolic tracing by default"):
            fx.symbolic_trace(length)

    def test_wrap(self):
        def program(x):
            return leaf(x, len(x)) + 1

        traced = fx.symbolic_trace(program)
        self.assertEqual([n.target for n in traced.graph.nodes][1:4], [len, leaf, operator.add])
        self.assertIn('wrap("', traced.code)
        self.assertTrue(close(traced(torch.ones(3)), program(torch.ones(3))))
        self.assertEqual(leaf(1, 3), 4)  # the name means the function again
        with self.assertRaisesRegex(NotImplementedError, "wrap must be called at the top level of a module"):
            fx.wrap(leaf)
        with self.assertRaisesRegex(RuntimeError, "Unsupported type for global function! Must be either a callable or string name"):
            fx.wrap(1)

    def test_concrete_args(self):
        def program(x, flag, n):
            return x + n if flag else x - n

        traced = fx.symbolic_trace(program, concrete_args={"flag": True, "n": 3})
        self.assertEqual(traced(1, True, 3), 4)
        with self.assertRaisesRegex(AssertionError, "n has been specialized to have value 3 but got another value"):
            traced(1, True, 4)

        def nested(x):
            return {"sum": x["a"] + x["b"][0], "other": (x["b"][1],)}

        traced = fx.symbolic_trace(nested, concrete_args={"x": {"a": fx.PH, "b": [fx.PH, fx.PH]}})
        self.assertEqual(traced({"a": 1, "b": [2, 5]}), {"sum": 3, "other": (5,)})
        self.assertEqual(fx.Interpreter(traced).run({"a": 1, "b": [2, 5]}), {"sum": 3, "other": (5,)})

    def test_leaf_modules(self):
        class Deep(fx.Tracer):
            def is_leaf_module(self, m, module_qualified_name):
                return False

        net = Net()
        graph = Deep().trace(net)
        self.assertEqual(graph.find_nodes(op="call_module"), [])
        names = [node.target for node in graph.find_nodes(op="get_attr")]
        self.assertIn("linear.weight", names)
        x = torch.randn(2, 4)
        self.assertTrue(close(fx.GraphModule(net, graph)(x), net(x)))

    def test_module_not_installed(self):
        other = nn.Linear(2, 2)

        class Uses(nn.Module):
            def forward(self, x):
                return other(x)

        with self.assertRaisesRegex(NameError, "module is not installed as a submodule"):
            fx.symbolic_trace(Uses())

    def test_constants(self):
        constant = torch.ones(2)

        def program(x):
            return x + constant

        traced = fx.symbolic_trace(program)
        self.assertEqual(traced.graph.find_nodes(op="get_attr")[0].target, "_tensor_constant0")
        self.assertIs(traced._tensor_constant0, constant)

    def test_argument_types(self):
        def program(x):
            return x + object()

        with self.assertRaisesRegex(NotImplementedError, "argument of type: <class 'object'>"):
            fx.symbolic_trace(program)

    def test_module_stack(self):
        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Net()

            def forward(self, x):
                return self.inner(x) + 1

        graph = fx.symbolic_trace(Outer()).graph
        stacks = {node.name: list(node.meta.get("nn_module_stack", ())) for node in graph.nodes}
        self.assertEqual(stacks["inner_linear"], ["inner", "inner.linear"])
        self.assertEqual(stacks["relu"], ["inner"])
        self.assertEqual(stacks["add"], [])

    def test_assertions(self):
        class Asserting(fx.Tracer):
            trace_asserts = True

        def program(x):
            assert x.sum() > 0
            return x

        graph = Asserting().trace(program)
        self.assertEqual([node.name for node in graph.nodes], ["x", "sum_1", "gt", "assert_fn", "output"])

    def test_proxyable_class(self):
        class Pair(metaclass=fx.ProxyableClassMeta):
            def __init__(self, a, b):
                self.a, self.b = a, b

        def program(x):
            return Pair(x, x).a

        graph = fx.symbolic_trace(program).graph
        self.assertIs([node for node in graph.nodes][1].target, Pair)

    def test_nothing_stays_patched(self):
        call, get = nn.Module.__call__, nn.Module.__getattr__
        with self.assertRaises(TraceError):
            fx.symbolic_trace(lambda x: bool(x))
        self.assertIs(nn.Module.__call__, call)
        self.assertIs(nn.Module.__getattr__, get)


class Graphs(unittest.TestCase):
    def make(self):
        graph = fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_function(operator.add, (x, 1))
        z = graph.call_method("relu", (y,))
        graph.output(z)
        return graph, x, y, z

    def test_build(self):
        graph, x, y, z = self.make()
        graph.lint()
        self.assertEqual(str(graph), "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
                                     "    %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})\n"
                                     "    %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})\n"
                                     "    return relu")
        self.assertEqual(graph.python_code("self").src,
                         "\n\n\ndef forward(self, x):\n    add = x + 1;  x = None\n    relu = add.relu();  add = None\n"
                         "    return relu\n    ")
        self.assertEqual((y.all_input_nodes, list(y.users), x.next, z.prev), ([x], [z], y, y))
        self.assertEqual(graph.output_node().args, (z,))
        self.assertEqual(len(graph.nodes), 4)
        self.assertEqual([n.name for n in reversed(graph.nodes)], ["output", "relu", "add", "x"])

    def test_names(self):
        graph = fx.Graph()
        names = [graph.create_node("placeholder", target).name for target in
                 ("x", "x", "x_1", "list", "None", "layers.0", "0", "camelCase", "__add__", "x_1", "_1", "torch", "inf", "a_b_3",
                  "a_b_3", "a_b")]
        self.assertEqual(names, ["x", "x_1", "x_2", "list_1", "none", "layers_0", "_0", "camel_case", "add", "x_3", "_1", "torch_1",
                                 "inf_1", "a_b_3", "a_b_4", "a_b"])

    def test_edit(self):
        graph, x, y, z = self.make()
        with graph.inserting_before(z):
            w = graph.call_function(operator.mul, (y, 3))
        z.replace_input_with(y, w)
        self.assertEqual([n.name for n in graph.nodes], ["x", "add", "mul", "relu", "output"])
        with graph.inserting_after(z):
            neg = graph.call_function(torch.neg, (z,))
        z.replace_all_uses_with(neg, delete_user_cb=lambda user: user is not neg)
        graph.lint()
        self.assertEqual(graph.output_node().args, (neg,))
        y.update_arg(1, 2)
        self.assertEqual(y.args, (x, 2))
        w.insert_arg(0, 7)
        w.args = w.args[1:]
        neg.update_kwarg("out", None)
        self.assertEqual(neg.kwargs, {"out": None})
        neg.kwargs = {}
        module = fx.GraphModule({}, graph)
        self.assertTrue(close(module(torch.ones(2)), torch.full((2,), -9.0)))
        with graph.inserting_before(None), graph.inserting_after(y):
            first = graph.call_function(torch.abs, (y,))
        self.assertIs(y.next, first)
        self.assertTrue(graph.eliminate_dead_code())
        self.assertFalse(graph.eliminate_dead_code())
        self.assertEqual(len(graph.nodes), 6)

    def test_order(self):
        graph, x, y, z = self.make()
        self.assertTrue(x < y < z and z > x and y <= y)
        y.append(x)
        with self.assertRaisesRegex(RuntimeError, "Argument 'x' of Node 'add' was used before it has been defined!"):
            graph.lint()
        y.prepend(x)
        graph.lint()

    def test_errors(self):
        graph, x, y, z = self.make()
        with self.assertRaisesRegex(RuntimeError, r"Tried to erase Node add but it still had 1 users in the graph: \{relu: None\}!"):
            graph.erase_node(y)
        other, a, b, c = self.make()
        with self.assertRaisesRegex(RuntimeError, "Attempting to remove output from wrong graph!"):
            graph.erase_node(other.output_node())
        with self.assertRaises(AssertionError):
            x.append(a)
        z.args = (b,)
        with self.assertRaisesRegex(RuntimeError, "Argument 'add' of Node 'relu' does not belong to this Graph"):
            graph.lint()
        with self.assertRaisesRegex(AssertionError, "Expected target to be str, got <class 'int'>"):
            graph.create_node("call_function", 3)
        with self.assertRaisesRegex(ValueError, "but a str is expected"):
            graph.create_node("call_method", torch.relu)
        with self.assertRaises(AssertionError):
            graph.create_node("call", "x")
        module = fx.symbolic_trace(Net())
        module.graph.find_nodes(op="call_module")[0].target = "nothing"
        with self.assertRaisesRegex(RuntimeError, "Node linear target nothing references nonexistent attribute nothing of "):
            module.graph.lint()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with module.graph.inserting_before(module.graph.output_node()):
                module.graph.get_attr("missing")
                module.graph.call_module("missing")
        self.assertEqual(len(caught), 2)
        self.assertIn("Attempted to insert a get_attr Node with no underlying reference", str(caught[0].message))

    def test_arguments_do_not_change(self):
        graph, x, y, z = self.make()
        y.args = ([x, {"a": x}], 1)
        with self.assertRaisesRegex(TypeError, "'immutable_list' object does not support mutation"):
            y.args[0].append(1)
        with self.assertRaises(TypeError):
            y.args[0][1]["b"] = 1
        self.assertEqual(fx.map_arg(y.args, lambda n: n.name), (["x", {"a": "x"}], 1))

    def test_copies(self):
        graph, x, y, z = self.make()
        y.meta["mark"] = 1
        made = copy.deepcopy(graph)
        self.assertEqual(str(made), str(graph))
        self.assertIsNot(next(iter(made.nodes)), x)
        self.assertEqual([n.meta for n in made.nodes], [{}, {"mark": 1}, {}, {}])
        new = fx.Graph()
        value_map = {}
        result = new.graph_copy(graph, value_map)
        self.assertIs(result, value_map[z])
        self.assertEqual(len(new.nodes), 3)
        copied = new.node_copy(y, lambda n: value_map[n])
        self.assertEqual(copied.name, "add_1")

    def test_find_nodes(self):
        graph, x, y, z = self.make()
        self.assertEqual(graph.find_nodes(op="call_function", target=operator.add), [y])
        self.assertEqual(graph.find_nodes(op="call_method"), [z])
        self.assertEqual(graph.find_nodes(op="call_method", target="tanh"), [])

    def test_code_generation(self):
        graph, x, y, z = self.make()
        module = fx.GraphModule({}, graph)
        with graph.on_generate_code(lambda before: lambda body: ["scale = 2\n", *body]):
            module.recompile()
        self.assertIn("scale = 2", module.code)
        module.recompile()
        self.assertNotIn("scale = 2", module.code)

        class Named(fx.CodeGen):
            def generate_output(self, output_args):
                return f"return dict(result={output_args!r})"

        graph.set_codegen(Named())
        module.recompile()
        self.assertEqual(list(module(torch.ones(1))), ["result"])

    def test_operators_of_ops(self):
        graph = fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_function(torch.ops.aten.add.Tensor, (x, x), {"alpha": 2})
        graph.output(graph.call_function(torch.ops.aten.relu.default, (y,)))
        module = fx.GraphModule({}, graph)
        self.assertIn("add_tensor = torch.ops.aten.add.Tensor(x, x, alpha = 2);  x = None", module.code)
        self.assertIn("relu_default = torch.ops.aten.relu.default(add_tensor);  add_tensor = None", module.code)
        self.assertIn("call_function[target=torch.ops.aten.relu.default](args = (%add_tensor,), kwargs = {})", str(graph))
        self.assertTrue(close(module(torch.ones(2)), torch.full((2,), 3.0)))

    def test_dead_code_with_effects(self):
        def program(x):
            torch.ops.aten.add_.Tensor(x, 1)
            torch.ops.aten.rand_like.default(x)
            torch.ops.aten.relu.default(x)
            x.sum()
            return x

        graph = fx.symbolic_trace(program).graph
        graph.eliminate_dead_code()
        self.assertEqual([node.name for node in graph.nodes], ["x", "add__tensor", "rand_like_default", "output"])


class Modules(unittest.TestCase):
    def test_recompile(self):
        traced = fx.symbolic_trace(Net())
        node = traced.graph.find_nodes(op="call_function", target=torch.relu)[0]
        node.target = torch.sigmoid
        x = torch.randn(2, 4)
        before = traced(x)
        traced.recompile()
        self.assertFalse(close(traced(x), before))
        self.assertIn("torch.sigmoid", traced.code)

    def test_deepcopy(self):
        traced = fx.symbolic_trace(Net())
        traced.meta["k"] = 1
        made = copy.deepcopy(traced)
        x = torch.randn(2, 4)
        self.assertTrue(close(made(x), traced(x)))
        self.assertIsNot(made.linear.weight, traced.linear.weight)
        self.assertEqual((made.code, type(made).__name__, made.meta), (traced.code, "GraphModule", {"k": 1}))
        self.assertIsNot(type(made), type(traced))

    def test_submodules(self):
        traced = fx.symbolic_trace(Net())
        self.assertTrue(traced.add_submodule("a.b.c", nn.ReLU()))
        self.assertEqual(repr(traced.a.b.c), "ReLU()")
        self.assertFalse(traced.add_submodule("scale.b", nn.ReLU()))
        self.assertTrue(traced.delete_submodule("a.b.c"))
        self.assertFalse(traced.delete_submodule("a.b.c"))
        traced.delete_all_unused_submodules()
        self.assertEqual([name for name, _ in traced.named_modules()], ["", "linear"])

    def test_from_dict(self):
        graph = fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_module("a.linear", (graph.call_function(torch.add, (x, graph.get_attr("b.w"))),)))
        with self.assertRaisesRegex(RuntimeError, "Node b_w referenced target b.w but that target was not provided in ``root``!"):
            fx.GraphModule({"a.linear": nn.Linear(2, 2)}, graph)
        module = fx.GraphModule({"a.linear": nn.Linear(2, 2), "b.w": torch.ones(2)}, graph)
        self.assertEqual(tuple(module(torch.ones(3, 2)).shape), (3, 2))
        self.assertIn("w", module.b._buffers)
        with self.assertRaisesRegex(RuntimeError, "Unsupported type 3 passed for root!"):
            fx.GraphModule(3, graph)

    def test_texts(self):
        traced = fx.symbolic_trace(Net())
        self.assertTrue(str(traced).startswith("Net(\n  (linear): Linear(in_features=4, out_features=3, bias=True)\n)\n\n\n\ndef forward"))
        self.assertTrue(str(traced).endswith("# To see more debug info, please use `graph_module.print_readable()`"))

    def test_errors_in_generated_code(self):
        traced = fx.symbolic_trace(lambda x: x.nothing())
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown), self.assertRaises(AttributeError):
            traced(3)
        self.assertIn("line 5 of the traced Module's generated forward function:", shown.getvalue())
        self.assertIn("~~~ <--- HERE", shown.getvalue())

    def test_folder(self):
        traced = fx.symbolic_trace(Net())
        with tempfile.TemporaryDirectory() as folder:
            traced.to_folder(folder + "/made", "Made")
            names = {}
            exec((pathlib.Path(folder) / "made" / "module.py").read_text(), names)
            x = torch.randn(2, 4)
            self.assertTrue(close(names["Made"]()(x), traced(x)))

    def test_hooks(self):
        traced = fx.symbolic_trace(Net())
        made, gone = [], []
        traced._register_create_node_hook(lambda node: made.append(node.name))
        traced._register_erase_node_hook(lambda node: gone.append(node.name))
        with traced.graph.inserting_before(traced.graph.output_node()):
            node = traced.graph.call_function(torch.abs, (next(iter(traced.graph.nodes)),))
        traced.graph.erase_node(node)
        self.assertEqual((made, gone), (["abs_1"], ["abs_1"]))


class Interpreters(unittest.TestCase):
    def test_run(self):
        net = Net()
        traced = fx.symbolic_trace(net)
        x = torch.randn(2, 4)
        self.assertTrue(close(fx.Interpreter(traced).run(x), net(x)))
        args = [x, None]
        self.assertTrue(close(fx.Interpreter(traced).boxed_run(args), net(x)))
        self.assertEqual(args, [])
        with self.assertRaisesRegex(RuntimeError, r"expected 2 arguments for placeholders but received 1 \(missing arguments\)"):
            fx.Interpreter(traced).boxed_run([x])

    def test_override(self):
        class Swap(fx.Interpreter):
            def call_function(self, target, args, kwargs):
                return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)

        net = Net()
        x = torch.randn(2, 4)
        expected = F.softmax(torch.sigmoid(net.linear(x)) * net.scale - net.shift, dim=-1)
        self.assertTrue(close(Swap(fx.symbolic_trace(net)).run(x), expected))

    def test_errors(self):
        def program(x):
            return torch.ones(3) + x

        with self.assertRaisesRegex(RuntimeError, r"While executing %add : \[num_users=1\] = call_method\[target=add\]"):
            fx.Interpreter(fx.symbolic_trace(program)).run(torch.ones(2))
        with self.assertRaisesRegex(RuntimeError, "Expected positional argument for parameter x, but one was not passed in!"):
            fx.Interpreter(fx.symbolic_trace(program)).run()

    def test_transformer(self):
        class NegToAbs(fx.Transformer):
            def call_function(self, target, args, kwargs):
                if target is torch.neg:
                    return torch.abs(*args, **kwargs)
                return super().call_function(target, args, kwargs)

            def call_method(self, target, args, kwargs):
                if target == "neg":
                    return args[0].relu()
                return super().call_method(target, args, kwargs)

        def program(x, n=2):
            return torch.neg(x).neg() + n

        made = NegToAbs(fx.symbolic_trace(program)).transform()
        self.assertIn("abs_1 = torch.abs(x);  x = None\n    relu = abs_1.relu();  abs_1 = None\n    add = relu + n", made.code)
        self.assertEqual(made(torch.tensor([-3.0])).item(), 5.0)
        net = Net()
        same = fx.Transformer(fx.symbolic_trace(net)).transform()
        self.assertTrue(close(same(torch.ones(1, 4)), net(torch.ones(1, 4))))

    def test_shape_prop(self):
        from sconce.fx.passes.shape_prop import ShapeProp
        traced = fx.symbolic_trace(Net())
        ShapeProp(traced).propagate(torch.randn(2, 4), None)
        meta = traced.graph.find_nodes(op="call_module")[0].meta["tensor_meta"]
        self.assertEqual((tuple(meta.shape), meta.dtype, meta.requires_grad, meta.stride, meta.memory_format, meta.is_quantized),
                         ((2, 3), torch.float32, True, (3, 1), torch.contiguous_format, False))
        self.assertIn('linear: "f32[2, 3]" = self.linear(x)', traced.print_readable(print_output=False))


class Rewriting(unittest.TestCase):
    def test_replace_pattern(self):
        def program(x, w1, w2):
            m1 = torch.cat([w1, w2]).sum()
            m2 = torch.cat([w1, w2]).sum()
            return x + torch.max(m1) + torch.max(m2)

        traced = fx.symbolic_trace(program)
        matches = fx.replace_pattern(traced, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]))
        self.assertEqual(len(matches), 2)
        self.assertEqual(matches[0].anchor.name, "sum_1")
        self.assertEqual(traced.code, """


def forward(self, x, w1, w2):
    stack = torch.stack([w1, w2])
    max_1 = torch.max(stack);  stack = None
    add = x + max_1;  x = max_1 = None
    stack_1 = torch.stack([w1, w2]);  w1 = w2 = None
    max_2 = torch.max(stack_1);  stack_1 = None
    add_1 = add + max_2;  add = max_2 = None
    return add_1
    """)

    def test_used_elsewhere(self):
        def program(x):
            y = torch.relu(x)
            return torch.neg(y) + y

        traced = fx.symbolic_trace(program)
        self.assertEqual(fx.replace_pattern(traced, lambda a: torch.neg(torch.relu(a)), lambda a: a), [])

    def test_overlapping_and_chained(self):
        def program(x):
            return torch.relu(torch.relu(torch.relu(x)))

        traced = fx.symbolic_trace(program)
        matches = fx.replace_pattern(traced, lambda a: torch.relu(torch.relu(a)), lambda a: torch.sigmoid(a))
        self.assertEqual(len(matches), 1)
        traced = fx.symbolic_trace(program)
        self.assertEqual(len(fx.replace_pattern(traced, lambda a: torch.relu(a), lambda a: torch.neg(a))), 3)
        self.assertEqual(traced(torch.tensor([2.0])).item(), -2.0)

    def test_literals(self):
        def program(x):
            return torch.add(x, 1) + torch.add(x, 2)

        traced = fx.symbolic_trace(program)
        self.assertEqual(len(fx.replace_pattern(traced, lambda a: torch.add(a, 1), lambda a: torch.neg(a))), 1)
        self.assertEqual(traced(torch.tensor([3.0])).item(), 2.0)
        made = subgraph_rewriter.replace_pattern_with_filters(traced, lambda a: torch.add(a, 7), lambda a: torch.neg(a),
                                                              ignore_literals=True)
        self.assertEqual([node.name for node in made[0].replacements], ["neg_1"])

    def test_modules(self):
        class Replacement(nn.Module):
            def __init__(self):
                super().__init__()
                self.extra = nn.Linear(3, 3)

            def forward(self, x):
                return self.extra(x)

        traced = fx.symbolic_trace(Net())
        fx.replace_pattern(traced, lambda a: torch.relu(a), Replacement())
        self.assertEqual(tuple(traced(torch.ones(1, 4)).shape), (1, 3))
        self.assertIn("extra", dict(traced.named_modules()))

    def test_filters_and_callback(self):
        def program(x):
            return torch.relu(x) + torch.relu(x + 1)

        traced = fx.symbolic_trace(program)
        replacement = fx.symbolic_trace(lambda a: torch.neg(a)).graph
        made = subgraph_rewriter.replace_pattern_with_filters(
            traced, lambda a: torch.relu(a), match_filters=[lambda match, graph, pattern: match.placeholder_nodes[0].op != "placeholder"],
            replacement_callback=lambda match, graph, pattern: replacement)
        self.assertEqual(len(made), 1)
        self.assertEqual(traced(torch.tensor([1.0])).item(), -1.0)


class MakeFx(unittest.TestCase):
    def trace(self, f, *args):
        """The code, after a check that the graph computes what the function does, on these arguments and on others."""
        module = make_fx(f)(*args)
        for inputs in (args, tuple(arg * 2 if isinstance(arg, torch.Tensor) else arg for arg in args)):
            if all(not isinstance(arg, torch.Tensor) or arg.device.type == "cpu" for arg in args):
                self.assertTrue(close(module(*inputs), f(*inputs)))
        return module.code.strip()

    def test_operators(self):
        x = torch.randn(2, 3)
        self.assertEqual(self.trace(lambda x: x.sin() + 1, x),
                         "def forward(self, x_1):\n    sin = torch.ops.aten.sin.default(x_1);  x_1 = None\n"
                         "    add = torch.ops.aten.add.Tensor(sin, 1);  sin = None\n    return add")
        self.assertEqual(self.trace(lambda x: F.softmax(x, dim=1), x),
                         "def forward(self, x_1):\n    _softmax = torch.ops.aten._softmax.default(x_1, 1, False);  x_1 = None\n"
                         "    return _softmax")
        self.assertEqual(self.trace(lambda x: torch.max(x, 1)[0] * 2, x),
                         "def forward(self, x_1):\n    max_1 = torch.ops.aten.max.dim(x_1, 1);  x_1 = None\n"
                         "    getitem = max_1[0]\n    getitem_1 = max_1[1];  max_1 = getitem_1 = None\n"
                         "    mul = torch.ops.aten.mul.Tensor(getitem, 2);  getitem = None\n    return mul")

    def test_in_place(self):
        def program(x):
            y = x + 1
            y.mul_(2)
            return y.relu_()

        code = self.trace(program, torch.randn(3))
        self.assertIn("mul_ = torch.ops.aten.mul_.Tensor(add, 2);  add = None\n"
                      "    relu_ = torch.ops.aten.relu_.default(mul_);  mul_ = None\n    return relu_", code)

    def test_gradients(self):
        def program(x, w):
            x = x.detach().requires_grad_(True)
            return torch.autograd.grad([torch.tanh(x @ w.t()).sum()], [x])[0]

        code = self.trace(program, torch.randn(2, 3), torch.randn(4, 3))
        self.assertIn("torch.ops.aten.tanh_backward.default(expand, tanh)", code)
        self.assertNotIn("_tensor_constant", code)

    def test_modules_and_constants(self):
        net = Net()
        traced = make_fx(net)(torch.randn(2, 4))
        self.assertEqual(traced.graph.find_nodes(op="call_module"), [])
        x = torch.randn(2, 4)
        self.assertTrue(close(traced(x), net(x)))
        self.assertTrue(any(value is net.scale for value in vars(traced).values()) or
                        any(value is net.scale for value in traced.parameters()))

    def test_nested_arguments(self):
        traced = make_fx(lambda a: (a[0] + a[1]["k"], a[0].split(1)))([torch.ones(2), {"k": torch.ones(2)}])
        total, parts = traced([torch.full((2,), 3.0), {"k": torch.full((2,), 4.0)}])
        self.assertEqual((total.tolist(), [part.item() for part in parts]), ([7, 7], [3, 3]))

    def test_meta(self):
        module = make_fx(lambda x, w: F.relu(x @ w))(torch.empty(2, 3, device="meta"), torch.empty(3, 5, device="meta"))
        self.assertEqual([tuple(node.meta["val"].shape) for node in module.graph.nodes if "val" in node.meta][-1], (2, 5))
        self.assertEqual([node.target for node in module.graph.nodes if node.op == "call_function"],
                         [torch.ops.aten.mm.default, torch.ops.aten.relu.default])

    def test_decompositions(self):
        table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x),
                 torch.ops.aten.max.dim: lambda x, dim, keepdim: (x.amax(dim, keepdim), x.argmax(dim, keepdim))}
        x = torch.randn(2, 3)
        traced = make_fx(lambda x: torch.max(F.silu(x), 1)[0], decomposition_table=table)(x)
        self.assertEqual([node.name for node in traced.graph.nodes], ["x_1", "sigmoid", "mul", "amax", "argmax", "output"])
        self.assertTrue(close(traced(x), F.silu(x).amax(1)))
        with self.assertRaisesRegex(TypeError, "what stands for aten::silu returned a str"):
            make_fx(F.silu, decomposition_table={torch.ops.aten.silu.default: lambda x: "text"})(x)

    def test_nothing_is_seen_afterwards(self):
        with self.assertRaises(ZeroDivisionError):
            make_fx(lambda x: x / (1 // 0))(torch.ones(1))
        traced = make_fx(lambda x: x + 1)(torch.ones(1))
        torch.ones(2) * 3
        self.assertEqual(len(traced.graph.nodes), 3)

    def test_unsupported(self):
        for options in ({"tracing_mode": "symbolic"}, {"pre_dispatch": True}):
            with self.assertRaisesRegex(NotImplementedError, f"make_fx: {next(iter(options))}="):
                make_fx(lambda x: x, **options)


class Scripts(unittest.TestCase):
    def test_there_and_back(self):
        def program(x, w):
            a, b = torch.ops.aten.max.dim(x, 1)
            parts = torch.ops.aten.split.Tensor(x, 1, 1)
            y = torch.ops.aten.cat.default([parts[0], x], 1)
            return torch.ops.aten.add.Tensor(y, 2, alpha=3), a, torch.ops.aten.index.Tensor(w, [None, b])

        traced = fx.symbolic_trace(program)
        function = to_script(traced, name="program")
        again = from_script(function)
        x, w = torch.randn(2, 3), torch.randn(4, 3)
        for found in (function(x, w), again(x, w)):
            for a, b in zip(found, program(x, w)):
                self.assertTrue(close(a, b))
        operators = [node.target.__name__ for node in again.graph.nodes if node.op == "call_function" and node.target is not operator.getitem]
        self.assertEqual(operators, ["aten::max.dim", "aten::split.Tensor", "aten::cat", "aten::add.Scalar",
                                     "aten::index.Tensor"])
        self.assertEqual(str(to_script(again).graph).count("aten::"), str(function.graph).count("aten::"))

    def test_modules(self):
        net = Net()
        traced = fx.symbolic_trace(net)
        with self.assertRaisesRegex(ValueError, "example_inputs are needed"):
            to_script(traced)
        function = to_script(traced, torch.randn(2, 4), None)
        x = torch.randn(2, 4)
        self.assertTrue(close(function(x, None), net(x)))
        self.assertTrue(close(from_script(function)(x, None), net(x)))

    def test_control_flow(self):
        unit = torch.jit.CompilationUnit("def f(x: int) -> int:\n    return x if x > 0 else -x\n")
        with self.assertRaises(NotImplementedError):
            from_script(unit.f)


class Files(unittest.TestCase):
    def test_pickle(self):
        traced = fx.symbolic_trace(Small())
        made = pickle.loads(pickle.dumps(traced))
        x = torch.randn(2, 4)
        self.assertTrue(close(made(x), traced(x)))
        self.assertEqual((made.code, type(made).__name__), (traced.code, "GraphModule"))



class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x, n: int = 2):
        return self.act(x) * n + leaf(x, 3)


if __name__ == "__main__":
    unittest.main()
