"""The package where pip has installed it: everything it needs is inside."""

import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile
import unittest

import sconce


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(sconce.__file__).parent

    def test_comes_from_the_environment(self):
        self.assertTrue(self.folder.is_relative_to(sys.prefix), self.folder)
        self.assertEqual(sconce.__version__, importlib.metadata.version("sconce"))

    def test_needs_numpy_only(self):
        always = [line for line in importlib.metadata.requires("sconce") if "extra ==" not in line]
        self.assertEqual(always, ["numpy"])

    def test_finds_its_library_beside_it(self):
        sconce.ones(2)
        mapped = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "libsconce" in line}
        self.assertEqual(mapped, {str((self.folder / "libsconce.so.0").resolve())})

    def test_is_stripped(self):
        for library in self.folder.glob("*.so*"):
            self.assertNotIn(b".symtab\0", library.read_bytes()[-100_000:], library)

    def test_torch_finds_the_backend(self):
        [entry] = [e for e in importlib.metadata.entry_points(group="torch_dynamo_backends") if e.name == "sconce"]
        self.assertEqual(entry.value, "sconce.torch_backend:sconce_backend")

    def test_imports_nothing_but_numpy(self):
        text = "import sys, sconce; print({name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
        done = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, check=True)
        self.assertLessEqual(eval(done.stdout), {"sconce", "numpy", "_virtualenv", "__main__", "_distutils_hack"})

    def test_trains_saves_and_loads(self):
        sconce.manual_seed(0)
        model = sconce.nn.Sequential(sconce.nn.Linear(2, 8), sconce.nn.ReLU(), sconce.nn.Linear(8, 1))
        optimizer = sconce.optim.SGD(model.parameters(), lr=0.1)
        x = sconce.randn(64, 2)
        y = x.sum(1, keepdim=True)
        losses = []
        for _ in range(50):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 5)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "state.pth"
            sconce.save(dict(model.state_dict()), path)
            loaded = sconce.load(path)
        self.assertTrue(all(sconce.equal(loaded[name], value) for name, value in model.state_dict().items()))

    def test_runs_programs(self):
        unit = sconce.jit.CompilationUnit("def f(x: Tensor) -> Tensor:\n    return torch.nn.functional.relu(x) * 2\n")
        self.assertEqual(unit.f(sconce.tensor([-1.0, 2.0])).tolist(), [0.0, 4.0])

    def test_has_the_bundled_operators(self):
        boxes = sconce.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]])
        kept = sconce.ops.torchvision.nms(boxes, sconce.tensor([0.9, 0.8, 0.7]), 0.5)
        self.assertEqual(kept.tolist(), [0, 2])

    def test_shares_memory_with_numpy(self):
        import numpy

        array = numpy.zeros(3, dtype=numpy.float32)
        sconce.from_numpy(array).add_(1)
        self.assertEqual(array.tolist(), [1.0, 1.0, 1.0])


if __name__ == "__main__":
    unittest.main()
