"""sconce.export: programs written as .pt2 are read by sconce.jit.load, and by PyTorch where it is installed, and give the same."""

import os
import tempfile
import unittest

import sconce
from sconce import nn
from sconce.export import Dim, export, save
from sconce.fx import _pytree

try:
    import torch
    import sconce.interop
except ImportError:
    torch = None


class Classifier(nn.Module):
    """Buffers that are written, one that is not part of the state, a tensor from elsewhere, and containers."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 3), nn.BatchNorm1d(3)
        self.register_buffer("scale", sconce.full((3,), 2.0))
        self.register_buffer("shift", sconce.arange(3.0), persistent=False)
        self.table = sconce.tensor([0.5, 1.5])

    def forward(self, x, pair, *, times=2):
        y = self.norm(self.linear(x) * self.scale + self.shift)
        a, b = y.split([1, 2], 1)
        rows = sconce.cat([x, pair["first"]]).sum(1, dtype=sconce.float64)
        return {"b": b * self.table, "more": [rows, a.to(sconce.float16), times, None]}, y.reshape(-1)[: x.shape[0] * times], x


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (y.view(b, t, 2, c // 2).transpose(1, 2) for y in self.qkv(x).split(c, 2))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(b, t, c))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                                 nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))

    def forward(self, x):
        return self.net(x).softmax(-1)


def classifier_inputs(n, m):
    return (sconce.randn(n, 4), {"first": sconce.randn(m, 4)})


class ExportTest(unittest.TestCase):
    def setUp(self):
        sconce.manual_seed(0)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "program.pt2")

    def same(self, got, wanted):
        got, got_spec = _pytree.tree_flatten(got)
        wanted, spec = _pytree.tree_flatten(wanted)
        self.assertEqual(got_spec, spec)
        for a, b in zip(got, wanted):
            if isinstance(b, sconce.Tensor):
                self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
                self.assertTrue(sconce.allclose(a, b, rtol=1e-5, atol=1e-6))
            else:
                self.assertEqual(a, b)

    def agrees(self, model, program, calls):
        """The file gives the model's results, here and in PyTorch; buffers change alike."""
        save(program, self.path)
        state = {name: t.clone() for name, t in model.state_dict().items()}
        loaded = sconce.jit.load(self.path)
        theirs = torch.export.load(self.path).module() if torch else None
        for args, kwargs in calls:
            wanted = model(*args, **kwargs)
            self.same(loaded(*args, **kwargs), wanted)
            if theirs is not None:
                given = sconce.interop.to_torch((args, kwargs))
                self.same(sconce.interop.from_torch(_plain(theirs(*given[0], **given[1]))), wanted)
        for name, tensor in loaded.named_buffers():
            if name in state:
                self.assertTrue(sconce.allclose(tensor, model.state_dict()[name]))

    def test_free_sizes(self):
        model = Classifier()
        shapes = {"x": {0: Dim("rows", max=64)}, "pair": {"first": (Dim("others"), None)}}
        program = export(model, classifier_inputs(6, 5), dynamic_shapes=shapes)
        self.assertEqual(program.range_constraints, {"s0": (2, 64), "s1": (2, None)})
        self.assertEqual(model.norm.num_batches_tracked.item(), 0)  # captured, not run
        self.assertEqual(set(program.state_dict), set(model.state_dict()))
        self.agrees(model, program, [(classifier_inputs(n, m), {}) for n, m in ((6, 5), (9, 2), (2, 70))])
        with self.assertRaisesRegex(RuntimeError, "dimension 0 is 65, the program was exported for at most 64"):
            program.module()(*classifier_inputs(65, 5))
        if torch:
            with self.assertRaisesRegex(AssertionError, "64"):
                torch.export.load(self.path).module()(*sconce.interop.to_torch(classifier_inputs(65, 5)))

    def test_products_of_sizes(self):
        class Flat(nn.Module):
            def forward(self, x):
                y = x.reshape(-1, 3)
                return y + 1, y.new_zeros(y.shape[0] + 2), sconce.arange(x.shape[1])

        model = Flat()
        program = export(model, (sconce.randn(2, 5, 3),), dynamic_shapes=({0: Dim("b"), 1: Dim.DYNAMIC},))
        self.agrees(model, program, [((sconce.randn(2, 5, 3),), {}), ((sconce.randn(7, 4, 3),), {})])

    def test_attention(self):
        model = Attention()
        program = export(model, (sconce.randn(3, 5, 8),), dynamic_shapes=({0: Dim("batch"), 1: Dim("time", min=2, max=16)},))
        self.agrees(model, program, [((sconce.randn(*shape, 8),), {}) for shape in ((3, 5), (2, 16), (8, 2))])

    def test_convolutions(self):
        model = Convolutions().eval()
        program = export(model, (sconce.randn(3, 3, 16, 16),), dynamic_shapes={"x": {0: Dim("batch")}})
        self.agrees(model, program, [((sconce.randn(n, 3, 16, 16),), {}) for n in (2, 3, 5)])

    def test_sizes_behind_strides(self):
        model = Convolutions().eval()
        model.net[4] = nn.Identity()
        model.net = model.net[:4]
        shapes = {"x": {0: Dim("batch"), 2: Dim("height", min=8), 3: Dim("width", min=8)}}
        program = export(model, (sconce.randn(3, 3, 16, 18),), dynamic_shapes=shapes)
        self.agrees(model, program, [((sconce.randn(n, 3, h, w),), {}) for n, h, w in ((2, 8, 9), (3, 31, 17), (4, 16, 18))])
        self.agrees(nn.Identity(), export(lambda x: x[::2] + 0, (sconce.ones(5),), dynamic_shapes=({0: Dim("n")},)), [])

    def test_fixed_sizes_and_keywords(self):
        model = Classifier()
        args = classifier_inputs(3, 2)
        program = export(model, args, {"times": 1})
        self.agrees(model, program, [(args, {"times": 1})])
        with self.assertRaisesRegex(RuntimeError, "dimension 0"):
            program.module()(*classifier_inputs(4, 2), times=1)

    def test_functions_and_constants(self):
        held = sconce.randn(3)
        program = export(lambda x, flag: x * held if flag else x, (sconce.ones(3), True))
        self.assertEqual([sconce.equal(t, held) for t in program.constants.values()], [True])
        self.assertTrue(sconce.equal(program.module()(sconce.full((3,), 2.0), True), held * 2))

    def test_tied_parameters(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
                self.second.weight = self.first.weight

            def forward(self, x):
                return self.second(self.first(x))

        model = Tied()
        self.agrees(model, export(model, (sconce.ones(2, 3),)), [((sconce.randn(2, 3),), {})])

    def test_refusals(self):
        x = sconce.randn(4, 3)
        for error, message, function, shapes in (
                (ValueError, "has 2 dimensions, got an entry for 2", lambda x: x, {"x": {2: Dim("a")}}),
                (ValueError, "example has size 4 for Dim\\('a', min=5", lambda x: x, {"x": {0: Dim("a", min=5)}}),
                (ValueError, "sizes 4 and 3 for the one Dim 'a'", lambda x: x, {"x": {0: Dim("a"), 1: Dim("a")}}),
                (sconce._dynamo.exc.UserError, "the program needs .* which not all sizes of its Dim fulfil",
                 lambda x: x + 1 if x.shape[0] > 3 else x, {"x": {0: Dim("a")}}),
                (NotImplementedError, "size 0 of .* has no known form in the free sizes s0: it is 48 at", squares, {"x": {0: Dim("a")}}),
                (sconce._dynamo.exc.Unsupported, "the truth of a tensor", lambda x: x if x.sum() > 0 else -x, None)):
            with self.assertRaisesRegex(error, message):
                export(function, (x,), dynamic_shapes=shapes)
        with self.assertRaisesRegex(ValueError, "size 4 for both Dims 'a' and 'b'"):
            export(lambda x, y: x + y, (x, x), dynamic_shapes=({0: Dim("a")}, {0: Dim("b")}))
        with self.assertRaisesRegex(TypeError, "args must be a tuple, got a Tensor"):
            export(lambda x: x, x)
        with self.assertRaisesRegex(ValueError, "max=1 is less than min=2"):
            Dim("a", max=1)


def squares(x):
    return (x[:, None] + x[None, :]).reshape(-1)[: x.shape[0] * x.shape[0]] + 1


def _plain(result):
    """PyTorch gives some containers in classes of its own."""
    if isinstance(result, dict):
        return {key: _plain(value) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        return type(result)(_plain(value) for value in result)
    return result


if __name__ == "__main__":
    unittest.main()
