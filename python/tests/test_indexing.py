"""Indexing and assignment, against the same expressions on nested lists."""

import unittest

import sconce as torch


class Indexing(unittest.TestCase):
    def setUp(self):
        self.t = torch.arange(24).reshape(2, 3, 4)
        self.rows = self.t.tolist()

    def test_numbers_and_slices(self):
        t, rows = self.t, self.rows
        self.assertEqual(t[1].tolist(), rows[1])
        self.assertEqual(t[-1, 0].tolist(), rows[-1][0])
        self.assertEqual(t[1, 2, 3].item(), rows[1][2][3])
        self.assertEqual(t[:, 1].tolist(), [r[1] for r in rows])
        self.assertEqual(t[0, 1:, ::2].tolist(), [r[::2] for r in rows[0][1:]])
        self.assertEqual(t[..., 0].tolist(), [[c[0] for c in r] for r in rows])
        self.assertEqual(t[0, ..., 1].tolist(), [c[1] for c in rows[0]])
        self.assertEqual(t[None].shape, (1, 2, 3, 4))
        self.assertEqual(t[:, None, 0].shape, (2, 1, 4))
        self.assertEqual(t[5:].shape, (0, 3, 4))

    def test_tensors(self):
        t, rows = self.t, self.rows
        self.assertEqual(t[[0, 0, 1]].tolist(), [rows[0], rows[0], rows[1]])
        self.assertEqual(t[[0, 1], [2, 0]].tolist(), [rows[0][2], rows[1][0]])
        self.assertEqual(t[:, torch.tensor([2, 0])].tolist(), [[r[2], r[0]] for r in rows])
        self.assertEqual(t[torch.tensor(1)].tolist(), rows[1])
        self.assertEqual(t[t > 20].tolist(), [21, 22, 23])
        self.assertEqual(t[torch.tensor([True, False])].shape, (1, 3, 4))
        self.assertEqual(t[True].shape, (1, 2, 3, 4))
        self.assertEqual(t[False].shape, (0, 2, 3, 4))

    def test_views_share_memory(self):
        self.t[0][1][2] = 100
        self.assertEqual(self.t[0, 1, 2].item(), 100)
        whole = self.t[...]
        self.assertIsNot(whole, self.t)
        whole[0, 0, 0] = 7
        self.assertEqual(self.t[0, 0, 0].item(), 7)

    def test_assignment(self):
        t = torch.zeros(2, 3)
        t[0, 1] = 5
        t[1] = torch.tensor([1.0, 2.0, 3.0])
        t[:, 2] = 9
        self.assertEqual(t.tolist(), [[0, 5, 9], [1, 2, 9]])
        t[t > 4] = -1
        self.assertEqual(t.tolist(), [[0, -1, -1], [1, 2, -1]])
        t[[0, 1], [0, 1]] = torch.tensor([7.0, 8.0])
        self.assertEqual(t.tolist(), [[7, -1, -1], [1, 8, -1]])
        t[...] = torch.ones(1, 2, 3)
        self.assertEqual(t.tolist(), [[1, 1, 1], [1, 1, 1]])
        t[0, 0] = True
        t[0, 1] = torch.tensor(4)
        self.assertEqual(t[0].tolist(), [1, 4, 1])

    def test_gradients_flow(self):
        x = torch.ones(3, requires_grad=True)
        (x[1:] * x[torch.tensor([0, 0])]).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 1, 1])

    def test_errors(self):
        t = self.t
        for index in (2, (0, 3), (0, 0, 0, 0), (slice(None),) * 4):
            with self.assertRaises(IndexError):
                t[index]
        with self.assertRaises(IndexError):
            torch.tensor(1)[0]
        with self.assertRaises(ValueError):
            t[::-1]
        with self.assertRaises(TypeError):
            t["text"]
        with self.assertRaises(TypeError):
            t[0] = "text"
        with self.assertRaises(TypeError):
            del t[0]
        with self.assertRaises(RuntimeError):
            t[0] = torch.ones(5)

    def test_lists_with_other_parts_than_numbers_are_tuples(self):
        t, rows = self.t, self.rows
        self.assertEqual(t[[[0, 1], [2, 0]]].tolist(), t[[0, 1], [2, 0]].tolist())
        self.assertEqual(t[[slice(0, 1), 2]].tolist(), [rows[0][2]])
        self.assertEqual(t[[..., 0]].tolist(), t[..., 0].tolist())
        self.assertEqual(t[[torch.tensor(1), None]].shape, (1, 3, 4))
        self.assertEqual(t[[1, 0]].tolist(), [rows[1], rows[0]])

    def test_sequences(self):
        t, rows = self.t, self.rows
        self.assertEqual(t[range(2), range(2)].tolist(), [rows[0][0], rows[1][1]])
        self.assertEqual(t[[]].shape, (0, 3, 4))
        self.assertEqual(t[[], []].shape, (0, 4))
        self.assertEqual(t[[1.0, 0]].tolist(), [rows[1], rows[0]])
        for index, kind in ((0.0, IndexError), (1j, IndexError), ("a", TypeError), (object(), IndexError)):
            with self.assertRaises(kind):
                t[index]
        try:
            import numpy
        except ImportError:
            return
        self.assertEqual(t[numpy.array([1, 0])].tolist(), [rows[1], rows[0]])
        self.assertEqual(t[numpy.array([[0, 1], [1, 0]])].shape, (2, 2, 3, 4))
        self.assertEqual(t[numpy.array([False, True])].tolist(), [rows[1]])
        self.assertEqual(t[numpy.int64(1)].tolist(), rows[1])

    def test_bytes_are_masks(self):
        for value, count in ((0, 0), (1, 1), (7, 1)):
            mask = torch.tensor(value, dtype=torch.uint8)
            self.assertEqual(self.t[mask].shape, (count, 2, 3, 4))
            self.assertEqual(self.t[0, mask].shape, (count, 3, 4))
        self.assertEqual(self.t[torch.tensor(1, dtype=torch.int8)].shape, (3, 4))
        self.assertEqual(self.t[..., torch.ones(3, 4, dtype=torch.uint8)].shape, (2, 12))

    def test_masks_beside_other_indices(self):
        mask = torch.tensor([[True, False, True], [False, False, True]])
        wanted = [self.rows[0][0][3], self.rows[0][2][0], self.rows[1][2][3]]
        self.assertEqual(self.t[mask, [3, 0, 3]].tolist(), wanted)
        self.assertEqual(self.t[mask, torch.tensor([3, 0, 3]), None].tolist(), [[v] for v in wanted])
        self.assertEqual(self.t[None, mask, [3, 0, 3]].tolist(), [wanted])
        t = self.t.clone()
        t[mask, [3, 0, 3]] = 0
        self.assertEqual(t.sum().item(), self.t.sum().item() - sum(wanted))

    def test_leading_dimensions_of_values(self):
        t = torch.zeros(2, 3)
        t[True] = torch.ones(1, 1, 2, 3)
        self.assertEqual(t.tolist(), [[1.0] * 3] * 2)
        t[False] = torch.zeros(7)
        self.assertEqual(t.tolist(), [[1.0] * 3] * 2)
        t[torch.tensor([0, 1])] = torch.full((1, 1, 1, 3), 2.0)
        self.assertEqual(t.tolist(), [[2.0] * 3] * 2)
        t = torch.arange(12.0).reshape(4, 3)
        t[:] = t[2]
        self.assertEqual(t.tolist(), [[6.0, 7.0, 8.0]] * 4)

    def test_iteration(self):
        self.assertEqual([r.tolist() for r in self.t], self.rows)
        self.assertEqual(len(self.t), 2)
        self.assertIn(5, self.t)
        with self.assertRaises(TypeError):
            len(torch.tensor(1))
        with self.assertRaises(TypeError):
            iter(torch.tensor(1))


class Errors(unittest.TestCase):
    def test_numbers_out_of_bounds(self):
        x = torch.ones(2, 3)
        for index, text in (((5,), "index 5 is out of bounds for dimension 0 with size 2"),
                            ((0, None, 7), "index 7 is out of bounds for dimension 1 with size 3"),
                            ((..., -4), "index -4 is out of bounds for dimension 1 with size 3")):
            with self.assertRaises(IndexError) as caught:
                x[index]
            self.assertEqual(str(caught.exception), text)

    def test_operators_are_named_in_a_note(self):
        with self.assertRaises(RuntimeError) as caught:
            torch.ones(2, 3) @ torch.ones(2, 3)
        self.assertEqual(str(caught.exception), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
        self.assertEqual(caught.exception.__notes__, ["in aten::mm(self: float32[2, 3], mat2: float32[2, 3])"])


if __name__ == "__main__":
    unittest.main()
