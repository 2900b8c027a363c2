"""Entries of the table: what is refused, and with which words."""

import pathlib
import tempfile
import unittest

from opgen.table import TableError, load


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


class Entries(unittest.TestCase):
    LEAF = '[f]\nschema = "f(Tensor self) -> Tensor"\nkind = "leaf"\n'

    def test_kernels(self):
        self.assertEqual(error_of(self.LEAF + 'kernel = { any = "any/f.cpp" }\n'), "no error")
        self.assertEqual(error_of(self.LEAF + 'kernel = { cuda = "cuda/f.cu" }\n'),
                         "ops/test.toml:4: f: unknown kernel 'cuda', expected one of cpu, any, boxed")
        self.assertEqual(error_of(self.LEAF + 'kernel = { cpu = "cpu/f.cpp" }\n'),
                         "ops/test.toml:1: f: a leaf operator needs 'shape', or a kernel for 'any' or 'boxed' that makes its "
                         "own result")

    def test_keys(self):
        self.assertEqual(error_of(self.LEAF + 'kernal = { any = "any/f.cpp" }\n'),
                         "ops/test.toml:4: f: unknown key 'kernal' (did you mean 'kernel'?)")
        self.assertEqual(error_of(self.LEAF + 'body = "return self"\n'),
                         "ops/test.toml:4: f: 'body' does not belong to kind 'leaf'")


if __name__ == "__main__":
    unittest.main()
