"""What holds across entries: functional twins."""

import pathlib
import tempfile
import unittest

from opgen.family import Catalog
from opgen.table import TableError, load, operators


def catalog(*schemas, **keys):
    """Of leaf entries with these schemas."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "ops").mkdir()
        text = ""
        for schema in schemas:
            name = schema.split("(")[0]
            text += f'["{name}"]\nschema = "{schema}"\nkind = "leaf"\nkernel = {{ any = "any/f.cpp" }}\n' + keys.get(name, "")
        (root / "ops" / "test.toml").write_text(text)
        entries = load(root)
        return Catalog(entries, operators(entries))


def twins(*schemas, **keys):
    """{entry: its functional twin}"""
    made = catalog(*schemas, **keys)
    found = {e.key: made.functional_entry(e) for e in made.entries}
    return {key: twin.key for key, twin in found.items() if twin is not None}


class Twins(unittest.TestCase):
    def test_in_place_operators(self):
        self.assertEqual(twins("f(Tensor self, int n) -> Tensor", "f_(Tensor(a!) self, int n) -> Tensor(a!)"), {"f_": "f"})
        self.assertEqual(twins("f(Tensor self) -> Tensor", "f_(Tensor(a!) self, int n) -> Tensor(a!)"), {})
        self.assertEqual(twins("f(Tensor input) -> Tensor", "f_(Tensor(a!) self) -> Tensor(a!)"), {"f_": "f"})
        self.assertEqual(twins("__and__(Tensor self) -> Tensor", "__iand__(Tensor(a!) self) -> Tensor(a!)"),
                         {"__iand__": "__and__"})

    def test_out_forms_of_factories(self):
        self.assertEqual(twins("f(int[] size, *, ScalarType? dtype=None) -> Tensor",
                               "f.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)"), {"f.out": "f"})

    def test_named(self):
        schemas = ("g(Tensor self) -> Tensor", "f_(Tensor(a!) self) -> Tensor(a!)")
        self.assertEqual(twins(*schemas, f_='functional = "g"\n'), {"f_": "g"})
        with self.assertRaisesRegex(TableError, "f_: functional names 'h', which is no entry"):
            twins(*schemas, f_='functional = "h"\n')


if __name__ == "__main__":
    unittest.main()
