"""Memory that is shared with other libraries: DLPack, numpy, buffers; and functions about dtypes and shapes."""

import array
import ctypes
import gc
import sys
import unittest
import warnings

import sconce as torch

try:
    import numpy
except ImportError:
    numpy = None


class DLPack(unittest.TestCase):
    def test_round_trip(self):
        for dtype in (torch.float32, torch.bfloat16, torch.bool, torch.uint16, torch.complex128, torch.float8_e5m2):
            x = torch.ones(2, 3).to(dtype).t()
            for version in (None, (1, 0)):
                y = torch.from_dlpack(x.__dlpack__(max_version=version))
                self.assertEqual((y.dtype, y.shape, y.stride(), y.data_ptr()), (x.dtype, x.shape, x.stride(), x.data_ptr()))
        zero = torch.from_dlpack(torch.tensor(2.5))
        self.assertEqual((zero.dim(), zero.item()), (0, 2.5))
        self.assertEqual(torch.from_dlpack(torch.ones(0, 3)).shape, (0, 3))
        self.assertEqual(torch.ones(1).__dlpack_device__(), (1, 0))

    def test_memory_lives_as_long_as_needed(self):
        x = torch.arange(1000.0)
        y = torch.from_dlpack(x)
        del x
        gc.collect()
        self.assertEqual(y.sum().item(), 499500)
        capsule = torch.ones(3).__dlpack__()
        del capsule  # not used: frees it

    def test_copies(self):
        x = torch.ones(2)
        self.assertNotEqual(torch.from_dlpack(x, copy=True).data_ptr(), x.data_ptr())
        self.assertNotEqual(torch.from_dlpack(x.__dlpack__(copy=True)).data_ptr(), x.data_ptr())

    def test_refusals(self):
        used = torch.ones(2).__dlpack__()
        torch.from_dlpack(used)
        for wrong in (used, 5, [1]):
            with self.assertRaisesRegex(RuntimeError, "invalid capsule"):
                torch.from_dlpack(wrong)
        with self.assertRaisesRegex(BufferError, "Can't export tensors that require gradient, use tensor.detach()"):
            torch.ones(2, requires_grad=True).__dlpack__()
        with self.assertRaisesRegex(BufferError, "layout other than torch.strided"):
            torch.eye(2).to_sparse().__dlpack__()
        with self.assertRaisesRegex(AssertionError, "stream should be None on cpu"):
            torch.ones(2).__dlpack__(stream=3)
        with self.assertRaises(NotImplementedError):
            torch.from_dlpack(torch.ones(2), device="meta")

    def test_table(self):
        """The C functions on the type, called as another library would."""

        class View(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("sizes", ctypes.POINTER(ctypes.c_int64)),
                        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]

        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        table = (ctypes.c_void_p * 7).from_address(pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))
        self.assertEqual(table[0] & 0xffffffff, 1)  # the version: 1.3
        x = torch.arange(6, dtype=torch.int32).reshape(2, 3)
        view = View()
        view_of = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View))(table[5])
        self.assertEqual(view_of(x, view), 0)
        self.assertEqual((view.data, view.rank, view.code, view.bits), (x.data_ptr(), 2, 0, 32))
        self.assertEqual((view.sizes[:2], view.strides[:2]), ([2, 3], [3, 1]))
        with self.assertRaises(TypeError):
            view_of(5, view)
        export = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))(table[3])
        take = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))(table[4])
        managed, made = ctypes.c_void_p(), ctypes.py_object()
        self.assertEqual(export(x, managed), 0)
        self.assertEqual(take(managed, made), 0)
        self.assertEqual(made.value.data_ptr(), x.data_ptr())

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_numpy(self):
        a = numpy.arange(6.0).reshape(2, 3)
        t = torch.from_dlpack(a.T)
        t[0, 0] = 9
        self.assertEqual(a[0, 0], 9)
        self.assertEqual(numpy.from_dlpack(t).tolist(), a.T.tolist())
        with self.assertRaisesRegex(ValueError, "negative"):
            torch.from_dlpack(a[::-1])
        a.flags.writeable = False
        with self.assertWarnsRegex(UserWarning, "not writable"):
            torch.from_dlpack(a)


