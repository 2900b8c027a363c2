"""sconce.Tensor: making, arithmetic, gradients, numpy, copies, identity."""

import copy
import gc
import math
import sys
import threading
import unittest
import weakref

import sconce as torch

try:
    import numpy
except ImportError:
    numpy = None


class Making(unittest.TestCase):
    def test_dtype_follows_the_data(self):
        self.assertIs(torch.tensor([True, False]).dtype, torch.bool)
        self.assertIs(torch.tensor([1, True]).dtype, torch.int64)
        self.assertIs(torch.tensor([1, 2.5]).dtype, torch.float32)
        self.assertIs(torch.tensor([1, 2j]).dtype, torch.complex64)
        self.assertIs(torch.tensor([]).dtype, torch.float32)
        self.assertIs(torch.tensor([1.5], dtype=torch.int32).dtype, torch.int32)
        small, wide = torch.tensor(1, dtype=torch.int16), torch.tensor(2.5, dtype=torch.float64)
        self.assertIs(torch.tensor([small]).dtype, torch.int16)
        self.assertIs(torch.tensor([small, 5]).dtype, torch.int64)
        self.assertIs(torch.tensor([small.byte(), small.char()]).dtype, torch.int16)
        self.assertIs(torch.tensor([1, wide]).dtype, torch.float64)
        self.assertIs(torch.tensor([small.bfloat16(), 1.5]).dtype, torch.float32)

    def test_numbers_that_a_dtype_does_not_hold(self):
        inf = float("inf")
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            self.assertEqual(torch.tensor([1e40, -1e40], dtype=dtype).tolist(), [inf, -inf])
            x, mask = torch.ones(2, dtype=dtype), torch.tensor([True, False])
            for function in (lambda: x.masked_fill(mask, -1e40), lambda: x.masked_fill_(mask, -1e40), lambda: x.fill_(1e40)):
                with self.assertRaisesRegex(RuntimeError, "without overflow"):
                    function()
            self.assertEqual(x.masked_fill(mask, -inf).tolist(), [-inf, 1])
        for number in (300, -2.5, inf, float("nan")):
            with self.assertRaisesRegex(RuntimeError, "without overflow"):
                torch.ones(2, dtype=torch.uint8).masked_fill(torch.tensor([True, False]), number)
        self.assertEqual(torch.full((1,), -1e9, dtype=torch.float16).tolist(), [-inf])
        self.assertEqual(torch.ones(1).half().new_full((1,), 1e9).tolist(), [inf])
        with self.assertRaises(RuntimeError):
            torch.full((1,), 1e40)

    def test_nested(self):
        t = torch.tensor([[1, 2, 3], [4, 5, 6]])
        self.assertEqual(t.shape, (2, 3))
        self.assertEqual(t.tolist(), [[1, 2, 3], [4, 5, 6]])
        # A tensor in a list is one number, as int() or float() makes it.
        self.assertEqual(torch.tensor([torch.tensor([1]), torch.tensor([[2]])]).tolist(), [1, 2])
        self.assertEqual(torch.tensor([torch.tensor([1.5])]).tolist(), [1.5])
        with self.assertRaises(TypeError):
            torch.tensor([torch.tensor([1, 2])])
        with self.assertRaises(TypeError):
            torch.tensor([torch.tensor(1.5)], dtype=torch.int64)
        with self.assertRaises(ValueError):
            torch.tensor([torch.tensor([1.5, 2])])

    def test_ragged(self):
        for data in ([[1, 2], [3]], [[1], 2], [1, [2]], [[[1]], [[1, 2]]]):
            with self.assertRaises(ValueError):
                torch.tensor(data)
        with self.assertRaises(TypeError):
            torch.tensor(["a"])
        with self.assertRaises(TypeError):
            torch.tensor(object())

    def test_printing(self):
        self.assertEqual(repr(torch.tensor([1.0, 2.5])), "tensor([1.0000, 2.5000])")
        self.assertEqual(str(torch.ones(2).shape), "torch.Size([2])")
        self.assertEqual(repr(torch.float32), "torch.float32")
        self.assertEqual(repr(torch.device("cpu")), "device(type='cpu')")

    def test_factories_take_sizes_both_ways(self):
        self.assertEqual(torch.zeros(2, 3).shape, torch.zeros([2, 3]).shape)
        self.assertEqual(torch.zeros(2, 3, dtype=torch.int8).dtype, torch.int8)
        self.assertEqual(torch.ones(4).view(2, 2).shape, torch.ones(4).view([2, 2]).shape)


