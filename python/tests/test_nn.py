"""sconce.nn: modules of one's own, containers, hooks, state, conversions, a net that learns."""

import copy
import pathlib
import tempfile
import unittest

import sconce as torch
from sconce import nn
from sconce.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 16)
        self.second = nn.Linear(16, 1)
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x):
        self.calls += 1
        return self.second(F.relu(self.first(x)))


class Modules(unittest.TestCase):
    def test_registration(self):
        net = Net()
        self.assertEqual([name for name, _ in net.named_parameters()], ["first.weight", "first.bias", "second.weight", "second.bias"])
        self.assertEqual(list(net.state_dict()), ["calls", "first.weight", "first.bias", "second.weight", "second.bias"])
        self.assertEqual([name for name, _ in net.named_modules()], ["", "first", "second"])
        self.assertIsInstance(net.first.weight, nn.Parameter)
        net.first = None
        self.assertEqual(len(list(net.parameters())), 2)
        with self.assertRaises(TypeError):
            net.second = 5
        with self.assertRaises(AttributeError):
            net.third
        with self.assertRaises(KeyError):
            net.register_buffer("a.b", None)

    def test_before_init(self):
        class Broken(nn.Module):
            def __init__(self):
                self.layer = nn.Linear(1, 1)

        with self.assertRaisesRegex(AttributeError, "before Module.__init__"):
            Broken()

    def test_printing(self):
        self.assertEqual(repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())),
                         "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)")
        self.assertEqual(repr(nn.ModuleList([nn.ReLU(), nn.ReLU()])), "ModuleList(\n  (0-1): 2 x ReLU()\n)")

    def test_learns(self):
        torch.manual_seed(0)
        net = Net()
        x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        wanted = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
        first = None
        for _ in range(500):
            loss = F.mse_loss(net(x), wanted)
            first = loss.item() if first is None else first
            net.zero_grad()
            loss.backward()
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter -= 0.1 * parameter.grad
        self.assertLess(loss.item(), first / 10)
        self.assertEqual(net.calls.item(), 500)

    def test_state(self):
        a, b = Net(), Net()
        self.assertEqual(str(b.load_state_dict(a.state_dict())), "<All keys matched successfully>")
        self.assertEqual(a.first.weight.tolist(), b.first.weight.tolist())
        state = a.state_dict()
        del state["calls"]
        with self.assertRaisesRegex(RuntimeError, 'Missing key.*"calls"'):
            b.load_state_dict(state)
        self.assertEqual(b.load_state_dict(state, strict=False).missing_keys, ["calls"])
        state["first.weight"] = torch.ones(1)
        with self.assertRaisesRegex(RuntimeError, "size mismatch for first.weight"):
            b.load_state_dict(state, strict=False)

    def test_files(self):
        net, other = Net(), Net()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.pth"
            torch.save({"net": net.state_dict(), "epoch": 3, "names": ["a", "b"]}, path)
            read = torch.load(path)
            other.load_state_dict(read["net"])
            self.assertEqual((read["epoch"], read["names"]), (3, ["a", "b"]))
            with self.assertRaises(NotImplementedError):
                torch.load(path, weights_only=False)
            with self.assertRaises(RuntimeError):
                torch.load(pathlib.Path(folder) / "nothing.pth")
            with self.assertRaises(TypeError):
                torch.save(object(), path)
        self.assertEqual(net.first.weight.tolist(), other.first.weight.tolist())

    def test_hooks(self):
        layer, seen = nn.Linear(1, 1), []
        before = layer.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
        after = layer.register_forward_hook(lambda m, args, out: seen.append(out.shape))
        self.assertEqual(layer(torch.ones(2, 1)).tolist(), [[layer.bias.item()]] * 2)
        before.remove()
        after.remove()
        layer(torch.ones(3, 1))
        self.assertEqual(seen, [(2, 1)])

    def test_conversions_keep_parameters(self):
        layer = nn.Linear(2, 2)
        weight = layer.weight
        layer.double()
        self.assertIs(layer.weight, weight)
        self.assertIs(weight.dtype, torch.float64)
        self.assertIs(nn.BatchNorm1d(2).to(torch.float64).num_batches_tracked.dtype, torch.int64)

    def test_copies(self):
        net = Net()
        other = copy.deepcopy(net)
        self.assertIsInstance(other.first.weight, nn.Parameter)
        self.assertTrue(other.first.weight.requires_grad)
        with torch.no_grad():
            other.first.weight.zero_()
        self.assertNotEqual(net.first.weight.abs().sum().item(), 0)

    def test_containers(self):
        layers = nn.ModuleList([nn.Linear(1, 1)])
        layers.append(nn.ReLU())
        layers.insert(0, nn.Tanh())
        self.assertEqual([type(m).__name__ for m in layers], ["Tanh", "Linear", "ReLU"])
        self.assertIsInstance(layers[-1], nn.ReLU)
        self.assertEqual(len(layers[1:]), 2)
        named = nn.ModuleDict({"a": nn.ReLU()})
        named["b"] = nn.Tanh()
        self.assertEqual(list(named.keys()), ["a", "b"])
        parameters = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1))])
        self.assertEqual([name for name, _ in parameters.named_parameters()], ["0", "1"])
        with self.assertRaises(IndexError):
            layers[3]

    def test_bags_of_one_length(self):
        rows = torch.tensor([[1, 2], [4, 5]])
        for last in (False, True):
            bag = nn.EmbeddingBag(10, 3, include_last_offset=last)
            self.assertTrue(torch.allclose(bag(rows), bag.weight[rows].mean(1)))

    def test_sizes_of_pooling(self):
        x = torch.ones(1, 2, 6, 4)
        self.assertEqual(F.adaptive_avg_pool2d(x, 3).shape, (1, 2, 3, 3))
        self.assertEqual(F.adaptive_avg_pool2d(x, (3, None)).shape, (1, 2, 3, 4))
        self.assertEqual(F.adaptive_max_pool2d(x, (None, 2), return_indices=True)[0].shape, (1, 2, 6, 2))
        y, indices = F.max_pool1d(torch.ones(1, 1, 4), 2, return_indices=True)
        self.assertEqual(F.max_unpool1d(y, indices, (2,)).shape, (1, 1, 4))

    def test_modes(self):
        net = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(2))
        self.assertTrue(net[0].training)
        net.eval()
        self.assertFalse(net[1].training)
        x = torch.ones(3, 2)
        self.assertEqual(net(x).shape, (3, 2))


if __name__ == "__main__":
    unittest.main()
