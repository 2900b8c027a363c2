import types
import unittest

from . import devices, formats


def entry(kind, **kernel):
    return types.SimpleNamespace(kind=kind, data={"kernel": kernel})


class Devices(unittest.TestCase):
    def test_slots_are_those_of_key_set(self):
        self.assertEqual([devices.SLOTS[key] for key in devices.GLUE], [0, 2])
        self.assertLess(devices.SLOTS["privateuse1"], devices.SLOTS["python"])  # devices come first
        self.assertEqual([devices.SLOTS[key] for key in formats.FORMATS], [4, 5])  # above devices, below autograd
        self.assertEqual(len(set(devices.SLOTS.values())), len(devices.SLOTS))
        self.assertIn("autograd", devices.SLOTS)

    def test_what_runs_on_every_device(self):
        for kind in ("pointwise", "reduce", "compound", "scalar"):
            self.assertTrue(devices.runs_everywhere(entry(kind)))
        self.assertTrue(devices.runs_everywhere(entry("leaf", any="any/views/views.cpp")))
        self.assertTrue(devices.runs_everywhere(entry("leaf", boxed="boxed/dict.cpp:dict_get")))
        self.assertTrue(devices.runs_everywhere(entry("leaf", cpu="cpu/index/concatenation.cpp", any="any/stack.cpp")))
        self.assertFalse(devices.runs_everywhere(entry("leaf", cpu="cpu/gemm/matmul.cpp")))


if __name__ == "__main__":
    unittest.main()
