"""Queries and settings that programs begin with: devices, libraries, determinism."""

import importlib.util
import unittest

import sconce as torch


class Devices(unittest.TestCase):
    def test_absent_ones_say_so(self):
        for module in (torch.xpu, torch.mps) if torch.cuda.is_available() else (torch.cuda, torch.xpu, torch.mps):
            self.assertIs(module.is_available(), False)
            self.assertEqual(module.device_count(), 0)
            module.manual_seed_all(3)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.assertEqual(torch.ones(2, device=device).device.type, "cpu")
        self.assertIsNone(torch.accelerator.current_accelerator())
        self.assertIs(torch.distributed.is_available(), importlib.util.find_spec("mpi4py") is not None)
        self.assertIs(torch.distributed.is_initialized(), False)

    def test_cuda_without_a_device(self):
        if torch.cuda.is_available():
            self.skipTest("there is a CUDA device")
        self.assertNotEqual(torch.ops.sconce.why_no_device("cuda"), "")
        with self.assertRaisesRegex(RuntimeError, "there is no device cuda: "):
            torch.ops.sconce.device_name("cuda", 0)
        with self.assertRaisesRegex(AssertionError, "without CUDA"):
            torch.cuda.Stream()
        torch.cuda.empty_cache()
        self.assertEqual(torch.ops.sconce.why_no_device("cpu"), "")

    def test_absent_ones_refuse(self):
        with self.assertRaisesRegex(AssertionError, "without CUDA"):
            torch.cuda.current_device()
        with self.assertRaisesRegex(AssertionError, "without MPS"):
            torch.mps.synchronize()
        with self.assertRaisesRegex(NotImplementedError, "only cpu"):
            torch.set_default_device("cuda")
        torch.set_default_device("cpu")
        self.assertEqual(torch.get_default_device(), torch.device("cpu"))


class Libraries(unittest.TestCase):
    def test_switches_of_absent_ones(self):
        self.assertIs(torch.backends.cudnn.is_available(), False)
        torch.backends.cudnn.benchmark = True
        self.assertIs(torch.backends.cudnn.benchmark, True)
        torch.backends.cudnn.benchmark = False
        with self.assertRaisesRegex(AttributeError, "has no switch 'benchmrk'; it has enabled, benchmark"):
            torch.backends.cudnn.benchmrk = True
        self.assertIs(torch.backends.mps.is_available(), False)

    def test_the_processor(self):
        self.assertIn(torch.backends.cpu.get_cpu_capability(), ("DEFAULT", "AVX2", "AVX512"))


class Settings(unittest.TestCase):
    def test_determinism(self):
        self.assertIs(torch.are_deterministic_algorithms_enabled(), False)
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.assertIs(torch.are_deterministic_algorithms_enabled(), True)
        self.assertIs(torch.is_deterministic_algorithms_warn_only_enabled(), True)
        torch.use_deterministic_algorithms(False)
        x = torch.randn(100, 7)
        usual = torch.backends.cpu.get_cpu_capability()
        torch.set_deterministic(True)
        try:
            self.assertIs(torch.is_deterministic(), True)
            self.assertEqual(torch.backends.cpu.get_cpu_capability(), "DEFAULT")
            self.assertTrue(torch.equal(x.softmax(0), x.softmax(0)))
        finally:
            torch.set_deterministic(False)
        self.assertEqual(torch.backends.cpu.get_cpu_capability(), usual)

    def test_precision_of_products(self):
        self.assertEqual(torch.get_float32_matmul_precision(), "highest")
        torch.set_float32_matmul_precision("high")
        self.assertEqual(torch.get_float32_matmul_precision(), "high")
        torch.set_float32_matmul_precision("highest")
        with self.assertRaisesRegex(RuntimeError, "fast is not one of 'highest', 'high', or 'medium'"):
            torch.set_float32_matmul_precision("fast")

    def test_tf32(self):
        self.assertIs(torch.backends.cuda.matmul.allow_tf32, False)
        torch.backends.cuda.matmul.allow_tf32 = True
        self.assertEqual(torch.get_float32_matmul_precision(), "high")
        torch.backends.cuda.matmul.allow_tf32 = False
        self.assertEqual(torch.get_float32_matmul_precision(), "highest")
        self.assertIs(torch.backends.cudnn.allow_tf32, False)
        torch.backends.cudnn.allow_tf32 = True
        self.assertIs(torch.backends.cudnn.allow_tf32, True)
        torch.backends.cudnn.allow_tf32 = False
        with self.assertRaisesRegex(AttributeError, "allow_fp16"):
            torch.backends.cuda.matmul.allow_fp16 = True

    def test_device_contexts(self):
        with torch.device("meta") as device:
            made = [torch.ones(2), torch.tensor([1.0]), torch.empty(3, device="cpu"), torch.nn.Linear(2, 3).weight, torch.arange(4)]
            with torch.device("cpu"):
                made.append(torch.zeros(1))
            self.assertEqual(torch.get_default_device(), device)
        self.assertEqual([t.device.type for t in made], ["meta", "meta", "cpu", "meta", "meta", "cpu"])
        self.assertEqual((torch.ones(1).device.type, torch.get_default_device().type), ("cpu", "cpu"))

        def inside(x):
            with torch.device("meta"):
                y = torch.ones(2) + torch.zeros(2)
            return x + 1, y.is_meta, torch.get_default_device()

        self.assertEqual(str(torch.compile(inside, fullgraph=True)(torch.ones(2))), str(inside(torch.ones(2))))

    def test_version(self):
        self.assertIsNone(torch.version.cuda)
        self.assertEqual(torch.version.__version__, torch.__version__)


if __name__ == "__main__":
    unittest.main()