@unittest.skipUnless(numpy, "numpy is not installed")
class Numpy(unittest.TestCase):
    def test_shared(self):
        a = numpy.arange(4, dtype=numpy.int16)
        t = torch.from_numpy(a)
        t[0] = 7
        self.assertEqual(a[0], 7)
        self.assertEqual(torch.as_tensor(a).data_ptr(), t.data_ptr())
        self.assertNotEqual(torch.tensor(a).data_ptr(), t.data_ptr())
        self.assertEqual(torch.from_numpy(numpy.array(1.5)).dim(), 0)
        self.assertEqual(torch.as_tensor(a, dtype=torch.float32).tolist(), [7, 1, 2, 3])
        self.assertEqual(numpy.asarray(t).__array_interface__["data"][0], t.data_ptr())
        self.assertEqual(numpy.asarray(t, dtype=numpy.float32).dtype, numpy.float32)
        self.assertEqual(torch.tensor([numpy.array([1, 2]), numpy.array([3, 4])]).tolist(), [[1, 2], [3, 4]])

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "At least one stride in the given numpy array is negative"):
            torch.from_numpy(numpy.arange(3)[::-1])
        with self.assertRaisesRegex(TypeError, r"can't convert np.ndarray of type numpy.str_. The only supported types are: float64"):
            torch.from_numpy(numpy.array(["a"]))
        with self.assertRaisesRegex(TypeError, r"expected np.ndarray \(got int\)"):
            torch.from_numpy(5)
        with self.assertRaisesRegex(TypeError, "Got unsupported ScalarType BFloat16"):
            torch.ones(2, dtype=torch.bfloat16).numpy()
        with self.assertRaisesRegex(RuntimeError, "Can't call numpy.. on Tensor that requires grad"):
            torch.ones(2, requires_grad=True).numpy()
        a = numpy.arange(3)
        a.flags.writeable = False
        with self.assertWarnsRegex(UserWarning, "not writable"):
            torch.from_numpy(a)


class Buffers(unittest.TestCase):
    def test_frombuffer(self):
        memory = bytearray(16)
        t = torch.frombuffer(memory, dtype=torch.int32, offset=4, count=2)
        t[0] = 1
        self.assertEqual(memory[4], 1)
        self.assertEqual(t.shape, (2,))
        self.assertTrue(torch.frombuffer(memory, dtype=torch.float32, requires_grad=True).requires_grad)
        with self.assertRaises(BufferError):
            memory.append(1)  # as long as tensors are over it
        del t
        gc.collect()
        memory.append(1)
        with self.assertWarnsRegex(UserWarning, "not writable"):
            self.assertEqual(torch.frombuffer(b"ab", dtype=torch.uint8).tolist(), [97, 98])

    def test_frombuffer_refusals(self):
        for size, options, message in ((8, {"offset": 1}, r"buffer length \(7 bytes\) after offset \(1 bytes\) must be a multiple"),
                                       (8, {"offset": 4, "count": 2}, r"requested buffer length \(2 \* 4 bytes\)"),
                                       (0, {}, r"both buffer length \(0\) and count \(-1\) must not be 0"),
                                       (8, {"count": 0}, "must not be 0"), (8, {"offset": 8}, "must be non-negative and no greater"),
                                       (8, {"offset": -1}, "must be non-negative")):
            with self.subTest(options), self.assertRaisesRegex(ValueError, message):
                torch.frombuffer(bytearray(size), dtype=torch.int32, **options)
        with self.assertRaisesRegex(ValueError, "object does not implement Python buffer protocol"):
            torch.frombuffer(5, dtype=torch.int32)

    def test_asarray(self):
        x = torch.ones(2)
        self.assertIs(torch.asarray(x), x)
        self.assertIsNot(torch.asarray(x, copy=True), x)
        self.assertEqual(torch.asarray([1, 2]).dtype, torch.int64)
        self.assertEqual(torch.asarray(bytearray(8)).shape, (2,))
        self.assertTrue(torch.asarray(x, requires_grad=True).requires_grad)
        self.assertFalse(x.requires_grad)
        with self.assertRaisesRegex(ValueError, "can't alias arbitrary sequence into a tensor"):
            torch.asarray([1], copy=False)
        with self.assertRaisesRegex(ValueError, "can't alias tensor with dtype 'Float' into dtype 'Int'"):
            torch.asarray(x, dtype=torch.int32, copy=False)

    def test_sequences(self):
        self.assertEqual(torch.tensor(range(3)).tolist(), [0, 1, 2])
        self.assertEqual(torch.tensor(bytearray(b"ab")).tolist(), [97, 98])
        self.assertEqual(torch.tensor([range(2), (3, 4)]).tolist(), [[0, 1], [3, 4]])
        self.assertEqual(torch.tensor(array.array("d", [1.5])).dtype, torch.float64)
        deep = []
        for _ in range(100):
            deep = [deep]
        with self.assertRaisesRegex(ValueError, "too many dimensions"):
            torch.tensor(deep)


