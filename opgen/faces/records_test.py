import unittest
import zlib
from types import SimpleNamespace

from opgen import cpp
from opgen.faces.records import Rows, Texts


class Literals(unittest.TestCase):
    def test_bytes_come_back(self):
        data = bytes(range(256)) + b'?"\\0007' + bytes(300)
        literal = cpp.bytes_literal(data)
        self.assertTrue(all(len(line) <= 120 for line in literal.splitlines()))
        self.assertNotIn("?", literal)  # no trigraphs
        # Octal escapes and neighbouring literals are as in C.
        self.assertEqual(eval(f"({literal})").encode("latin-1"), data)


class TextsTest(unittest.TestCase):
    def test_equal_texts_are_one(self):
        texts = Texts(SimpleNamespace(name="family"))
        self.assertEqual([texts.place(t) for t in (None, "", "a", "b\u00fc", "a")], [0, 0, 1, 3, 1])
        self.assertEqual(texts.bytes, b"\0a\0b\xc3\xbc\0")
        self.assertEqual(texts.size, len(texts.bytes))

    def test_more_than_a_place_can_say_is_refused(self):
        texts = Texts(SimpleNamespace(name="family"))
        with self.assertRaisesRegex(ValueError, "ops/family.toml: more than 64 KB of text: split the family"):
            texts.place("x" * 0xffff)

    def test_packed_texts_inflate(self):
        texts = Texts(SimpleNamespace(name="family"))
        texts.place("one")
        place, packed = texts.packed("t")
        self.assertEqual(place, "char t_place[5];")
        literal = packed[packed.index("{") + 1:packed.rindex('"') + 1]
        self.assertEqual(zlib.decompress(eval(f"({literal})").encode("latin-1"), -zlib.MAX_WBITS), b"\0one\0")


class RowsTest(unittest.TestCase):
    def test_numbers_begin_with_one(self):
        rows = Rows()
        self.assertEqual([rows.number(r) for r in ("a", None, "b", "a")], [1, 0, 2, 1])
        self.assertEqual(list(rows), ["a", "b"])


if __name__ == "__main__":
    unittest.main()
