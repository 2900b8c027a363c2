"""sconce.jit: files and texts."""

import pathlib
import tempfile
import unittest

import sconce as torch
from sconce import jit

RECORDED = pathlib.Path(__file__).parents[2] / "tests" / "conformance"


class Programs(unittest.TestCase):
    def test_text(self):
        unit = jit.CompilationUnit("def f(x: Tensor, n: int = 2) -> Tensor:\n    for i in range(n):\n        x = x + 1\n    return x\n")
        self.assertEqual(unit.f(torch.zeros(2)).tolist(), [2, 2])
        self.assertEqual(unit.f(torch.zeros(2), n=5).tolist(), [5, 5])
        self.assertIn("torch.add", unit.f.code)
        self.assertIn("prim::Loop", str(unit.f.graph))
        with self.assertRaises(AttributeError):
            unit.g

    def test_values_cross_both_ways(self):
        unit = jit.CompilationUnit(
            "def f(d: Dict[str, int], l: List[float], t: Tuple[int, str]) -> Tuple[Dict[str, int], List[float], str]:\n"
            "    d['new'] = t[0]\n    l.append(0.5)\n    return d, l, t[1]\n")
        self.assertEqual(unit.f({"a": 1}, [1.5], (7, "x")), ({"a": 1, "new": 7}, [1.5, 0.5], "x"))

    def test_errors(self):
        with self.assertRaises(RuntimeError):
            jit.CompilationUnit("def f(x):\n    return y\n")
        unit = jit.CompilationUnit("def f(x: int) -> int:\n    assert x > 0, 'must be positive'\n    return x\n")
        with self.assertRaisesRegex(RuntimeError, "must be positive"):
            unit.f(-1)
        with self.assertRaises(RuntimeError):
            unit.f("text")
        with self.assertRaisesRegex(ValueError, "does not exist"):
            jit.load("no such file.pt")

    def test_file(self):
        module = jit.load(RECORDED / "programs" / "MLP.pt")
        self.assertFalse(module.eval().training)
        state = module.state_dict()
        width = next(t for t in state.values() if t.dim() == 2).shape[1]
        x = torch.ones(2, width)
        y = module(x)
        self.assertEqual(module.forward(x).tolist(), y.tolist())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "again.pt"
            module.save(path)
            again = jit.load(path)
            self.assertEqual(again(x).tolist(), y.tolist())
            again.load_state_dict({name: torch.zeros_like(t) for name, t in state.items()})
            self.assertEqual(again(x).abs().sum().item(), 0)
        names = [name for tensors in (module.named_parameters(), module.named_buffers()) for name, _ in tensors]
        self.assertEqual(sorted(names), sorted(state))


if __name__ == "__main__":
    unittest.main()
