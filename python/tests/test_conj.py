"""Conjugate and negative views: one memory, two tensors. All values and messages are PyTorch 2.13's."""

import copy
import os
import pickle
import tempfile
import unittest

import sconce as torch

try:
    import numpy
except ImportError:
    numpy = None


def pair():
    return torch.tensor([1 + 1j, 2 - 3j])


class Views(unittest.TestCase):
    def test_writes_reach_the_base(self):
        x = pair()
        x.conj()[0] = 9
        self.assertEqual(x.tolist(), [9, 2 - 3j])
        x.conj().copy_(torch.tensor([1j, 2j]))
        self.assertEqual(x.tolist(), [-1j, -2j])
        x.conj().zero_()
        self.assertEqual(x.tolist(), [0, 0])
        r = torch.tensor([1.0, 2.0])
        r._neg_view().copy_(torch.tensor([3.0, 4.0]))
        self.assertEqual(r.tolist(), [-3, -4])
        z = pair()
        z.conj().imag.fill_(5)
        self.assertEqual(z.tolist(), [1 - 5j, 2 - 5j])
        z.conj().real.add_(1)
        self.assertEqual(z.tolist(), [2 - 5j, 3 - 5j])

    def test_reads_follow_the_base(self):
        x = pair()
        c, n, i = x.conj(), x._neg_view(), x.conj().imag
        x[1] = 7j
        self.assertEqual(c.tolist(), [1 - 1j, -7j])
        self.assertEqual(n.tolist(), [-1 - 1j, -7j])
        self.assertEqual(i.tolist(), [-1, -7])

    def test_bits(self):
        x, r = pair(), torch.tensor([1.0, 2.0])
        self.assertFalse(x.is_conj() or x.is_neg() or r.is_conj())
        self.assertTrue(x.conj().is_conj() and not x.conj().is_neg())
        self.assertFalse(x.conj().conj().is_conj())
        self.assertIs(r.conj(), r)
        self.assertFalse(torch.tensor([1]).conj().is_conj())
        self.assertTrue(r._neg_view().is_neg() and not r._neg_view()._neg_view().is_neg())
        self.assertTrue(x.conj().imag.is_neg() and not x.conj().real.is_neg() and not x.imag.is_neg())
        both = x._neg_view().conj()
        self.assertTrue(both.is_conj() and both.is_neg() and not both.imag.is_neg() and both.real.is_neg())
        self.assertEqual(both.tolist(), [-1 + 1j, -2 - 3j])
        self.assertEqual(both.imag.tolist(), [1, -3])
        self.assertTrue(torch.view_as_real(x._neg_view()).is_neg())
        self.assertTrue(torch.view_as_complex(torch.ones(3, 2)._neg_view()).is_neg())
        self.assertEqual(torch.tensor([1, 2])._neg_view().tolist(), [-1, -2])

    def test_views_keep_the_bits(self):
        c = torch.arange(6).to(torch.complex64).reshape(2, 3).mul(1 + 1j).conj()
        for view in (c[0], c.t(), c.view(6), c.reshape(3, 2), c.unsqueeze(0), c.expand(2, 2, 3), c.diagonal(), c[:, 1:], c.unbind()[1], c.chunk(2)[0],
                     c.split(1)[0], c.detach(), c.data, c.contiguous(), c.to(torch.complex64), c.cpu(), c.as_strided((2,), (1,)), c.movedim(0, 1), c.view_as(c),
                     torch.ops.aten.alias(c), c.permute(1, 0), c.narrow(0, 0, 1), c.flatten(), c.squeeze()):
            self.assertTrue(view.is_conj())
            self.assertEqual(view.data_ptr() - view.storage_offset() * 8, c.data_ptr())
        for made in (c.clone(), c + 0, c.to(torch.complex128), torch.empty_like(c), torch.zeros_like(c), c.resolve_conj(), torch.stack([c, c]), c.t().contiguous(),
                     c.conj_physical(), c[[0, 1]], torch.cat([c, c]), c.sum(0), c.flip(0)):
            self.assertFalse(made.is_conj())
        self.assertEqual(c.t().contiguous().tolist(), [[0, 3 - 3j], [1 - 1j, 4 - 4j], [2 - 2j, 5 - 5j]])

    def test_adjoints(self):
        x = torch.tensor([[1 + 1j, 2j], [3, 4 - 1j], [5j, 6]])
        self.assertEqual(torch.matmul(x.mH, x).tolist(), [[36, 14 - 31j], [14 + 31j, 57]])
        for h in (x.mH, x.H, x.adjoint()):
            self.assertTrue(h.is_conj())
            self.assertEqual(h.tolist(), [[1 - 1j, 3, -5j], [-2j, 4 + 1j, 6]])
        x.mH[0, 2] = 8j
        self.assertEqual(x[2, 0].item(), -8j)
        z = torch.tensor(1 + 2j)
        self.assertEqual([t.item() for t in (z.mH, z.H, z.adjoint(), z.mT)], [1 - 2j, 1 - 2j, 1 - 2j, 1 + 2j])
        r = torch.ones(2, 3)
        self.assertFalse(r.mH.is_conj() or r.H.is_conj() or r.adjoint().is_conj())

    def test_resolve(self):
        x = pair()
        self.assertIs(x.resolve_conj(), x)
        self.assertIs(x.resolve_neg(), x)
        c = x.conj().resolve_conj()
        self.assertFalse(c.is_conj())
        self.assertNotEqual(c.data_ptr(), x.data_ptr())
        self.assertEqual(c.tolist(), [1 - 1j, 2 + 3j])
        both = x._neg_view().conj()
        self.assertFalse(torch.resolve_neg(both).is_conj())
        self.assertEqual(both.resolve_neg().tolist(), [-1 + 1j, -2 - 3j])
        self.assertEqual(x.conj().conj_physical().tolist(), x.tolist())
        self.assertEqual(x.conj().conj_physical_().tolist(), x.conj().tolist())

    def test_changes_of_handles(self):
        c = pair().conj()
        c.unsqueeze_(0)
        self.assertTrue(c.is_conj())
        self.assertEqual(c.tolist(), [[1 - 1j, 2 + 3j]])
        c.t_()
        self.assertEqual(c.tolist(), [[1 - 1j], [2 + 3j]])
        c.resize_(1)
        self.assertTrue(c.is_conj())
        c = pair().conj()
        c.set_(pair())
        self.assertEqual(c.tolist(), [1 - 1j, 2 + 3j])
        y = pair()
        y.data = pair().conj()
        self.assertEqual(y.tolist(), [1 - 1j, 2 + 3j])

    def test_refused(self):
        c = pair().conj()
        with self.assertRaisesRegex(RuntimeError, "view_as_real doesn't work on unresolved conjugated tensors"):
            torch.view_as_real(c)
        with self.assertRaisesRegex(RuntimeError, "is not supported for conjugate view tensors when converting to a different dtype"):
            c.view(torch.float32)
        with self.assertRaisesRegex(RuntimeError, "is not supported for tensors with negative bit set when converting"):
            torch.ones(2)._neg_view().view(torch.int32)
        with self.assertRaises(RuntimeError):
            torch._conj(torch.ones(2))


