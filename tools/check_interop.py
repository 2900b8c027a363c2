"""Tests of sconce.interop, with PyTorch 2.13 beside it (which `make test` does without):

    PYTHONPATH=build/release/python build/torch-venv/bin/python tools/check_interop.py
"""

import copy
import gc
import logging
import unittest
import warnings
import weakref

import torch

import sconce
import sconce.interop
from sconce.interop._backend import compile_graph

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.float64, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64]


class Tensors(unittest.TestCase):
    def test_kinds(self):
        for dtype in DTYPES:
            for shape in ((), (0,), (3,), (2, 0, 4), (2, 3), (2, 3, 4)):
                with self.subTest(dtype=dtype, shape=shape):
                    theirs = torch.arange(24)[: torch.Size(shape).numel()].to(dtype).reshape(shape)
                    ours = sconce.from_torch(theirs)
                    self.assertEqual((tuple(ours.shape), str(ours.dtype)), (tuple(theirs.shape), str(theirs.dtype)))
                    self.assertEqual(ours.tolist(), theirs.tolist())
                    again = sconce.to_torch(ours)
                    self.assertTrue(torch.equal(again, theirs))
                    self.assertEqual((again.dtype, again.stride()), (theirs.dtype, theirs.stride()))
                    if theirs.numel():
                        self.assertEqual(again.data_ptr(), theirs.data_ptr())

    def test_strides(self):
        base = torch.arange(24.0).reshape(2, 3, 4)
        for theirs in (base.permute(2, 0, 1), base[:, 1:, ::2], base[1], base.expand(2, 3, 4), torch.ones(1).expand(5), base.T,
                       base.to(memory_format=torch.contiguous_format)[..., 1:]):
            ours = sconce.from_torch(theirs)
            self.assertEqual(list(ours.stride()), list(theirs.stride()))
            self.assertEqual(ours.tolist(), theirs.tolist())
            self.assertTrue(torch.equal(sconce.to_torch(ours), theirs))

    def test_conjugates(self):
        z = torch.tensor([1 + 2j, 3 - 4j])
        self.assertEqual(sconce.from_torch(z.conj()).tolist(), z.conj().tolist())
        self.assertEqual(sconce.from_torch(z.conj().imag).tolist(), z.conj().imag.tolist())

    def test_memory_is_shared_and_lives(self):
        theirs = torch.zeros(3)
        ours = sconce.from_torch(theirs)
        theirs[1] = 5
        ours[2] = 7
        self.assertEqual(ours.tolist(), [0, 5, 7])
        self.assertEqual(theirs.tolist(), [0, 5, 7])
        del theirs
        gc.collect()
        self.assertEqual(ours.tolist(), [0, 5, 7])
        made = sconce.to_torch(sconce.ones(1000) * 3)
        gc.collect()
        sconce.ones(1000)
        self.assertEqual(made.sum().item(), 3000)

    def test_gradients(self):
        self.assertTrue(sconce.from_torch(torch.ones(2, requires_grad=True)).requires_grad)
        self.assertFalse(sconce.from_torch(torch.ones(2)).requires_grad)
        self.assertTrue(sconce.to_torch(sconce.ones(2, requires_grad=True)).requires_grad)

    def test_nested(self):
        found = sconce.from_torch({"a": [torch.ones(1), 2], "b": (torch.float32, None)})
        self.assertEqual(found["a"][0].tolist(), [1.0])
        self.assertEqual(found["b"], (sconce.float32, None))

    def test_errors(self):
        with self.assertRaises(Exception):
            sconce.from_torch(torch.ones(2, device="meta"))
        with self.assertRaises(Exception):
            sconce.from_torch(torch.ones(2).to_sparse())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.drop = torch.nn.Dropout(0.5)
        self.second = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.second(self.drop(torch.relu(self.norm(self.first(x)))))


class Unscriptable(Net):
    def forward(self, x, **kwargs):
        return {"y": super().forward(x)}


def compiled(f, **options):
    torch._dynamo.reset()
    return torch.compile(f, backend="sconce", **options)


