"""Copies, pickles, storages and generators."""

import copy
import io
import pickle
import unittest

import sconce as torch
from sconce import nn


class Named(torch.Tensor):
    """A subclass that can be pickled."""


class Copies(unittest.TestCase):
    def test_deepcopy(self):
        x = torch.arange(6.0).reshape(2, 3).t()
        x.note = ["attribute"]
        y = copy.deepcopy(x)
        self.assertEqual((y.tolist(), y.stride(), y.note), (x.tolist(), x.stride(), x.note))
        self.assertIsNot(y.note, x.note)
        y[0, 0] = 9
        self.assertEqual(x[0, 0].item(), 0)

    def test_deepcopy_keeps_shared_memory(self):
        x = torch.arange(6.0)
        a, b, c = copy.deepcopy([x, x[2:], x])
        self.assertIs(a, c)
        a[2] = 7
        self.assertEqual(b[0].item(), 7)
        self.assertEqual(x[2].item(), 2)

    def test_deepcopy_of_leaves_only(self):
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        y = copy.deepcopy(x)
        self.assertTrue(y.requires_grad and y.is_leaf)
        self.assertEqual(y.grad.tolist(), [2, 2])
        self.assertIsNot(y.grad, x.grad)
        with self.assertRaisesRegex(RuntimeError, r"Only Tensors created explicitly by the user \(graph leaves\)"):
            copy.deepcopy(x * 2)

    def test_copy_shares_memory(self):
        x = torch.ones(2)
        y = copy.copy(x)
        self.assertIsNot(x, y)
        self.assertEqual(x.data_ptr(), y.data_ptr())

    def test_parameters_and_modules(self):
        p = nn.Parameter(torch.ones(2))
        q = copy.deepcopy(p)
        self.assertIs(type(q), nn.Parameter)
        self.assertTrue(q.requires_grad)
        self.assertNotEqual(p.data_ptr(), q.data_ptr())
        model = nn.Linear(2, 3)
        other = pickle.loads(pickle.dumps(copy.deepcopy(model)))
        for key, value in model.state_dict().items():
            self.assertEqual(value.tolist(), other.state_dict()[key].tolist())
        self.assertIs(type(other.weight), nn.Parameter)


class Pickles(unittest.TestCase):
    def test_all_protocols(self):
        x = torch.arange(6, dtype=torch.int16).reshape(2, 3).t()
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            y = pickle.loads(pickle.dumps(x, protocol))
            self.assertEqual((y.tolist(), y.dtype, y.stride()), (x.tolist(), x.dtype, x.stride()))

    def test_shared_memory(self):
        x = torch.arange(6.0)
        a, b = pickle.loads(pickle.dumps([x[1:], x.view(2, 3)]))
        a[0] = 9
        self.assertEqual(b.tolist(), [[0, 9, 2], [3, 4, 5]])

    def test_out_of_band(self):
        buffers = []
        x = torch.arange(4.0)
        data = pickle.dumps(x, 5, buffer_callback=buffers.append)
        self.assertEqual(pickle.loads(data, buffers=buffers).tolist(), x.tolist())

    def test_kinds(self):
        leaf = pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True)))
        self.assertTrue(leaf.requires_grad)
        bf16 = torch.tensor([1.5, 2], dtype=torch.bfloat16)
        self.assertEqual(pickle.loads(pickle.dumps(bf16)).dtype, torch.bfloat16)
        meta = pickle.loads(pickle.dumps(torch.empty(2, 3, device="meta")))
        self.assertEqual((meta.device.type, tuple(meta.shape)), ("meta", (2, 3)))
        sparse = torch.eye(3).to_sparse()
        self.assertEqual(pickle.loads(pickle.dumps(sparse)).to_dense().tolist(), torch.eye(3).tolist())
        named = torch.ones(2).as_subclass(Named)
        named.note = 5
        again = pickle.loads(pickle.dumps(named))
        self.assertEqual((type(again), again.note, again.tolist()), (Named, 5, [1, 1]))
        for thing in (torch.float32, torch.strided, torch.channels_last, torch.Size([1, 2]), torch.device("cpu")):
            self.assertEqual(pickle.loads(pickle.dumps(thing)), thing)
            self.assertEqual(copy.deepcopy(thing), thing)