class Operators(unittest.TestCase):
    def test_inplace(self):
        x = pair()
        c = x.conj()
        self.assertIs(c.add_(1j), c)
        self.assertEqual(x.tolist(), [1, 2 - 4j])
        c.mul_(x)
        self.assertEqual(x.tolist(), [1, 20])
        c.neg_()
        c += x.conj() * 1j
        self.assertEqual(c.tolist(), [-1 - 1j, -20 - 20j])
        self.assertEqual(x.tolist(), [-1 + 1j, -20 + 20j])
        x = pair()
        x.copy_(x.conj())
        self.assertEqual(x.tolist(), [1 - 1j, 2 + 3j])
        x.conj().copy_(x)
        self.assertEqual(x.tolist(), [1 + 1j, 2 - 3j])
        x.add_(x.conj())
        self.assertEqual(x.tolist(), [2, 4])

    def test_out(self):
        x, y = pair(), pair()
        out = torch.add(y, 1, out=x.conj())
        self.assertTrue(out.is_conj())
        self.assertEqual(x.tolist(), [2 - 1j, 3 + 3j])
        x = torch.zeros(0, dtype=torch.complex64)
        c = x.conj()
        torch.mul(y, 2, out=c)
        self.assertEqual(c.tolist(), [2 + 2j, 4 - 6j])
        n = torch.zeros(2)._neg_view()
        torch.sum(torch.ones(3, 2), 0, out=n)
        self.assertEqual(n.tolist(), [3, 3])

    def test_lists(self):
        x, y = pair() * 2, pair() * 2
        c = x.conj()
        self.assertEqual(torch.stack([c, y]).tolist(), [[2 - 2j, 4 + 6j], [2 + 2j, 4 - 6j]])
        self.assertEqual(torch.cat([c, c.imag]).tolist(), [2 - 2j, 4 + 6j, -2, 6])

    def test_indices(self):
        x = pair()
        c = x.conj()
        c[torch.tensor([0])] = 5j
        c[c.real == 2] = 7
        self.assertEqual(x.tolist(), [-5j, 7])
        c.index_add_(0, torch.tensor([1]), torch.tensor([1j]))
        c.masked_fill_(torch.tensor([True, False]), 1 + 1j)
        self.assertEqual(x.tolist(), [1 - 1j, 7 - 1j])

    def test_versions(self):
        x = pair()
        c, before = x.conj(), x._version
        c.mul_(2)
        self.assertEqual((x._version, c._version), (before + 1, before + 1))
        c.copy_(pair())
        x.add_(1)
        self.assertEqual((x._version, c._version), (before + 3, before + 3))

    def test_text(self):
        x = pair()
        self.assertEqual(repr(x.conj()), "tensor([1.-1.j, 2.+3.j])")
        self.assertEqual(str(x.conj().imag), "tensor([-1.,  3.])")
        self.assertEqual(x.conj()[1].item(), 2 + 3j)
        self.assertEqual(complex(x.conj()[0]), 1 - 1j)
        self.assertEqual(float(x.conj().imag[1]), 3)
        self.assertTrue(torch.equal(x.conj(), x.conj_physical()))
        self.assertEqual(repr(torch.empty(2, dtype=torch.complex64, device="meta").conj().is_conj()), "True")

    def test_bool(self):
        n = torch.tensor([True])._neg_view()
        with self.assertRaisesRegex(NotImplementedError, "\"neg_cpu\" not implemented for 'Bool'"):
            n.tolist()