class Compiled(unittest.TestCase):
    def equal(self, f, *inputs, **options):
        with torch.no_grad():
            found, expected = compiled(f, **options)(*inputs), f(*inputs)
        torch.testing.assert_close(found, expected)

    def test_training(self):
        torch.manual_seed(0)
        net = Net()
        other = copy.deepcopy(net)
        x = torch.randn(6, 4)
        run = compiled(net)
        for f, model in ((run, net), (other, other)):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            torch.manual_seed(1)
            for _ in range(3):
                optimizer.zero_grad()
                f(x).pow(2).mean().backward()
                optimizer.step()
        for (name, a), b in zip(net.state_dict().items(), other.state_dict().values()):
            torch.testing.assert_close(a, b, msg=name)
        self.assertTrue(torch.equal(torch.rand(3), (torch.manual_seed(1), [net.train()(x) for _ in range(3)], torch.rand(3))[2]))

    def test_dynamic_shapes(self):
        counter = torch._dynamo.testing.CompileCounterWithBackend("sconce")
        torch._dynamo.reset()
        run = torch.compile(lambda x: torch.relu(x.reshape(x.shape[0] * 2, -1) + x.shape[1]), backend=counter, dynamic=True)
        for n, m in ((4, 6), (6, 8), (9, 10), (12, 4)):
            x = torch.randn(n, m)
            torch.testing.assert_close(run(x), torch.relu(x.reshape(n * 2, -1) + m))
        self.assertEqual(counter.frame_count, 1)

    def test_dynamic_training(self):
        run = compiled(lambda x, w: torch.tanh(x @ w).sum(0), dynamic=True)
        for n in (3, 5, 8):
            x, w = torch.randn(n, 4), torch.randn(4, 4, requires_grad=True)
            run(x, w).sum().backward()
            found, w.grad = w.grad, None
            torch.tanh(x @ w).sum(0).sum().backward()
            torch.testing.assert_close(found, w.grad)

    def test_inputs_of_all_kinds(self):
        self.equal(lambda x: x * 2, torch.tensor(3.0))
        self.equal(lambda x: x + 1, torch.ones(4, dtype=torch.bfloat16))
        self.equal(lambda x: x + 1, torch.ones(0, 3))
        self.equal(lambda x: x.sum(1), torch.randn(3, 4).T)
        self.equal(lambda x, y: x[y], torch.randn(5), torch.tensor([0, 3]))
        self.equal(lambda x: (x, x + 1, None, 3), torch.randn(2))
        self.equal(lambda x: x.view(2, 2), torch.randn(4))
        z = torch.tensor([1 + 2j, 3 - 4j])
        self.equal(lambda x: x * 2, z)
        self.equal(lambda x: x * 2, z.conj())
        self.equal(lambda x: x * 2, z.conj().imag)
        run = compiled(lambda x: x + 1)
        for x in (torch.ones(2), z.conj().imag, z.imag, torch._neg_view(torch.ones(2))):
            torch.testing.assert_close(run(x), x + 1)

    def test_mutation(self):
        def f(x):
            x.add_(1)
            return x * 2

        a, b = torch.zeros(3), torch.zeros(3)
        torch.testing.assert_close(compiled(f)(a), f(b))
        torch.testing.assert_close(a, b)

    def test_inputs_are_not_written(self):
        def f(x, y):
            return torch.sigmoid(torch.exp(x) + y) * x

        x, y = torch.randn(100), torch.randn(100)
        before = x.clone(), y.clone()
        self.equal(f, x, y)
        self.assertTrue(torch.equal(x, before[0]) and torch.equal(y, before[1]))

    def test_random(self):
        for f in (lambda x: torch.nn.functional.dropout(x, 0.3), lambda x: x + torch.rand_like(x), lambda x: x + torch.randn(4)):
            x = torch.ones(4)
            torch.manual_seed(3)
            found = compiled(f)(x)
            torch.manual_seed(3)
            torch.testing.assert_close(found, f(x))

    def test_callback(self):
        @torch.library.custom_op("check_interop::odd", mutates_args=())
        def odd(x: torch.Tensor, n: int) -> torch.Tensor:
            return x * n + 1

        @odd.register_fake
        def _(x, n):
            return torch.empty_like(x)

        def f(x):
            return torch.relu(torch.ops.check_interop.odd(x - 1, 3))

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.equal(f, torch.randn(4))
            self.equal(f, torch.randn(4))
        said = [str(w.message) for w in caught if "sconce has no operator" in str(w.message)]
        self.assertEqual(said, ["sconce has no operator check_interop.odd.default: PyTorch runs it"])
        self.assertEqual(sconce.interop.callbacks()["check_interop.odd.default"], False)

    def test_errors_of_callbacks(self):
        @torch.library.custom_op("check_interop::fails", mutates_args=())
        def fails(x: torch.Tensor) -> torch.Tensor:
            raise KeyError("from inside")

        @fails.register_fake
        def _(x):
            return torch.empty_like(x)

        with self.assertRaisesRegex(Exception, "from inside"):
            compiled(lambda x: torch.ops.check_interop.fails(x) + 1)(torch.ones(2))

    def test_results_keep_memory(self):
        run = compiled(lambda x: (x + 1, (x + 2)[1:]))
        with torch.no_grad():
            results = [run(torch.full((1000,), float(i))) for i in range(50)]
        for i, (a, b) in enumerate(results):
            self.assertTrue(torch.equal(a, torch.full((1000,), i + 1.0)))
            self.assertTrue(torch.equal(b, torch.full((999,), i + 2.0)))

    def test_inputs_are_let_go(self):
        graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: (x + 1,))(torch.ones(3))
        call = compile_graph(graph, [torch.ones(3)])
        x = torch.ones(3)
        gone = weakref.ref(x)
        args = [x]
        del x
        result = call(args)
        self.assertEqual(args, [])
        self.assertIsNone(gone())
        self.assertEqual(result[0].tolist(), [2, 2, 2])
        self.assertTrue(call._boxed_call)

    def test_options_are_refused(self):
        with self.assertRaisesRegex(Exception, "takes no options"):
            compiled(lambda x: x + 1, options={"speed": 11})(torch.ones(1))


