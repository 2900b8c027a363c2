"""Programs over PyTorch's tensors and modules, compiled: results, gradients and written buffers are PyTorch's own. Most need PyTorch."""

import copy
import subprocess
import sys
import unittest

import sconce

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    torch = None


if torch is not None:
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
            self.norm, self.head = nn.BatchNorm2d(8), nn.Linear(8, 5)

        def forward(self, x):
            y = F.relu(self.norm(self.first(x)))
            y = F.max_pool2d(y + self.second(y), 2)
            return self.head(y.mean((2, 3)))

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, x):
            b, t, c = x.size()
            q, k, v = self.qkv(self.norm(x)).split(c, dim=2)
            q, k, v = (y.view(b, t, 2, c // 2).transpose(1, 2) for y in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).contiguous().view(b, t, c))


@unittest.skipUnless(torch, "PyTorch is not installed")
class TorchProgramsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def agrees(self, function, *args, graphs=True):
        compiled = sconce.compile(function, fullgraph=graphs)
        for _ in range(3):
            got, wanted = compiled(*args), function(*args)
            self.assertIs(type(got), type(wanted))
            for x, y in zip(got if isinstance(got, tuple) else (got,), wanted if isinstance(wanted, tuple) else (wanted,)):
                if isinstance(y, torch.Tensor):
                    torch.testing.assert_close(x, y)
                    self.assertEqual((type(x), x.requires_grad), (type(y), y.requires_grad))
                else:
                    self.assertEqual(x, y)

    def test_functions(self):
        a, b = torch.randn(3, 4), torch.randn(3, 4, requires_grad=True)
        self.agrees(lambda x: torch.abs(x) + 1, a)
        self.agrees(lambda x, y: ((x * y).relu().sum(dim=1), x.shape[0]), a, b)
        self.agrees(lambda x: torch.zeros(4, dtype=torch.float64) + x.to(torch.float64) if x.dtype == torch.float32 else x, a)
        self.agrees(lambda x: F.gelu(x) + F.softmax(x, -1), a)
        self.agrees(lambda x: torch.cat([x, x[:, :2]], dim=1).T, a)

    def test_modes(self):
        def without(x):
            with torch.no_grad():
                y = x * 2
            return y, x * 3

        self.agrees(without, torch.randn(3, requires_grad=True))
        self.assertTrue(torch.is_grad_enabled())

    def trains(self, model, shape):
        """Three steps of SGD, eagerly and compiled: same losses, parameters, buffers."""
        other = copy.deepcopy(model)
        compiled = sconce.compile(other)
        results = []
        for net, call in ((model, model), (other, compiled)):
            torch.manual_seed(1)
            optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
            losses = []
            for _ in range(3):
                loss = call(torch.randn(*shape)).square().mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                losses.append(loss.item())
            results.append((losses, [p.detach() for p in net.parameters()], [b.double() for b in net.buffers()]))
        torch.testing.assert_close(results[0], results[1])

    def test_training(self):
        self.trains(nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 3)), (4, 6))
        self.trains(Residual(), (2, 3, 8, 8))
        self.trains(Attention(), (2, 5, 8))
        for shape in ((4, 6), (2, 4, 6)):
            self.trains(nn.Sequential(nn.Linear(6, 8), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(8, 8), nn.ReLU(inplace=True)), shape)

    def test_inference(self):
        for model, shape in ((nn.Sequential(nn.Linear(6, 20), nn.GELU(), nn.LayerNorm(20), nn.Dropout(0.5), nn.Linear(20, 3)), (4, 6)),
                             (Residual(), (2, 3, 8, 8)), (Attention(), (2, 5, 8))):
            model.eval()
            with torch.no_grad():
                self.agrees(lambda x: model(x), torch.randn(*shape))

    def test_large_tensors(self):
        # Calls that long run without Python's lock, but while a capture records.
        self.agrees(lambda x: F.relu(x @ x).sum(0), torch.randn(200, 200))
        self.trains(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.AvgPool2d(8), nn.Flatten(), nn.Linear(8 * 49, 2)), (2, 3, 64, 64))

    def test_guards_of_parameters_hold(self):
        """`is None` asks for the class of a fake, which is not the class of the tensor."""
        heard = []
        norm = nn.BatchNorm1d(3).eval()
        with sconce.compiler._watch.listening(lambda event, facts: heard.append(event)):
            self.agrees(lambda x: norm(x), torch.randn(4, 3))
        self.assertNotIn("unstable", heard)

    def test_random_numbers_are_those_of_pytorch(self):
        model = nn.Sequential(nn.Linear(6, 20), nn.Dropout(0.5), nn.Linear(20, 3))
        self.trains(model, (4, 6))
        compiled, x = sconce.compile(lambda x: (F.dropout(x, 0.3), torch.rand(3))), torch.ones(50)
        torch.manual_seed(5)
        got = compiled(x), torch.rand(2)
        torch.manual_seed(5)
        wanted = (F.dropout(x, 0.3), torch.rand(3)), torch.rand(2)
        torch.testing.assert_close(got, wanted)

    def test_what_pytorch_knows_of_capture(self):
        self.agrees(lambda x: x + torch.finfo(x.dtype).eps, torch.ones(2))
        self.assertEqual(sconce.compile(lambda x: (x + 1, torch.compiler.is_compiling()), fullgraph=True)(torch.ones(2))[1], True)
        self.agrees(lambda x: x.norm(dim=-1) + x.to(x.device).norm(p=1), torch.randn(2, 3))

    def test_a_break_goes_on_in_pytorch(self):
        def f(x):
            y = x * 2
            if y.sum().item() > 0:
                y = y + 1
            return y

        for x in (torch.ones(3), -torch.ones(3)):
            self.agrees(f, x, graphs=False)

    # In a process of its own: PyTorch's capture changes the constructor of all modules when it first runs.
    def test_module_made_inside_after_pytorchs_own_capture(self):
        program = """
import sconce, torch
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
def f(x):
    return x * (2 if torch.nn.Module().training else 1)
assert sconce.compile(f, fullgraph=True)(torch.ones(2)).tolist() == [2.0, 2.0]
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class WithoutPyTorch(unittest.TestCase):
    def test_compiling_does_not_import_pytorch(self):
        program = "import sconce, sys; sconce.compile(lambda x: x + 1)(sconce.ones(2)); sys.exit('torch' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", program]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