class Facts(unittest.TestCase):
    def test_finfo(self):
        self.assertEqual(repr(torch.finfo(torch.float32)), "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
                         "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)")
        self.assertEqual(repr(torch.finfo(torch.bfloat16)), "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
                         "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)")
        self.assertEqual(torch.finfo(torch.float64).max, sys.float_info.max)
        self.assertEqual((torch.finfo(torch.float64).eps, torch.finfo(torch.float64).resolution), (sys.float_info.epsilon, 1e-15))
        self.assertEqual(torch.finfo(torch.float16).max, 65504)
        self.assertEqual((torch.finfo(torch.float8_e4m3fn).max, torch.finfo(torch.float8_e5m2).max), (448, 57344))
        self.assertEqual(torch.finfo(torch.complex64), torch.finfo())
        self.assertEqual(repr(torch.iinfo(torch.int8)), "iinfo(min=-128, max=127, dtype=int8)")
        self.assertEqual(torch.iinfo(torch.uint64).max, 2 ** 64 - 1)
        with self.assertRaisesRegex(TypeError, "requires a floating point input type"):
            torch.finfo(torch.int32)
        with self.assertRaisesRegex(TypeError, "requires an integer input type"):
            torch.iinfo(torch.float32)

    def test_dtypes(self):
        self.assertTrue(torch.can_cast(torch.int32, torch.int8))
        self.assertFalse(torch.can_cast(torch.float32, torch.int8))
        self.assertIs(torch.promote_types(torch.int32, torch.float16), torch.float16)
        self.assertIs(torch.result_type(torch.ones(2, dtype=torch.int32), 1.5), torch.float32)
        with self.assertRaisesRegex(TypeError, "only floating-point types are supported as the default type"):
            torch.set_default_dtype(torch.int32)

    def test_shapes(self):
        self.assertEqual(torch.broadcast_shapes((2, 1), 3, (1, 1, 1)), (1, 2, 3))
        with self.assertRaisesRegex(RuntimeError, r"Attempting to broadcast a dimension of length 4 at -1! Mismatching argument at index 1 "
                                    r"had \(4,\); but expected shape should be broadcastable to \[2, 3\]"):
            torch.broadcast_shapes((2, 3), (4,))
        a, b = torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))
        self.assertEqual((a.shape, b.shape), ((2, 3), (2, 3)))

    def test_names(self):
        self.assertEqual((torch.typename(torch.ones(1)), torch.typename(5), torch.typename(int)), ("torch.FloatTensor", "int", "int"))

    def test_numbers(self):
        for f in (int, float):
            with self.assertRaisesRegex(ValueError, "only one element tensors can be converted to Python scalars"):
                f(torch.ones(2))
        with self.assertRaisesRegex(RuntimeError, "only supports Tensor or scalar, but you passed in a <class 'str'>"):
            "x" in torch.ones(2)
        self.assertEqual("abc"[torch.tensor(1)], "b")

    def test_printing(self):
        x = torch.tensor([1.23456789, 1000.0])
        try:
            torch.set_printoptions(precision=2)
            self.assertEqual(str(x), "tensor([   1.23, 1000.00])")
            torch.set_printoptions(sci_mode=True, profile="default")
            self.assertEqual(str(x), "tensor([1.2346e+00, 1.0000e+03])")
            torch.set_printoptions(profile="short")
            self.assertEqual(str(torch.arange(2000)), "tensor([   0,    1,  ..., 1998, 1999])")
        finally:
            torch.set_printoptions(profile="default")
        self.assertEqual(str(x), "tensor([   1.2346, 1000.0000])")

    def test_threads(self):
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        self.assertEqual(torch.get_num_threads(), 1)
        torch.set_num_threads(before)
        with self.assertRaisesRegex(RuntimeError, "set_num_threads expects a positive integer"):
            torch.set_num_threads(0)


if __name__ == "__main__":
    warnings.simplefilter("default")
    unittest.main()