class Arithmetic(unittest.TestCase):
    def test_numbers_on_either_side(self):
        t = torch.tensor([1.0, 2.0, 4.0])
        for got, wanted in ((t + 1, [2, 3, 5]), (1 + t, [2, 3, 5]), (t - 1, [0, 1, 3]), (1 - t, [0, -1, -3]), (t * 2, [2, 4, 8]),
                            (8 / t, [8, 4, 2]), (t / 2, [0.5, 1, 2]), (t ** 2, [1, 4, 16]), (2 ** t, [2, 4, 16]), (t // 2, [0, 1, 2]),
                            (9 // t, [9, 4, 2]), (t % 3, [1, 2, 1]), (5 % t, [0, 1, 1]), (-t, [-1, -2, -4]), (abs(-t), [1, 2, 4])):
            self.assertEqual(got.tolist(), wanted)

    def test_integers(self):
        t = torch.tensor([6, 5])
        self.assertEqual((t & 3).tolist(), [2, 1])
        self.assertEqual((1 | t).tolist(), [7, 5])
        self.assertEqual((t ^ 1).tolist(), [7, 4])
        self.assertEqual((t << 1).tolist(), [12, 10])
        self.assertEqual((t >> 1).tolist(), [3, 2])
        self.assertEqual((~t).tolist(), [-7, -6])

    def test_operators_that_bools_do_not_have(self):
        t, x = torch.tensor([True]), torch.tensor([1.0])
        for function in (lambda: t - 1, lambda: 1 - t, lambda: t - t, lambda: x - t, lambda: t - x, lambda: x.sub_(t), lambda: torch.rsub(t, 1)):
            with self.assertRaisesRegex(RuntimeError, "Subtraction, the `-` operator"):
                function()
        for function in (lambda: abs(t), lambda: t // t, lambda: torch.remainder(t, t), lambda: torch.fmod(t, t), lambda: torch.pow(t, t),
                         lambda: t << t, lambda: torch.clamp(t, t, t), lambda: torch.median(t), lambda: torch.kthvalue(t, 1)):
            with self.assertRaisesRegex(NotImplementedError, "not implemented for 'Bool'"):
                function()
        with self.assertRaisesRegex(RuntimeError, "does not support bool input"):
            torch.argmax(t)
        with self.assertRaisesRegex(RuntimeError, "complex Scalar"):
            t.index_fill(0, torch.tensor([0]), torch.tensor(1j))

    def test_in_place_keeps_the_object(self):
        t = before = torch.ones(2)
        t += 1
        t *= 3
        self.assertIs(t, before)
        self.assertEqual(t.tolist(), [6, 6])

    def test_comparisons(self):
        t = torch.tensor([1, 2, 3])
        self.assertEqual((t > 1).tolist(), [False, True, True])
        self.assertEqual((2 >= t).tolist(), [True, True, False])
        self.assertEqual((t == torch.tensor([1, 0, 3])).tolist(), [True, False, True])
        self.assertEqual(t == "text", False)
        self.assertTrue(t != None)  # noqa: E711

    def test_unknown_partner(self):
        with self.assertRaises(TypeError):
            torch.ones(2) + "text"
        with self.assertRaises(TypeError):
            object() - torch.ones(2)

    def test_to_numbers(self):
        self.assertEqual(int(torch.tensor(3.9)), 3)
        self.assertEqual(float(torch.tensor([2.5])), 2.5)
        self.assertEqual([10, 20, 30][torch.tensor(1)], 20)
        self.assertTrue(torch.tensor(0.5))
        with self.assertRaisesRegex(RuntimeError, "more than one value is ambiguous"):
            bool(torch.ones(2))
        with self.assertRaises(TypeError):
            [1][torch.tensor(0.0)]


class Gradients(unittest.TestCase):
    def test_backward(self):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = (x * x).sum()
        self.assertFalse(y.is_leaf)
        self.assertEqual(y.grad_fn.name(), "SumBackward0")
        y.backward()
        self.assertEqual(x.grad.tolist(), [2, 4, 6])
        self.assertIs(x.grad, x.grad)
        x.grad = None
        self.assertIsNone(x.grad)

    def test_grad(self):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        gx, gy = torch.autograd.grad((x * y * 3).sum(), [x, y])
        self.assertEqual((gx + gy).tolist(), [6, 6])
        with self.assertRaisesRegex(RuntimeError, "not have been used in the graph"):
            torch.autograd.grad(x.sum(), y)

    def test_backward_of_several(self):
        x = torch.ones(2, requires_grad=True)
        torch.autograd.backward([x.sum(), (x * 2).sum()])
        self.assertEqual(x.grad.tolist(), [3, 3])

    def test_modes(self):
        x = torch.ones(1, requires_grad=True)
        with torch.no_grad():
            self.assertFalse((x * 2).requires_grad)
            with torch.enable_grad():
                self.assertTrue((x * 2).requires_grad)
        self.assertTrue((x * 2).requires_grad)

        @torch.no_grad()
        def f(x):
            return x * 2

        self.assertFalse(f(x).requires_grad)
        with torch.set_grad_enabled(False):
            self.assertFalse(torch.is_grad_enabled())
        with torch.inference_mode():
            self.assertTrue((x * 2).is_inference())
        self.assertTrue(torch.is_grad_enabled())

    def test_integers_have_none(self):
        with self.assertRaisesRegex(RuntimeError, "floating point"):
            torch.ones(2, dtype=torch.int64).requires_grad_()


class Identity(unittest.TestCase):
    def test_attributes_survive_while_the_tensor_lives(self):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        x.note = "kept"
        name = id(x)
        del x
        gc.collect()
        y.sum().backward()  # the graph has kept the tensor, and the tensor its object
        del y
        gc.collect()
        self.assertNotEqual(name, 0)

    def test_saved_tensor_is_the_same_object(self):
        holder = torch.ones(2, requires_grad=True)
        holder.note = 5
        loss = (holder * 3).sum()
        reference = weakref.ref(holder)
        del holder
        gc.collect()
        self.assertEqual(reference().note, 5)
        del loss
        gc.collect()
        self.assertIsNone(reference())

    def test_cycles_are_collected(self):
        t = torch.ones(1)
        t.me = t
        reference = weakref.ref(t)
        del t
        gc.collect()
        self.assertIsNone(reference())

    def test_subclass(self):
        class Named(torch.Tensor):
            pass

        t = Named(torch.ones(2))
        t.name = "n"
        self.assertIsInstance(t, torch.Tensor)
        self.assertEqual((t + 1).tolist(), [2, 2])
        reference = weakref.ref(t)
        del t
        gc.collect()
        self.assertIsNone(reference())

    def test_an_object_from_a_weak_reference_outlives_the_c_part(self):
        for forms in range(2):
            holder, x = torch.ones(2), torch.full((2,), 3.0)
            if forms == 1:
                x.note = []
            reference = weakref.ref(x)
            holder.grad = x
            del x
            x = reference()  # the gradient owns the object
            del holder
            self.assertEqual(x.sum().item(), 6)
            other = torch.ones(2)
            other.grad = x  # and may own it again
            del x
            self.assertEqual(reference().tolist(), [3, 3])
            del other
            self.assertIsNone(reference())

    def test_weak_containers_of_gradients(self):
        for container in (weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary):
            m = torch.nn.Linear(2, 2)
            m(torch.ones(1, 2)).sum().backward()
            if container is weakref.WeakSet:
                kept = container([m.weight.grad])
                found = list(kept)
            elif container is weakref.WeakKeyDictionary:
                kept = container({m.weight.grad: 1})
                found = list(kept.keys())
            else:
                kept = container({1: m.weight.grad})
                found = list(kept.values())
            self.assertEqual(len(found), 1)
            del m
            gc.collect()
            self.assertEqual(found[0].tolist(), [[1, 1], [1, 1]])
            found.clear()
            self.assertEqual(len(kept), 0)

    def test_objects_of_tensors_in_the_collector(self):
        class Marked(torch.Tensor):
            pass

        holder = torch.ones(2)
        holder.grad = torch.full((2,), 7.0).as_subclass(Marked)
        holder.grad.note = "n"
        found = [o for o in gc.get_objects() if type(o) is Marked]
        self.assertEqual(len(found), 1)
        holder.grad = None
        self.assertEqual((found[0].note, found[0].sum().item()), ("n", 14))

    def test_callbacks_and_finalizers_run_once_at_the_end(self):
        log = []
        x, holder = torch.ones(2), torch.ones(2)
        reference = weakref.ref(x, lambda w: log.append(w()))
        weakref.finalize(x, log.append, "finalized")
        holder.grad = x
        del x
        self.assertEqual(log, [])
        del holder
        self.assertEqual(sorted(log, key=str), [None, "finalized"])
        self.assertIsNone(reference())

    def test_del_of_a_subclass_runs_at_the_end_of_the_tensor(self):
        log = []

        class Told(torch.Tensor):
            def __del__(self):
                log.append((self.tolist(), self.note))

        holder, x = torch.ones(2), torch.full((2,), 4.0).as_subclass(Told)
        x.note = 1
        holder.grad = x
        del x
        self.assertEqual(log, [])
        holder.grad.note = 2
        self.assertEqual(log, [])
        holder.grad = None
        self.assertEqual(log, [([4, 4], 2)])

    def test_del_that_keeps_the_object(self):
        kept = []

        class Kept(torch.Tensor):
            def __del__(self):
                kept.append(self)

        holder = torch.ones(2)
        holder.grad = torch.full((2,), 4.0).as_subclass(Kept)
        holder.grad = None
        self.assertIs(type(kept[0]), Kept)
        self.assertEqual(kept[0].tolist(), [4, 4])
        kept.clear()  # a finaliser runs once
        self.assertEqual(kept, [])

        class Given(torch.Tensor):
            def __del__(self):
                holder.grad = self

        x = torch.full((2,), 5.0).as_subclass(Given)
        x.note = 3
        del x
        self.assertEqual((holder.grad.note, holder.grad.tolist()), (3, [5, 5]))

    def test_slots_of_a_subclass_survive(self):
        class Slotted(torch.Tensor):
            __slots__ = ("note",)

        class Further(Slotted):
            __slots__ = ("more",)

        holder, x = torch.ones(2), torch.ones(2).as_subclass(Further)
        x.note, x.more = [1], Further
        holder.grad = x
        del x
        gc.collect()
        self.assertEqual((holder.grad.note, holder.grad.more), ([1], Further))
        x = holder.grad
        x.note = x  # a cycle by a slot
        reference = weakref.ref(x)
        del x
        gc.collect()
        self.assertIs(holder.grad.note, holder.grad)
        holder.grad = None
        self.assertIsNotNone(reference())
        gc.collect()
        self.assertIsNone(reference())

    def test_cycles_over_tensors_that_are_used_elsewhere_stay(self):
        holder, x = torch.ones(2), torch.ones(2)
        x.me, x.note = x, 5
        reference = weakref.ref(x)
        holder.grad = x
        del x
        gc.collect()
        self.assertEqual(holder.grad.note, 5)
        self.assertIs(holder.grad.me, holder.grad)
        holder.grad = None
        gc.collect()
        self.assertIsNone(reference())

    def test_a_class_given_later(self):
        class First(torch.Tensor):
            pass

        class Second(torch.Tensor):
            pass

        before = sys.getrefcount(Second)
        for _ in range(20):
            holder, x = torch.ones(2), torch.ones(2).as_subclass(First)
            x.__class__ = Second
            holder.grad = x
            del x
            self.assertIs(type(holder.grad), Second)
            holder.grad = None
        self.assertEqual(sys.getrefcount(Second), before)

    def test_threads_share_objects_that_tensors_own(self):
        stop, errors = threading.Event(), []
        references = []

        def look():
            while not stop.is_set():
                for r in list(references):
                    x = r()
                    if x is not None and x.sum().item() not in (2, 4):
                        errors.append(x)
                    del x

        def work():
            w = torch.ones(2, requires_grad=True)
            for _ in range(300):
                loss = (w * w).sum()
                loss.backward()
                references.append(weakref.ref(w.grad))
                w.grad = None
                x = torch.ones(2)
                references.append(weakref.ref(x))
                product = x * w
                del x
                product.sum().backward()
                w.grad = None
                del references[:-8]

        before = gc.get_threshold()
        gc.set_threshold(1)
        try:
            watchers = [threading.Thread(target=look) for _ in range(2)]
            workers = [threading.Thread(target=work) for _ in range(2)]
            for t in watchers + workers:
                t.start()
            for t in workers:
                t.join()
            stop.set()
            for t in watchers:
                t.join()
        finally:
            gc.set_threshold(*before)
        self.assertEqual(errors, [])

    def test_methods_of_the_class(self):
        self.assertEqual(torch.Tensor.add(torch.ones(1), 2).item(), 3)
        self.assertTrue(callable(torch.Tensor.uniform_))
        with self.assertRaises(AttributeError):
            torch.Tensor.no_such_method
        self.assertEqual(torch.tensor([[1j]]).mH.item(), -1j)

    def test_copies(self):
        x = torch.ones(2, requires_grad=True)
        y = copy.deepcopy([x, x])
        self.assertIs(y[0], y[1])
        self.assertIsNot(y[0], x)
        self.assertTrue(y[0].requires_grad)
        self.assertIn(x, {x})


@unittest.skipUnless(numpy, "numpy is not installed")
class Numpy(unittest.TestCase):
    def test_shares_memory_both_ways(self):
        a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        t = torch.from_numpy(a)
        t[0, 0] = 42
        self.assertEqual(a[0, 0], 42)
        b = t.t().numpy()
        self.assertEqual(b.shape, (3, 2))
        b[1, 1] = 7
        self.assertEqual(t[1, 1].item(), 7)

    def test_every_dtype(self):
        for name in ("bool_", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128",
                     "uint16", "uint32", "uint64"):
            a = numpy.ones(3, dtype=getattr(numpy, name))
            t = torch.from_numpy(a)
            self.assertEqual(t.numpy().dtype, a.dtype)
            self.assertEqual(str(t.dtype), "torch." + name.rstrip("_"))

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "negative"):
            torch.from_numpy(numpy.arange(3)[::-1])
        with self.assertRaises(TypeError):
            torch.from_numpy(numpy.array(["text"]))
        with self.assertRaises(TypeError):
            torch.from_numpy([1, 2])
        with self.assertRaises(TypeError):
            torch.ones(2, dtype=torch.bfloat16).numpy()
        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            torch.ones(2, requires_grad=True).numpy()

    def test_read_only_warns(self):
        a = numpy.ones(2)
        a.flags.writeable = False
        with self.assertWarns(UserWarning):
            torch.from_numpy(a)

    def test_memory_outlives_the_array(self):
        t = torch.from_numpy(numpy.full(1000, 3.0))
        gc.collect()
        self.assertEqual(t.sum().item(), 3000)

    def test_numbers_of_numpy(self):
        self.assertEqual(torch.zeros(numpy.int64(2)).shape, (2,))
        self.assertEqual((torch.ones(1) * numpy.float32(2)).item(), 2)


    def test_dtypes_of_numpy(self):
        for dtype in (numpy.int8, numpy.int32, numpy.int64, numpy.uint8, numpy.float16, numpy.float32, numpy.float64, numpy.complex64):
            name = numpy.dtype(dtype).name
            self.assertEqual(str(torch.tensor([dtype(1)]).dtype), f"torch.{name}")
            self.assertEqual(str(torch.tensor([numpy.ones(2, dtype)]).dtype), f"torch.{name}")
            self.assertIs(torch.tensor([dtype(1)]).numpy().dtype.type, dtype)
        self.assertEqual(torch.tensor([numpy.complex64(1 + 2j)]).tolist(), [1 + 2j])
        self.assertIs(torch.tensor([numpy.int8(1), 2.5]).dtype, torch.float32)
        self.assertIs(torch.tensor([1, numpy.float64(2)]).dtype, torch.float64)


class Values(unittest.TestCase):
    def test_complex_halves_are_a_dtype_without_tensors(self):
        half = torch.ones(2, dtype=torch.float16)
        self.assertIs(torch.result_type(half, torch.tensor(1j)), torch.complex32)
        self.assertIs(torch.chalf, torch.complex32)
        for function in (lambda: torch.zeros(2, dtype=torch.complex32), lambda: half.to(torch.complex32), lambda: half + torch.tensor(1j)):
            with self.assertRaises(RuntimeError):
                function()

    def test_random_numbers_repeat(self):
        torch.manual_seed(0)
        first = torch.rand(3)
        torch.manual_seed(0)
        self.assertEqual(first.tolist(), torch.rand(3).tolist())
        torch.manual_seed(0)
        self.assertTrue(math.isclose(torch.rand(1).item(), 0.49625658988952637))  # PyTorch's

    def test_default_dtype(self):
        torch.set_default_dtype(torch.float64)
        try:
            self.assertIs(torch.tensor(1.5).dtype, torch.float64)
        finally:
            torch.set_default_dtype(torch.float32)


class Collector(unittest.TestCase):
    def test_cycles(self):
        """Objects that the collector cleared are used again for other tensors."""
        for turn in range(20):
            kept = []
            for i in range(300):
                t = torch.full((2,), float(i))
                t.me = [t]
                kept.append(torch.full((2,), float(i)))
            del t
            gc.collect()
            others = [torch.full((2,), -1.0) for _ in range(400)]
            gc.collect()
            self.assertEqual([k[0].item() for k in kept], [float(i) for i in range(300)])
            self.assertTrue(all(o[1].item() == -1 for o in others))
            self.assertTrue(not any(gc.is_tracked(o) for o in others))


class Legacy(unittest.TestCase):
    def test_types(self):
        x = torch.FloatTensor([1, 2])
        self.assertIs(x.dtype, torch.float32)
        self.assertEqual((x.tolist(), torch.LongTensor(2, 3).shape, torch.ByteTensor(torch.Size([4])).shape), ([1, 2], (2, 3), (4,)))
        self.assertIsInstance(x, torch.FloatTensor)
        self.assertNotIsInstance(x, torch.LongTensor)
        self.assertEqual((x.new([5]).tolist(), x.new(2, 2).shape), ([5], (2, 2)))
        with self.assertRaises(TypeError):
            torch.FloatTensor(torch.ones(2, dtype=torch.int64))
        for empty in (torch.LongTensor(), torch.tensor([1]).new(), torch.Tensor()):
            self.assertEqual(empty.tolist(), [])
        self.assertIs(torch.LongTensor().dtype, torch.int64)

    def test_the_class_makes_tensors(self):
        self.assertEqual(torch.Tensor([1, 2]).tolist(), [1.0, 2.0])
        self.assertEqual(torch.Tensor((2, 3)).tolist(), [2.0, 3.0])
        self.assertEqual(torch.Tensor([[1], [2]]).shape, (2, 1))
        self.assertEqual((torch.Tensor(2, 3).shape, torch.Tensor(5).shape, torch.Tensor(torch.Size([2, 3])).shape), ((2, 3), (5,), (2, 3)))
        self.assertEqual(torch.Tensor(2, 3, device="cpu").shape, (2, 3))
        x = torch.ones(2)
        self.assertEqual(torch.Tensor(x).data_ptr(), x.data_ptr())
        for wrong in (3.5, "a", None):
            with self.assertRaises(TypeError):
                torch.Tensor(wrong)
        if numpy:
            self.assertEqual(torch.Tensor(numpy.ones(2)).dtype, torch.float32)

    def test_results_that_were_asked_for(self):
        x = torch.tensor([1, 1, 2])
        self.assertEqual(x.unique_consecutive().tolist(), [1, 2])
        self.assertEqual([t.tolist() for t in x.unique_consecutive(return_inverse=True)], [[1, 2], [0, 0, 1]])
        self.assertEqual([t.tolist() for t in x.unique_consecutive(return_counts=True)], [[1, 2], [2, 1]])
        self.assertEqual([t.tolist() for t in x.unique_consecutive(True, True)], [[1, 2], [0, 0, 1], [2, 1]])
        self.assertEqual(x.reshape(1, 3).unique_consecutive(dim=1).tolist(), [[1, 2]])

    def test_methods(self):
        x = torch.tensor([[1.0, 4.0], [9.0, 16.0]])
        self.assertEqual(x.clone().apply_(math.sqrt).tolist(), [[1, 2], [3, 4]])
        self.assertEqual(x.clone().t().map_(x, lambda a, b: a - b).tolist(), [[0, 5], [-5, 0]])
        self.assertEqual(x.where(x > 4, torch.zeros(2, 2)).tolist(), [[0, 0], [9, 16]])
        self.assertEqual(x.where(x > 4, 0.0).tolist(), [[0, 0], [9, 16]])
        self.assertAlmostEqual(torch.tensor(1.0).polygamma(1).item(), math.pi ** 2 / 6, places=5)
        self.assertEqual((x.is_cpu, x.is_mkldnn, x.is_sparse_csr, x.to_sparse_csr().is_sparse_csr), (True, False, False, True))
        self.assertEqual((x.dim_order(), x.t().dim_order()), ((0, 1), (1, 0)))
        self.assertEqual(complex(torch.tensor(1 + 2j)), 1 + 2j)


if __name__ == "__main__":
    unittest.main()