class Outside(unittest.TestCase):
    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_numpy(self):
        c, n = pair().conj(), torch.ones(2)._neg_view()
        with self.assertRaisesRegex(RuntimeError, r"Can't call numpy\(\) on Tensor that has conjugate bit set. Use tensor.resolve_conj\(\).numpy\(\) instead."):
            c.numpy()
        with self.assertRaisesRegex(RuntimeError, r"Can't call numpy\(\) on Tensor that has negative bit set. Use tensor.resolve_neg\(\).numpy\(\) instead."):
            n.numpy()
        self.assertEqual(c.numpy(force=True).tolist(), [1 - 1j, 2 + 3j])
        self.assertEqual(n.numpy(force=True).tolist(), [-1, -1])
        self.assertEqual(torch.ones(2, requires_grad=True).numpy(force=True).tolist(), [1, 1])
        x = torch.zeros(2)
        x.numpy(force=True)[0] = 1
        self.assertEqual(x.tolist(), [1, 0])

    def test_dlpack(self):
        with self.assertRaisesRegex(BufferError, "Can't export tensors with the conjugate bit set"):
            pair().conj().__dlpack__()

    def test_files(self):
        x = pair()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bits.pt")
            torch.save([x.conj(), x._neg_view(), x._neg_view().conj(), x], path)
            c, n, both, y = torch.load(path)
        self.assertTrue(c.is_conj() and n.is_neg() and both.is_conj() and both.is_neg() and not y.is_conj())
        self.assertEqual(c.tolist(), [1 - 1j, 2 + 3j])
        self.assertEqual(both.tolist(), [-1 + 1j, -2 - 3j])
        c[0] = 5j
        self.assertEqual(y.tolist(), [-5j, 2 - 3j])

    def test_copies(self):
        c = pair().conj()
        for made, lazy in ((copy.deepcopy(c), False), (pickle.loads(pickle.dumps(c)), True)):
            self.assertEqual(made.is_conj(), lazy)
            self.assertNotEqual(made.data_ptr(), c.data_ptr())
            self.assertEqual(made.tolist(), c.tolist())
        self.assertTrue(torch.nn.Parameter(c).is_conj())
        self.assertFalse(torch.tensor(c.tolist()).is_conj())
        self.assertTrue(torch.as_tensor(c).is_conj())


