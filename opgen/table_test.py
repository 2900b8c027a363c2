"""Entries of the table: what is refused, and with which words."""

import pathlib
import tempfile
import unittest

from opgen import autocast, order
from opgen.table import TableError, load, operators


def error_of(text):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "ops" / "test.toml"
        file.parent.mkdir()
        file.write_text(text)
        try:
            load(folder)
        except TableError as e:
            return str(e)
    return "no error"


class Each(unittest.TestCase):
    def test_headers_may_have_a_remark(self):
        one = '["prims::{K}%s"]\neach = ["%s"]\nschema = "prims::{K}(Tensor self) -> Tensor"\nkind = "compound"\nbody = "return {K}(self)"\n'
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ops" / "test.toml"
            file.parent.mkdir()
            file.write_text(one % ("", "sin") + one % (" of positive numbers", "log"))
            self.assertEqual([(e.key, e.line) for e in load(folder)], [("prims::sin", 1), ("prims::log", 6)])


class Order(unittest.TestCase):
    TABLE = ('[f]\nschema = "f(Tensor self) -> Tensor"\nkind = "leaf"\nkernel = { any = "any/f.cpp" }\n'
             '["f.int"]\nschema = "f.int(int self) -> int"\nkind = "leaf"\nkernel = { boxed = "boxed/f.cpp" }\n')

    def order_of(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "ops").mkdir()
            (root / "ops" / "test.toml").write_text(self.TABLE)
            (root / "ops" / "overload_order.txt").write_text(text)
            try:
                return order.load(root, operators(load(root)))
            except TableError as e:
                return str(e)

    def test_lines(self):
        self.assertEqual(self.order_of("# a comment\naten::f: int default\n"), [("aten::f", ["int", ""])])
        self.assertEqual(self.order_of("aten::g: int\n"), "ops/overload_order.txt:1: no operator 'aten::g'")
        self.assertEqual(self.order_of("aten::f: float\n"),
                         "ops/overload_order.txt:1: 'aten::f' has no overload 'float'")
        self.assertEqual(self.order_of("aten::f: int\naten::f: int\n"),
                         "ops/overload_order.txt:2: 'aten::f' has a line already")


class Autocast(unittest.TestCase):
    def policies_of(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "ops").mkdir()
            (root / "ops" / "autocast.txt").write_text(text)
            try:
                return autocast.load(root)
            except TableError as e:
                return str(e)

    def test_lines(self):
        self.assertEqual(self.policies_of("# a comment\naten::mm lower\n"), {"aten::mm": "lower"})
        self.assertEqual(self.policies_of("aten::mm low\n"), "ops/autocast.txt:1: 'low' is none of lower, full, widest")
        self.assertEqual(self.policies_of("aten::mm full\naten::mm full\n"),
                         "ops/autocast.txt:2: 'aten::mm' has a line already")


class Aliases(unittest.TestCase):
    def error_of(self, alias):
        text = ('[f]\nschema = "f(Tensor self) -> Tensor"\nforms = ["function", "inplace"]\nkind = "compound"\n'
                'body = "return self"\n[g]\nschema = "g(Tensor self) -> Tensor"\n'
                f'forms = ["function", "inplace"]\nkind = "compound"\nbody = "return f(self)"\nalias = "{alias}"\n')
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "ops").mkdir()
            (root / "ops" / "test.toml").write_text(text)
            try:
                return {op.schema.name: op.alias for op in operators(load(root))}
            except TableError as e:
                return str(e)

    def test_aliases(self):
        self.assertEqual(self.error_of("f"), {"f": None, "f_": None, "g": "f", "g_": "f_"})
        self.assertEqual(self.error_of("h"), "ops/test.toml:11: g: alias names 'h', which is no operator")
        self.assertEqual(self.error_of("g"), "ops/test.toml:11: g: alias names 'g', which is an alias itself")


class Entries(unittest.TestCase):
    LEAF = '[f]\nschema = "f(Tensor self) -> Tensor"\nkind = "leaf"\n'

    def test_kernels(self):
        self.assertEqual(error_of(self.LEAF + 'kernel = { any = "any/f.cpp" }\n'), "no error")
        self.assertEqual(error_of(self.LEAF + 'kernel = { cuda = "cuda/f.cpp" }\n'),
                         "ops/test.toml:4: f: a kernel for 'cuda' stands beside one for 'cpu' or 'any'")
        self.assertEqual(error_of(self.LEAF + 'kernel = { tpu = "tpu/f.cpp" }\n'),
                         "ops/test.toml:4: f: unknown kernel 'tpu', expected one of cpu, cuda, any, boxed")
        self.assertEqual(error_of(self.LEAF + 'kernel = { cpu = "cpu/f.cpp" }\n'),
                         "ops/test.toml:1: f: a kernel for 'cpu' needs 'shape', or result = 'own' where it makes its own "
                         "result")
        self.assertEqual(error_of(self.LEAF + 'kernel = { cpu = "cpu/f.cpp" }\nresult = "own"\n'), "no error")
        self.assertEqual(error_of(self.LEAF + 'kernel = { cpu = "cpu/f.cpp" }\nresult = "bool"\n'),
                         "ops/test.toml:5: f: result is 'bool', a leaf operator can only say 'own'")
        self.assertEqual(error_of(self.LEAF + 'kernel = { any = "any/f.cpp" }\nresult = "own"\n'),
                         "ops/test.toml:5: f: result = 'own' is for a kernel for 'cpu'; those for 'any' and 'boxed' make "
                         "their own result anyway")
        self.assertEqual(error_of(self.LEAF + 'kernel = { any = "cpu/f.cpp" }\n'),
                         "ops/test.toml:4: f: a kernel for 'any' stands in any/ or autograd/, not in 'cpu/f.cpp'")

    def test_keys(self):
        self.assertEqual(error_of(self.LEAF + 'kernal = { any = "any/f.cpp" }\n'),
                         "ops/test.toml:4: f: unknown key 'kernal' (did you mean 'kernel'?)")
        self.assertEqual(error_of(self.LEAF + 'body = "return self"\n'),
                         "ops/test.toml:4: f: 'body' does not belong to kind 'leaf'")


if __name__ == "__main__":
    unittest.main()
