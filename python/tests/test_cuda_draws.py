"""Random numbers of device cuda against those of PyTorch 2.11 on an H200 (tests/conformance/cuda/draws.json).

Runs on a GPU where there is one, else on the host's stand-in (tests/host_gpu). There functions of the chip (__logf,
__sincosf) are the host's, so that what is computed with them is compared with a tolerance.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import unittest

import sconce

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAND_IN = pathlib.Path(sconce.__file__).parent.parent.parent / "lib" / "host_gpu"
ON_HOST = os.environ.get("SCONCE_ON_HOST_GPU") == "1"
MULTIPROCESSORS = 132  # of an H200: the larger draws depend on their number

f16, bf16, f64, i32 = sconce.float16, sconce.bfloat16, sconce.float64, sconce.int32


def empty(n, **kind):
    return sconce.empty(n, device="cuda", **kind)


def dropped(n, dtype):
    return sconce.nn.functional.dropout(sconce.full((n,), 1.5, device="cuda", dtype=dtype), 0.3, True)


EXACT = {
    "dropout": lambda n: dropped(n, sconce.float32),
    "dropout16": lambda n: dropped(n, f16),
    "dropoutbf": lambda n: dropped(n, bf16),
    "dropout64": lambda n: dropped(n, f64),
    "rand": lambda n: sconce.rand(n, device="cuda"),
    "rand64": lambda n: sconce.rand(n, device="cuda", dtype=f64),
    "rand16": lambda n: sconce.rand(n, device="cuda", dtype=f16),
    "randbf": lambda n: sconce.rand(n, device="cuda", dtype=bf16),
    "uniform_": lambda n: empty(n).uniform_(-2, 3),
    "randint10": lambda n: sconce.randint(10, (n,), device="cuda"),
    "randint_big": lambda n: sconce.randint(-(2**40), 2**41, (n,), device="cuda"),
    "random_": lambda n: empty(n, dtype=i32).random_(),
    "random_f": lambda n: empty(n).random_(),
    "bernoulli": lambda n: sconce.bernoulli(sconce.full((n,), 0.3, device="cuda")),
    "bernoulli_p": lambda n: empty(n).bernoulli_(0.3),
}
OF_THE_CHIP = {
    "randn": (lambda n: sconce.randn(n, device="cuda"), 1e-6),
    "randn64": (lambda n: sconce.randn(n, device="cuda", dtype=f64), 1e-14),
    "randn16": (lambda n: sconce.randn(n, device="cuda", dtype=f16), 1e-3),
    "normal_": (lambda n: empty(n).normal_(1, 2), 2e-6),
    "exponential_": (lambda n: empty(n).exponential_(1.5), 1e-5),
    "cauchy_": (lambda n: empty(n).cauchy_(), 1e-5),
    "log_normal_": (lambda n: empty(n).log_normal_(), 1e-5),
    "geometric_": (lambda n: empty(n).geometric_(0.2), 0),
}


def number(text):
    return float.fromhex(text) if isinstance(text, str) else text


class Draws(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recorded = json.loads((ROOT / "tests/conformance/cuda/draws.json").read_text())
        cls.sizes = [1, 5, 256, 1000, 4096] if ON_HOST else [1, 5, 256, 1000, 4096, 65537, 5000011]

    def each(self, name, draw, check):
        for size in self.sizes:
            sconce.manual_seed(42)
            for part in ("first", "second"):
                with self.subTest(name=name, size=size, part=part):
                    check(draw(size).cpu(), self.recorded[f"{name}/{size}"][part])

    def test_equal_bytes(self):
        def check(drawn, expected):
            whole = drawn.view(sconce.int16) if drawn.dtype == bf16 else drawn
            self.assertEqual(hashlib.sha256(whole.numpy().tobytes()).hexdigest(), expected["sha256"])

        for name, draw in EXACT.items():
            self.each(name, draw, check)

    def test_functions_of_the_chip(self):
        for name, (draw, tolerance) in OF_THE_CHIP.items():

            def check(drawn, expected, tolerance=tolerance):
                if not ON_HOST:
                    self.assertEqual(hashlib.sha256(drawn.numpy().tobytes()).hexdigest(), expected["sha256"])
                for at, value in zip(expected["at"], expected["values"], strict=True):
                    close = tolerance * max(1, abs(number(value)))
                    self.assertAlmostEqual(drawn[at].item(), number(value), delta=close)

            self.each(name, draw, check)

    def test_orders_of_memory(self):
        sconce.manual_seed(42)
        dense = empty(6).uniform_()
        sconce.manual_seed(42)
        transposed = empty((3, 2)).t().uniform_()
        self.assertEqual(transposed.t().reshape(6).tolist(), dense.tolist())
        sconce.manual_seed(42)
        every_second = empty(12)[::2].uniform_()
        self.assertEqual(every_second.tolist(), dense.tolist())

    def test_refusals(self):
        with self.assertRaisesRegex(RuntimeError, "Expected a 'cuda' device type for generator but found 'cpu'"):
            empty(3).uniform_(generator=sconce.Generator())
        drawn = sconce.bernoulli(sconce.full((3,), 1.5, device="cuda"))
        with self.assertRaisesRegex(RuntimeError, r"bernoulli_: expects every p to be in \[0, 1\], element \d is not"):
            drawn.cpu()
        self.assertEqual(sconce.ones(2, device="cuda").tolist(), [1, 1])  # the context lives on


def run_on_host():
    environment = {**os.environ, "LD_LIBRARY_PATH": str(STAND_IN), "SCONCE_ON_HOST_GPU": "1"}
    return subprocess.run([sys.executable, *sys.argv], env=environment).returncode


if __name__ == "__main__":
    if not ON_HOST and not sconce.cuda.is_available():
        if not STAND_IN.exists():
            print("skipped: no CUDA device, and no stand-in beside this build")
            sys.exit(77)
        sys.exit(run_on_host())
    unittest.main()