class Gradients(unittest.TestCase):
    def test_views(self):
        x = pair().requires_grad_()
        c = x.conj()
        self.assertIn("ConjBackward0", repr(c.grad_fn))
        (c * torch.tensor([1 + 2j, 3j])).real.sum().backward()
        self.assertEqual(x.grad.tolist(), [1 + 2j, 3j])
        x.grad = None
        x.conj().imag.sum().backward()
        self.assertEqual(x.grad.tolist(), [-1j, -1j])
        x.grad = None
        (x._neg_view() * x.conj()).real.sum().backward()
        self.assertEqual(x.grad.tolist(), [-2 - 2j, -4 + 6j])

    def test_writes_to_views(self):
        x = pair().requires_grad_()
        y = x * 1
        y.conj().mul_(torch.tensor([1j, 2]))
        (y * torch.tensor([1, 1j])).real.sum().backward()
        self.assertEqual(x.grad.tolist(), [1j, -2j])
        x.grad = None
        y = x * 1
        c = y.conj()
        c[0] = 3
        (y.real + y.imag).sum().backward()
        self.assertEqual(x.grad.tolist(), [0, 1 + 1j])
        self.assertEqual(c.tolist(), [3, 2 + 3j])
        x.grad = None
        y = x * 1
        c = y.conj()
        y.mul_(1j)
        (c * (1 + 2j)).real.sum().backward()
        self.assertEqual(x.grad.tolist(), [2 - 1j, 2 - 1j])
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        y = torch.zeros(2, dtype=torch.complex64)
        y.conj().imag.copy_(w)
        self.assertEqual(y.tolist(), [-1j, -2j])
        (y.imag * torch.tensor([1.0, 3.0])).sum().backward()
        self.assertEqual(w.grad.tolist(), [-1, -3])

    def test_versions_of_saved_tensors(self):
        x = pair().requires_grad_()
        y = x * 1
        z = (y * y).sum().abs()
        y.conj().add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            z.backward()
        leaf = pair().requires_grad_()
        with self.assertRaisesRegex(RuntimeError, "a view of a leaf Variable that requires grad is being used in an in-place operation"):
            leaf.conj().add_(1)

    def test_leaves(self):
        x = pair().conj().requires_grad_()
        self.assertTrue(x.is_leaf)
        (x * x.conj()).real.sum().backward()
        self.assertEqual(x.grad.tolist(), [2 - 2j, 4 + 6j])
        y = x * 1
        y.imag.mul_(3)
        x.grad = None
        y.imag.sum().backward()
        self.assertEqual(x.grad.tolist(), [3j, 3j])

    def test_second_order(self):
        x = pair().to(torch.complex128).requires_grad_()
        (g,) = torch.autograd.grad((x.conj() * x * x.conj()).imag.sum(), x, create_graph=True)
        (g.conj() * g).real.sum().backward()
        self.assertEqual((g.tolist(), x.grad.tolist()), ([-2 - 4j, 12 - 31j], [24 + 56j, 392 - 1212j]))
        self.assertTrue(torch.autograd.gradcheck(lambda t: t.conj().imag * t._neg_view().real, x.detach().requires_grad_()))
        self.assertTrue(torch.autograd.gradgradcheck(lambda t: (t.conj() * t.mH) @ t, torch.ones(2, 2, dtype=torch.complex128, requires_grad=True)))


class Programs(unittest.TestCase):
    def test_script(self):
        def f(x, y: int):
            c = x.conj()
            c[0] = y
            return c * 2, c.is_conj(), c.imag.is_neg()

        program = torch.jit.script(f)
        for _ in range(4):
            x = pair()
            out, conj, neg = program(x, 9)
            self.assertEqual((out.tolist(), conj, neg, x.tolist()), ([18, 4 + 6j], True, True, [9, 2 - 3j]))

    def test_arguments_with_bits(self):
        program = torch.jit.trace(lambda x: x * 2 + 1, pair())
        for _ in range(4):
            self.assertEqual(program(pair()).tolist(), [3 + 2j, 5 - 6j])
            self.assertEqual(program(pair().conj()).tolist(), [3 - 2j, 5 + 6j])
        compiled = torch.compile(lambda x: (x * 2 + 1, x.is_conj()))
        for _ in range(3):
            for x, conj, want in ((pair(), False, [3 + 2j, 5 - 6j]), (pair().conj(), True, [3 - 2j, 5 + 6j])):
                out, is_conj = compiled(x)
                self.assertEqual((out.tolist(), is_conj), (want, conj))

    def test_compiled_writes(self):
        @torch.compile
        def f(x):
            x.conj().imag.add_(1)
            return x.mH if x.dim() > 1 else x.conj()

        for _ in range(3):
            x = pair()
            c = f(x)
            self.assertEqual((x.tolist(), c.tolist(), c.is_conj()), ([1, 2 - 4j], [1, 2 + 4j], True))
            c[0] = 2j
            self.assertEqual(x[0].item(), -2j)

    def test_trace(self):
        traced = torch.jit.trace(lambda x: x.conj() * x.mH, torch.ones(2, 2, dtype=torch.complex64))
        x = torch.tensor([[1 + 1j, 2], [3, 4j]])
        for _ in range(3):
            self.assertEqual(traced(x).tolist(), [[-2j, 6], [6, -16]])

    def test_func(self):
        g = torch.func.grad(lambda x: (x.conj() * x).real.sum())(pair())
        self.assertEqual(g.tolist(), [2 + 2j, 4 - 6j])
        self.assertEqual(torch.func.vmap(lambda x: x.conj() * 2)(pair()).tolist(), [2 - 2j, 4 + 6j])


if __name__ == "__main__":
    unittest.main()