class Modules(unittest.TestCase):
    def check(self, module, x, **options):
        module.eval()
        with torch.no_grad():
            made, expected = sconce.from_torch(module, **options), module(x)
        found = sconce.to_torch(made(sconce.from_torch(x)))
        torch.testing.assert_close(found, expected)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(2)
        torch.testing.assert_close(sconce.to_torch(made(sconce.from_torch(x))), module(x).detach()
                                   if isinstance(expected, torch.Tensor) else {k: v.detach() for k, v in module(x).items()})
        return made

    def test_scripted(self):
        made = self.check(Net(), torch.randn(3, 4))
        self.assertEqual([name for name, _ in made.named_parameters()], [name for name, _ in Net().named_parameters()])

    def test_scripts(self):
        net = Net().eval()
        self.check(torch.jit.script(net), torch.randn(3, 4))

        @torch.jit.script
        def f(x, n: int):
            return x * n

        self.assertEqual(sconce.from_torch(f)(sconce.ones(2), 3).tolist(), [3, 3])

    def test_exported(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.check(Unscriptable(), torch.randn(3, 4), example_inputs=(torch.randn(3, 4),))
        text = " ".join(str(w.message) for w in caught if "from_torch" in str(w.message))
        self.assertIn("Unscriptable was exported; it cannot be scripted: ", text)

    def test_exported_program(self):
        net = Net().eval()
        program = torch.export.export(net, (torch.randn(3, 4),))
        x = torch.randn(3, 4)
        torch.testing.assert_close(sconce.to_torch(sconce.from_torch(program)(sconce.from_torch(x))), net(x).detach())

    def test_dynamic_export(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = sconce.from_torch(Unscriptable().eval(), (torch.randn(3, 4),), dynamic_shapes={
                "x": {0: torch.export.Dim("n", min=2)}, "kwargs": {}})
        self.assertEqual(tuple(made(sconce.randn(7, 4))["y"].shape), (7, 3))

    def test_failure(self):
        with self.assertRaisesRegex(RuntimeError, "it cannot be scripted: .*; with example_inputs it could be exported or traced"):
            sconce.from_torch(Unscriptable())

    def test_to_torch(self):
        ours = sconce.nn.Sequential(sconce.nn.Linear(4, 8), sconce.nn.ReLU(), sconce.nn.BatchNorm1d(8)).eval()
        theirs = sconce.to_torch(ours)
        x = torch.randn(3, 4)
        torch.testing.assert_close(theirs(x), sconce.to_torch(ours(sconce.from_torch(x)).detach()))
        with torch.no_grad():
            dict(theirs.named_parameters())["0.weight"].zero_()
        self.assertEqual(ours[0].weight.abs().sum().item(), 0)

    def test_gradients(self):
        net = Net().eval()
        made = sconce.from_torch(net)
        made(sconce.ones(2, 4)).sum().backward()
        net(torch.ones(2, 4)).sum().backward()
        for (name, ours), theirs in zip(made.named_parameters(), net.parameters()):
            torch.testing.assert_close(sconce.to_torch(ours.grad), theirs.grad, msg=name)


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    unittest.main()