class Storages(unittest.TestCase):
    def test_bytes(self):
        x = torch.tensor([1, 2], dtype=torch.int32)
        storage = x[1:].untyped_storage()
        self.assertIs(storage, x.untyped_storage())
        self.assertEqual((storage.nbytes(), len(storage), storage.data_ptr()), (8, 8, x.data_ptr()))
        self.assertEqual(storage.tolist(), [1, 0, 0, 0, 2, 0, 0, 0])
        self.assertEqual(bytes(storage), b"\1\0\0\0\2\0\0\0")
        with self.assertRaises(IndexError):
            storage[8]
        self.assertNotEqual(storage.clone().data_ptr(), storage.data_ptr())
        self.assertEqual(str(storage.device), "cpu")
        del x
        self.assertEqual(storage[0], 1)


class Generators(unittest.TestCase):
    def test_streams(self):
        a, b = torch.Generator(), torch.Generator()
        self.assertIs(a.manual_seed(7), a)
        b.manual_seed(7)
        self.assertEqual(torch.rand(3, generator=a).tolist(), torch.rand(3, generator=b).tolist())
        state = a.get_state()
        first = torch.randn(4, generator=a).tolist()
        a.set_state(state)
        self.assertEqual(torch.randn(4, generator=a).tolist(), first)
        self.assertEqual(a.initial_seed(), 7)
        c = pickle.loads(pickle.dumps(b))
        self.assertEqual(torch.randperm(9, generator=b).tolist(), torch.randperm(9, generator=c).tolist())
        d = b.clone_state()
        self.assertEqual(torch.bernoulli(torch.full((5,), 0.5), generator=b).tolist(),
                         torch.bernoulli(torch.full((5,), 0.5), generator=d).tolist())
        self.assertEqual(torch.ones(3).uniform_(generator=b).tolist(), torch.ones(3).uniform_(generator=d).tolist())
        self.assertNotEqual(a.seed(), a.seed())
        self.assertEqual(str(a.device), "cpu")

    def test_default(self):
        self.assertIs(torch.manual_seed(3), torch.default_generator)
        self.assertEqual(torch.initial_seed(), 3)
        first = torch.rand(2).tolist()
        with torch.random.fork_rng():
            torch.manual_seed(5)
            torch.rand(10)
        second = torch.rand(2).tolist()
        torch.manual_seed(3)
        self.assertEqual([torch.rand(2).tolist(), torch.rand(2).tolist()], [first, second])
        state = torch.get_rng_state()
        self.assertEqual((state.dtype, state.numel()), (torch.uint8, 5056))
        third = torch.rand(2).tolist()
        torch.set_rng_state(state)
        self.assertEqual(torch.rand(2).tolist(), third)

    def test_seeds(self):
        torch.manual_seed(-1)
        self.assertEqual(torch.initial_seed(), 2 ** 64 - 1)
        torch.manual_seed(2 ** 64 - 1)
        with self.assertRaisesRegex(ValueError, "Overflow when unpacking long"):
            torch.manual_seed(2 ** 64)
        with self.assertRaisesRegex(RuntimeError, "manual_seed expected a long, but got float"):
            torch.Generator().manual_seed(1.5)
        with self.assertRaises(TypeError):
            torch.Generator().set_state([1])
        with self.assertRaisesRegex(TypeError, "ByteTensor"):
            torch.Generator().set_state(torch.ones(3))
        with self.assertRaises(TypeError):
            torch.rand(2, generator=5)


if __name__ == "__main__":
    unittest.main()
