"""torch.testing: assert_close and make_tensor. All expectations hold for PyTorch 2.13, too."""

import unittest

import sconce as torch
from sconce.testing import assert_close, make_tensor


class Close(unittest.TestCase):
    def test_passes(self):
        assert_close(torch.ones(2), torch.ones(2) + 1e-6)
        assert_close({"a": [1.0, torch.ones(1)]}, {"a": (1.0, torch.ones(1))})
        assert_close(torch.tensor(float("nan")), torch.tensor(float("nan")), equal_nan=True)
        assert_close(1, 1.0, check_dtype=False)
        assert_close(None, None)

    def test_messages(self):
        for a, b, kwargs, text in (
                (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]), {}, r"(?s)Tensor-likes are not close!.*Mismatched elements: 1 / 2 \(50.0%\)\n"
                 r"Greatest absolute difference: 1.0 at index \(1,\) \(up to 1e-05 allowed\)\n"
                 r"Greatest relative difference: 0.333\d* at index \(1,\) \(up to 1.3e-06 allowed\)"),
                (torch.tensor([1, 2]), torch.tensor([1, 3]), {}, "Tensor-likes are not equal!"),
                (torch.ones(2), torch.ones(3), {}, r"The values for attribute 'shape' do not match: torch.Size\(\[2\]\) != torch.Size\(\[3\]\)."),
                (torch.ones(2), torch.ones(2).double(), {}, "The values for attribute 'dtype' do not match: torch.float32 != torch.float64."),
                ([torch.ones(1), 2.0], [torch.ones(1), 3.0], {}, r"(?s)Scalars are not close!.*The failure occurred for item \[1\]"),
                ([1], [1, 2], {}, "The length of the sequences mismatch: 1 != 2"),
                ({"a": 1}, {"b": 1}, {}, "The keys of the mappings do not match"),
                (torch.ones(1), torch.zeros(1), {"msg": "my text"}, "^my text$"),
                (torch.tensor(float("nan")), torch.tensor(float("nan")), {}, "Scalars are not close!")):
            with self.subTest(text=text), self.assertRaisesRegex(AssertionError, text):
                assert_close(a, b, **kwargs)
        with self.assertRaises(ValueError):
            assert_close(1.0, 1.0, rtol=0.1)
        with self.assertRaises(TypeError):
            assert_close("a", 3)

    def test_make_tensor(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64):
            made = make_tensor(3, 4, dtype=dtype, device="cpu")
            self.assertEqual((made.dtype, tuple(made.shape)), (dtype, (3, 4)))
        made = make_tensor((50,), dtype=torch.float32, device="cpu", low=2, high=3, requires_grad=True, noncontiguous=True)
        self.assertTrue(made.requires_grad and not made.is_contiguous() and 2 <= made.min().item() and made.max().item() < 3)
        self.assertTrue(bool((make_tensor(99, dtype=torch.int64, device="cpu", low=-1, high=2, exclude_zero=True) != 0).all()))
        with self.assertRaises(ValueError):
            make_tensor(2, dtype=torch.int64, device="cpu", requires_grad=True)


if __name__ == "__main__":
    unittest.main()
