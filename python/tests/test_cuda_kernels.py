"""Kernels of device cuda against the CPU's: on a GPU, or on the host's stand-in for one (tests/host_gpu), which compiles them as
C++ and runs their threads as fibers."""

import os
import subprocess
import sys
import unittest

import sconce as torch

aten = torch.ops.aten
F32, F64, BF16, F16 = torch.float32, torch.float64, torch.bfloat16, torch.float16
I64, I32, I16, U8, BOOL, C64 = torch.int64, torch.int32, torch.int16, torch.uint8, torch.bool, torch.complex64


def there(value):
    """The same argument on the device."""
    if isinstance(value, torch.Tensor):
        return value.to("cuda")
    if isinstance(value, (list, tuple)):
        return type(value)(there(v) for v in value)
    return value


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Kernels(unittest.TestCase):
    def same(self, function, *arguments, relative=1e-4, absolute=1e-5):
        want, got = listed(function(*arguments)), listed(function(*there(list(arguments))))
        self.assertEqual(len(want), len(got))
        for w, g in zip(want, got):
            self.assertEqual(str(g.device), "cuda:0")
            g = g.cpu()
            self.assertEqual((w.dtype, w.shape), (g.dtype, g.shape))
            if not (w.is_floating_point() or w.is_complex()):
                self.assertTrue(torch.equal(w, g), f"{w} {g}")
                continue
            if w.dtype in (BF16, F16):
                w, g, relative, absolute = w.float(), g.float(), max(relative, 2e-2), max(absolute, 1e-2)
            self.assertTrue(torch.allclose(w, g, rtol=relative, atol=absolute, equal_nan=True), f"{w} {g}")

    def bits(self, function, *arguments):
        """No function of the math library takes part: the results are equal."""
        want, got = function(*arguments), function(*there(list(arguments))).cpu()
        self.assertTrue(torch.equal(want, got), f"{want} {got}")

    def test_pointwise_layouts(self):
        x, y = torch.randn(67, 45), torch.randn(45, 67)
        self.bits(lambda a, b: a * b + a, x, torch.randn(67, 45))
        self.bits(lambda a, b: a + b.t(), x, y)  # tiles of shared memory
        self.bits(lambda a, b: a + b, x, torch.randn(45))  # broadcast
        self.bits(lambda a, b: a + b, torch.randn(37, 64).to(BF16), torch.randn(64))  # of a wider dtype
        self.bits(lambda a, b: a + b, torch.randn(37, 64).to(BF16), torch.randn(37, 1).to(BF16))
        self.bits(lambda a, b: a[:, 1:] - b, x, torch.randn(67, 44))  # not aligned
        self.bits(lambda a: a[::2, ::3] + 1, x)
        self.bits(lambda a: a.permute(2, 0, 1) * 2, torch.randn(3, 4, 70))
        self.bits(lambda a, b: a + b, x, torch.tensor(2.5))
        self.assertTrue(torch.equal((x.to("cuda") * torch.tensor(2.5)).cpu(), x * 2.5))  # a number on the host

    def test_pointwise_dtypes(self):
        for dtype in (F32, F64, BF16, F16, I64, I32, I16, U8, BOOL, C64):
            with self.subTest(dtype=dtype):
                x, y = (torch.randn(1003) * 9).to(dtype), (torch.randn(1003) * 9).to(dtype)
                self.bits(lambda a, b: a + b, x, y)
                self.bits(lambda a, b: a == b, x, y)
                self.bits(lambda a, b: torch.where(a != 0, a, b), x, y)
        self.bits(lambda a, b: a + b, torch.arange(50), torch.randn(50).to(BF16))
        self.bits(lambda a, b: a // b, torch.arange(-50, 50), torch.tensor([3, -7] * 50))
        for name in ("exp", "sigmoid", "erf", "lgamma", "digamma", "tanh", "erfinv", "log1p"):
            with self.subTest(name=name):
                self.same(getattr(torch, name), torch.rand(500) * 0.98 + 0.01)
        self.same(torch.exp, torch.randn(100).to(C64))

    def test_copies_convert(self):
        for source in (F32, F64, BF16, F16, I64, U8, BOOL, C64):
            for target in (F32, F64, BF16, F16, I64, I16, BOOL, C64):
                with self.subTest(source=source, target=target):
                    self.bits(lambda x: x.t().to(target), (torch.rand(30, 20) * 9).to(source))
        self.bits(lambda x: torch.zeros_like(x).fill_(3), torch.randn(5, 7))

    def test_reductions(self):
        for dtype in (F32, F64, BF16, I64, C64):
            x = (torch.randn(37, 129) * 3).to(dtype)
            for dims in ([0], [1], [0, 1]):
                with self.subTest(dtype=dtype, dims=dims):
                    self.same(lambda x: x.sum(dims), x, relative=1e-3, absolute=1e-3)
                    if dtype != C64:
                        self.same(lambda x: x.amax(dims), x)
                    if dtype not in (I64,):
                        self.same(lambda x: x.var(dims), x, relative=1e-3)
        long = torch.randn(70001)
        self.same(lambda x: x.sum(), long, absolute=1e-3)
        self.same(lambda x: x.std(), long)
        self.same(lambda x: torch.stack([x.argmax(), x.argmin()]), long)
        self.same(lambda x: list(x.max(1)), torch.randn(9, 300))
        self.same(lambda x: list(x.max(0)), torch.randn(300, 9))
        self.same(lambda x: torch.count_nonzero(x), (torch.rand(5000) * 3).floor())
        self.same(lambda x: torch.stack([x.any(), x.all()]), torch.rand(99) > 0.5)
        self.same(lambda x: torch.logsumexp(x, 1), torch.randn(7, 90))
        self.same(lambda x: x.sum((0, 2)), torch.randn(5, 6, 7, 8))
        self.same(lambda x: x.sum(1), torch.randn(5, 0))

    def test_rows(self):
        for dtype in (F32, BF16, F64):
            for shape, dim in (((5, 37), 1), ((3, 4100), 1), ((2, 20000), 1), ((3, 8, 5), 1), ((4, 128), -1)):
                with self.subTest(dtype=dtype, shape=shape):
                    x, g, n = (torch.randn(*shape) * 2).to(dtype), torch.randn(*shape).to(dtype), shape[-1]
                    w, b = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
                    self.same(lambda x: torch.softmax(x, dim), x)
                    self.same(lambda x: torch.log_softmax(x, dim), x)
                    self.same(lambda g, y: aten._softmax_backward_data(g, y, dim, dtype), g, torch.softmax(x, dim))
                    self.same(lambda g, y: aten._log_softmax_backward_data(g, y, dim, dtype), g, torch.log_softmax(x, dim))
                    self.same(lambda x, w, b: torch.native_layer_norm(x, [n], w, b, 1e-5), x, w, b)
                    self.same(lambda x, w: torch.rms_norm(x, [n], w), x, w)
                    _, mean, rstd = torch.native_layer_norm(x, [n], w, b, 1e-5)
                    self.same(lambda g, x, m, s, w, b: aten.native_layer_norm_backward(g, x, [n], m, s, w, b, [True] * 3),
                              g, x, mean, rstd, w, b, relative=1e-3, absolute=1e-3)

    def test_channel_norms(self):
        x, g, w, b = torch.randn(3, 8, 5, 6), torch.randn(3, 8, 5, 6), torch.rand(8), torch.randn(8)
        mean, var = torch.randn(8), torch.rand(8) + 0.5

        def trained(x, w, b, mean, var):
            mean, var = mean.clone(), var.clone()
            return [*aten.native_batch_norm(x, w, b, mean, var, True, 0.1, 1e-5), mean, var]

        self.same(trained, x, w, b, mean, var)
        self.same(lambda x, w, b, m, v: aten.native_batch_norm(x, w, b, m, v, False, 0.1, 1e-5), x, w, b, mean, var)
        _, m, s = aten.native_batch_norm(x, w, b, mean.clone(), var.clone(), True, 0.1, 1e-5)
        self.same(lambda g, x, w, m, s: aten.native_batch_norm_backward(g, x, w, None, None, m, s, True, 1e-5, [True] * 3),
                  g, x, w, m, s)
        self.same(lambda x, w, b: aten.native_group_norm(x, w, b, 3, 8, 30, 4, 1e-5), x, w, b)
        _, m, s = aten.native_group_norm(x, w, b, 3, 8, 30, 4, 1e-5)
        self.same(lambda g, x, m, s, w: aten.native_group_norm_backward(g, x, m, s, w, 3, 8, 30, 4, [True] * 3), g, x, m, s, w)

    def test_indexing(self):
        x, i = torch.randn(6, 7), torch.tensor([[0, 1, 2, 3, 4, 5, 0], [5, 4, 3, 2, 1, 0, 5]])
        self.bits(lambda x, i: torch.gather(x, 0, i), x, i)
        self.bits(lambda x, i: torch.index_select(x, 1, i), x, torch.tensor([0, 3, 3, 6]))
        self.same(lambda x, i, s: x.clone().scatter_add_(0, i, s), x, i, torch.randn(2, 7))
        self.bits(lambda x, i: x.clone().scatter_(0, i[:1], 2.5), x, i)
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            self.same(lambda x, i, s: x.clone().scatter_reduce_(0, i, s, reduce, include_self=False), x, i, torch.randn(2, 7))
        for dtype in (BF16, I16, U8, I64, C64):
            self.same(lambda x, i, s: x.clone().index_add_(0, i, s), (x * 4).to(dtype), torch.tensor([0, 0, 3]),
                      (torch.randn(3, 7) * 3).to(dtype))
        self.bits(lambda x, i: x.clone().index_fill_(0, i, 7.0), x, torch.tensor([0, -1, 3]))
        self.bits(lambda x, i, j: x[i, j], x, torch.tensor([0, -1, 3]), torch.tensor([1, 2, -3]))
        self.bits(lambda x, j: x[:, j], x, torch.tensor([[1, 2], [-3, 0]]))
        self.same(lambda x, i, v: aten.index_put(x, [i], v, True), x, torch.tensor([0, 0, 3]), torch.randn(3, 7))
        self.bits(lambda w, i: torch.nn.functional.embedding(i, w), torch.randn(20, 13), torch.tensor([[1, 2], [19, 0]]))
        self.same(lambda g, i: aten.embedding_dense_backward(g, i, 20, 3, True), torch.randn(4, 13), torch.tensor([1, 3, 19, 1]))
        mask = torch.rand(6, 7) > 0.5
        self.bits(lambda x, m: torch.masked_select(x, m), x, mask)
        self.bits(lambda x, m: x[m], x, mask)
        self.bits(lambda m: torch.nonzero(m), mask)

    def test_an_index_out_of_range_is_reported(self):
        taken = torch.gather(torch.randn(6, 7).to("cuda"), 0, torch.full((1, 7), 9).to("cuda"))
        with self.assertRaisesRegex(IndexError, "gather: index 9 is out of range for size 6"):
            taken.cpu()
        self.assertEqual(torch.ones(2, device="cuda").sum().item(), 2)  # the device lives on

    def test_scans(self):
        for dtype in (F32, I32, C64, BOOL):
            for shape, dim in (((5, 37), 1), ((3, 40), 0), ((40000,), 0)):
                self.same(lambda x: torch.cumsum(x, dim), (torch.randn(*shape) * 2).to(dtype), relative=1e-3, absolute=1e-2)
        x = torch.randn(4, 300)
        self.same(lambda x: torch.cumprod(x, 1), x)
        self.same(lambda x: torch.logcumsumexp(x, 1), x)
        self.same(lambda x: list(torch.cummax(x, 1)), x)
        self.same(lambda x: list(torch.cummin(x, 0)), x)

    def test_order(self):
        for dtype in (F32, BF16, I64, U8, BOOL, F64):
            for shape, dim in (((5, 37), 1), ((300, 3), 0), ((9000,), 0)):
                x = (torch.randn(*shape) * 5).to(dtype)
                for descending in (False, True):
                    self.same(lambda x: aten.sort.stable(x, stable=True, dim=dim, descending=descending), x)
                if dtype != BOOL:  # which the CPU's topk refuses
                    self.same(lambda x: torch.topk(x, 3, dim)[0], x)
        x = torch.randn(50)
        x[3], x[7], x[9] = float("nan"), -0.0, 0.0
        self.same(lambda x: list(torch.sort(x)), x)
        self.same(lambda x: list(torch.sort(x, descending=True)), x)
        self.same(lambda x: torch.median(x, 1)[0], torch.randn(5, 8))
        self.same(lambda x: torch.kthvalue(x, 3, 1)[0], torch.randn(5, 8))
        self.same(lambda x: torch.unique(x, return_inverse=True, return_counts=True), (torch.rand(200) * 20).to(I64))

    def test_windows(self):
        x = torch.randn(2, 3, 9, 8)
        for kernel, stride, pad, dilation in ((3, 2, 1, 1), (2, 2, 0, 1), (3, 1, 1, 2)):
            sizes = ([kernel] * 2, [stride] * 2, [pad] * 2)
            self.same(lambda x: aten.max_pool2d_with_indices(x, *sizes, [dilation] * 2), x)
            out, places = aten.max_pool2d_with_indices(x, *sizes, [dilation] * 2)
            self.same(lambda g, x, i: aten.max_pool2d_with_indices_backward(g, x, *sizes, [dilation] * 2, False, i),
                      torch.randn(*out.shape), x, places)
            for counted in (True, False):
                out = aten.avg_pool2d(x, *sizes, True, counted)
                self.same(lambda x: aten.avg_pool2d(x, *sizes, True, counted), x)
                self.same(lambda g, x: aten.avg_pool2d_backward(g, x, *sizes, True, counted, None), torch.randn(*out.shape), x)
        last = torch.randn(2, 16, 9, 11).contiguous(memory_format=torch.channels_last)
        last[0, 3, 4, 5], last[1, 2] = float("nan"), 1.0
        for dtype in (F32, BF16, torch.float64):
            for kernel, stride, pad, dilation in (([3, 3], 2, 1, 1), ([2, 2], 2, 0, 1), ([3, 2], 1, 1, 2), ([1, 3], 3, 0, 1)):
                pad = [min(pad, k // 2) for k in kernel]
                self.same(lambda x: aten.max_pool2d_with_indices(x, kernel, [stride] * 2, pad, [dilation] * 2), last.to(dtype))
        self.same(lambda x: aten._adaptive_avg_pool2d(x, [4, 3]), x)
        self.same(lambda g, x: aten._adaptive_avg_pool2d_backward(g, x), torch.randn(2, 3, 4, 3), x)
        self.same(lambda x: aten.reflection_pad2d(x, [1, 2, 2, 1]), x)
        self.same(lambda g, x: aten.replication_pad2d_backward(g, x, [1, 2, 2, 1]), torch.randn(2, 3, 12, 11), x)

    def test_resized_pictures(self):
        x = torch.randn(2, 3, 5, 6)
        for name, extra in (("upsample_nearest2d", ()), ("_upsample_nearest_exact2d", ()), ("upsample_bilinear2d", (False,)),
                            ("upsample_bilinear2d", (True,))):
            self.same(lambda x: getattr(aten, name)(x, [9, 4], *extra), x)
            self.same(lambda g: getattr(aten, name + "_backward")(g, [9, 4], [2, 3, 5, 6], *extra), torch.randn(2, 3, 9, 4))
        self.same(lambda x: aten.im2col(x, [2, 3], [1, 1], [1, 0], [2, 1]), x)
        self.same(lambda x: aten.col2im(x, [5, 6], [2, 3], [1, 1], [1, 0], [2, 1]),
                  torch.randn(*aten.im2col(x, [2, 3], [1, 1], [1, 0], [2, 1]).shape))

    def test_searches(self):
        line = torch.sort(torch.randn(4, 40))[0]
        self.same(lambda s, v: torch.searchsorted(s, v), line, torch.randn(4, 9))
        self.same(lambda s, v: torch.searchsorted(s, v, right=True, out_int32=True), line[0].contiguous(), line[0][::3])
        self.same(lambda v, b: torch.bucketize(v, b), torch.randn(5, 5), line[0].contiguous())
        self.same(lambda a, b: torch.isin(a, b), torch.arange(20), torch.tensor([3, 7, 7, 99]))
        self.same(lambda r: torch.repeat_interleave(r), torch.tensor([2, 0, 3, 1]))
        self.same(lambda x: torch.bincount(x, minlength=12), torch.tensor([1, 3, 3, 9]))
        self.same(lambda x: torch.nn.functional.one_hot(x, 5), torch.tensor([[0, 4], [2, 2]]))
        x = torch.randn(20).to("cuda")
        self.assertTrue(torch.equal(x, x.clone()))
        self.assertFalse(torch.equal(x, x + 1))

    def test_losses(self):
        x, t, w = torch.randn(6, 5), torch.tensor([0, 1, 4, -100, 2, 3]), torch.rand(5)
        p, y = torch.sigmoid(x), torch.rand(6, 5)
        for r in (0, 1, 2):
            self.same(lambda x, t, w: aten.nll_loss_forward(x, t, w, r, -100), x, t, w)
            total = aten.nll_loss_forward(x, t, w, r, -100)[1]
            g = torch.randn(6) if r == 0 else torch.tensor(0.7)
            self.same(lambda g, x, t, w, s: aten.nll_loss_backward(g, x, t, w, r, -100, s), g, x, t, w, total)
            for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy"):
                self.same(lambda a, b: getattr(aten, name)(a, b, reduction=r), p, y)
            self.same(lambda a, b: aten.binary_cross_entropy_with_logits(a, b, reduction=r), x, y)

    def test_ranges(self):
        for make in (lambda d: torch.arange(10, device=d), lambda d: torch.arange(1, 10, 0.3, device=d),
                     lambda d: torch.arange(10, 0, -3, device=d, dtype=BF16), lambda d: torch.linspace(0, 1, 11, device=d),
                     lambda d: torch.linspace(0, 10, 7, device=d, dtype=I32), lambda d: torch.eye(3, 4, device=d)):
            self.assertTrue(torch.equal(make("cuda").cpu(), make("cpu")))
        x = torch.randn(3, 7, 5)
        self.bits(lambda x: torch.tril(x, 1), x)
        self.bits(lambda x: torch.triu(x), x)
        self.bits(lambda x: torch.flip(x, [0, 2]), x)

    def test_batch_norm_in_training(self):
        """Statistics, running ones, result and gradients: channels first and last, in one block for a channel and in many, whole packs or not."""
        for size, dtype, last in (((4, 3, 64, 64), F32, False), ((4, 3, 64, 64), BF16, False), ((2, 40, 7, 7), F16, False), ((3, 5, 7), F64, False),
                                  ((70, 24), F32, False), ((4, 24, 32, 32), F32, True), ((4, 24, 32, 32), BF16, True), ((3, 5, 9, 9), F16, True)):
            channels = size[1]
            x, g = (torch.randn(*size) * 2 + 30).to(dtype), torch.randn(*size).to(dtype)
            if last:
                x = x.to(memory_format=torch.channels_last)
            kept = dtype if dtype in (F64, F16) else F32  # parameters may be as wide as the input
            w, b, mean, var = torch.rand(channels).to(kept), torch.randn(channels).to(kept), torch.randn(channels).to(kept), torch.rand(channels).to(kept)

            def run(x, g, w, b, mean, var):
                mean, var = mean.clone(), var.clone()
                out, save_mean, save_invstd = aten.native_batch_norm(x, w, b, mean, var, True, 0.3, 1e-3)
                grads = aten.native_batch_norm_backward(g, x, w, mean, var, save_mean, save_invstd, True, 1e-3, [True, True, True])
                return [out, save_mean, save_invstd, mean, var, *grads]

            self.same(run, x, g, w, b, mean, var, relative=1e-3, absolute=2e-3)
            self.assertEqual(run(*there([x, g, w, b, mean, var]))[5].stride(), x.stride())

    def test_attention_of_halves(self):
        for heads, size, causal in ((2, 64, True), (1, 40, False), (2, 128, True)):
            q, k, v = (torch.randn(1, heads, n, size).to(BF16) for n in (70, 130, 130))
            self.same(lambda q, k, v: aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal), q, k, v)
            self.same(lambda q, k, v: aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, scale=0.0), q, k, v)

    def test_attention_over_many_tiles(self):
        """Blocks of 128 queries over one to four tiles of 128 keys; sizes that fill none of them; masks that hide whole tiles."""
        for queries, keys, size, causal, masked, dtype in ((300, 300, 128, True, False, BF16), (129, 400, 64, False, False, F16),
                                                           (150, 261, 72, False, True, BF16), (260, 140, 128, True, False, F16)):
            q, k, v = (torch.randn(2, 3, n, size).to(dtype) for n in (queries, keys, keys))
            mask = [torch.randn(2, 1, queries, keys).to(dtype)] if masked else []
            for m in mask:
                m[:, :, 5:7, :130] = float("-inf")
            self.same(lambda q, k, v, *m: aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, attn_mask=m[0] if m else None), q, k, v, *mask)

    @unittest.skipUnless("host_gpu" in os.environ.get("LD_LIBRARY_PATH", ""), "the stand-in alone is another GPU when it is asked to be")
    def test_attention_before_hopper(self):
        names = ["Kernels.test_attention_of_halves", "Kernels.test_attention_over_many_tiles"]
        done = subprocess.run([sys.executable, __file__, "-q", *names], env={**os.environ, "SCONCE_HOST_GPU_MAJOR": "8"}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_gradients_of_attention_of_halves(self):
        for heads, key_heads, size, causal, masked in ((2, 2, 64, True, False), (2, 1, 40, False, True), (1, 1, 128, False, False)):
            q, g = torch.randn(1, heads, 70, size).to(BF16), torch.randn(1, heads, 70, size).to(BF16)
            k, v = torch.randn(1, key_heads, 90, size).to(BF16), torch.randn(1, key_heads, 90, size).to(BF16)
            mask = torch.randn(70, 90).to(BF16) if masked else None

            def run(q, k, v, g, *mask):
                given = {"attn_mask": mask[0] if mask else None}
                k, v = (torch.repeat_interleave(t, heads // key_heads, 1) if str(t.device) == "cpu" else t for t in (k, v))
                out, level = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, **given)
                grads = aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, out, level, 0.0, causal, **given)
                return grads

            want = run(q, k, v, g, *([] if mask is None else [mask]))
            got = run(*there([q, k, v, g]), *([] if mask is None else [mask.to("cuda")]))
            for w, x in zip(want, got):
                if w.shape != x.shape:  # heads that share keys: their gradients add up
                    w = w.float().reshape(1, key_heads, -1, *w.shape[2:]).sum(2)
                w, x = w.float(), x.cpu().float()
                self.assertLess(((w - x).abs().max() / w.abs().max()).item(), 0.03)

    def test_steps_of_optimizers(self):
        def stepped(fused, *tensors):
            parameters, grads, first, second, steps = ([t.clone() for t in part] for part in tensors)
            fused(parameters, grads, first, second, steps)
            return parameters + first + second

        sizes = (5, 4097, 12)
        parts = [[torch.randn(n) for n in sizes], [torch.randn(n) for n in sizes], [torch.randn(n) for n in sizes],
                 [torch.rand(n) for n in sizes], [torch.tensor(3.0) for _ in sizes]]
        for name in ("_fused_adam_", "_fused_adamw_"):
            self.same(lambda *t: stepped(lambda p, g, m, v, s: getattr(aten, name)(
                p, g, m, v, [], s, lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False,
                maximize=False), *t), *parts)
        self.same(lambda *t: stepped(lambda p, g, m, v, s: aten._fused_sgd_(
            p, g, m, weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.0, nesterov=True, maximize=False,
            is_first_step=False), *t), *parts)

    def test_gradients(self):
        x = torch.randn(8, 5).to("cuda").requires_grad_()
        y = torch.randn(8, 5).requires_grad_()
        with torch.no_grad():
            y.copy_(x.cpu())
        (torch.softmax(x * x, 1) * torch.sigmoid(x)).sum().backward()
        (torch.softmax(y * y, 1) * torch.sigmoid(y)).sum().backward()
        self.assertTrue(torch.allclose(x.grad.cpu(), y.grad, atol=1e-6))


    def trained(self, build, run, steps=3, absolute=2e-4):
        """The losses of some steps, on both devices, from the same parameters."""
        torch.manual_seed(5)
        here = build()
        there = build().cuda()
        there.load_state_dict(here.state_dict())
        losses = []
        for model, device in ((here, "cpu"), (there, "cuda")):
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
            for _ in range(steps):
                optimizer.zero_grad()
                loss = run(model, device)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        for want, got in zip(losses[:steps], losses[steps:]):
            self.assertAlmostEqual(want, got, delta=absolute * (1 + abs(want)))
        self.assertLess(losses[-1], losses[steps])

    def test_parameters_may_lie_otherwise(self):
        for kind in (torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad):
            x, g = torch.randn(4, 3, 2, 2), torch.randn(4, 3, 2, 2)
            out = []
            for device in ("cpu", "cuda"):
                p = torch.nn.Parameter(x.to(device).contiguous(memory_format=torch.channels_last))
                optimizer = kind([p], lr=0.1, **({"momentum": 0.9} if kind is torch.optim.SGD else {}))
                for memory_format in (torch.channels_last, torch.contiguous_format):
                    p.grad = g.to(device).contiguous(memory_format=memory_format)
                    optimizer.step()
                self.assertTrue(p.is_contiguous(memory_format=torch.channels_last))
                out.append(p.detach().cpu())
            self.assertTrue(torch.allclose(*out, atol=1e-6), f"{kind}: {out}")

    def test_a_network_of_convolutions_trains(self):
        x, y = torch.randn(4, 1, 12, 12), torch.tensor([0, 3, 1, 2])
        nn = torch.nn

        def build():
            return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(100, 5))

        self.trained(build, lambda m, d: nn.functional.cross_entropy(m(x.to(d)), y.to(d)))

    def test_optimizers_step_as_on_the_cpu(self):
        for name, options in (("SGD", {"momentum": 0.9}), ("Adam", {}), ("Adam", {"amsgrad": True}), ("Adagrad", {}), ("Adadelta", {}),
                              ("Adamax", {}), ("NAdam", {}), ("RAdam", {}), ("RMSprop", {}), ("RMSprop", {"centered": True, "momentum": 0.5}),
                              ("RMSprop", {"momentum": 0.5}), ("Rprop", {}), ("ASGD", {})):
            with self.subTest(name=name):
                def run(x, g):
                    x = x.clone().requires_grad_()
                    optimizer = getattr(torch.optim, name)([x], lr=0.02, **options)
                    for k in range(8):
                        x.grad = g[k].clone()
                        optimizer.step()
                    return x.detach()

                self.same(run, torch.randn(70), torch.randn(8, 70))

    def test_a_recurrent_network_trains(self):
        x, y, nn = torch.randn(6, 3, 5), torch.randn(6, 3, 4), torch.nn
        for kind in ("LSTM", "GRU", "RNN"):
            with self.subTest(kind=kind):
                self.trained(lambda: getattr(nn, kind)(5, 2, num_layers=2, bidirectional=True),
                             lambda m, d: nn.functional.mse_loss(m(x.to(d))[0], y.to(d)), absolute=1e-3)
        self.trained(lambda: nn.LSTM(5, 6, proj_size=4), lambda m, d: nn.functional.mse_loss(m(x.to(d))[0], y.to(d)), absolute=1e-3)
        lengths = torch.tensor([6, 4, 1])

        def packed(m, d):
            out, _ = m(nn.utils.rnn.pack_padded_sequence(x.to(d), lengths))
            return (out.data * out.data).mean()

        self.trained(lambda: nn.GRU(5, 4, bidirectional=True), packed, absolute=1e-3)

    def test_a_transformer_trains(self):
        nn = torch.nn
        x, y = torch.randint(0, 11, (2, 7)), torch.randint(0, 11, (2, 7))

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(11, 16)
                self.layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, batch_first=True)
                self.last = nn.Linear(16, 11)

            def forward(self, x):
                return self.last(self.layer(self.table(x)))

        self.trained(Model, lambda m, d: nn.functional.cross_entropy(m(x.to(d)).view(14, 11), y.to(d).view(14)), absolute=1e-3)

    def test_cross_entropy(self):
        f = torch.nn.functional.cross_entropy
        for rows, classes in ((7, 5), (3, 1025), (2, 9000)):
            x, t = torch.randn(rows, classes) * 3, torch.randint(0, classes, (rows,))
            t[0] = -100
            for reduction in ("mean", "sum", "none"):
                self.same(lambda x, t: f(x, t, reduction=reduction), x, t)

                def slope(x, t):
                    x = x.clone().requires_grad_()
                    f(x, t, reduction=reduction).sum().backward()
                    return x.grad

                self.same(slope, x, t)
        x = torch.randn(2, 3).to("cuda")
        f(x, torch.tensor([0, 7]).to("cuda"))
        with self.assertRaisesRegex(IndexError, "cross_entropy_loss: index 7 is out of range for size 3"):
            torch.cuda.synchronize()

    def test_sorts_of_long_rows(self):
        for dtype in (F32, F64, I64, I32, BF16, U8):
            x = (torch.randn(2, 9001) * 40).to(dtype)
            self.bits(lambda x: torch.sort(x, stable=True)[0], x)
            self.bits(lambda x: torch.sort(x, stable=True, descending=True)[1], x)
        x = torch.randn(3, 5000)
        for k, largest in ((1, True), (50, True), (50, False), (1000, True), (1500, False)):
            self.bits(lambda x: torch.topk(x, k, largest=largest)[0], x)
            self.bits(lambda x: x.gather(1, torch.topk(x, k, largest=largest)[1]), x)
        ties = (torch.rand(2, 3000) * 4).floor()
        values, places = torch.topk(ties.to("cuda"), 1000)
        self.assertTrue(torch.equal(ties.gather(1, places.cpu()), values.cpu()))
        self.assertEqual(len(set(places[0].tolist())), 1000)
        self.assertEqual(places[0].tolist(), sorted(places[0].tolist(), key=lambda i: (-ties[0, i].item(), i)))

    def test_scans_of_long_rows(self):
        for n in (5, 4096, 50001):
            self.same(lambda x: torch.cumsum(x, 1), torch.randn(2, n), relative=1e-3, absolute=1e-3)
            self.same(lambda x: list(torch.cummax(x, 1)), torch.randn(2, n))
            self.same(lambda x: torch.cumsum(x, 0), torch.randint(-9, 9, (n,)))
            self.same(lambda x: torch.logcumsumexp(x, 0), torch.randn(n), relative=1e-5)

    def test_draws_by_tensors(self):
        torch.manual_seed(3)
        order = torch.randperm(5000, device="cuda")
        self.assertEqual(sorted(order.tolist()), list(range(5000)))
        self.assertNotEqual(order[:20].tolist(), list(range(20)))
        weights = torch.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]]).to("cuda")
        drawn = torch.multinomial(weights, 4000, replacement=True).cpu()
        self.assertEqual(sorted(set(drawn[0].tolist())), [0, 2])
        self.assertAlmostEqual((drawn[0] == 2).to(F32).mean().item(), 0.75, delta=0.03)
        self.assertEqual(set(drawn[1].tolist()), {1})
        self.assertEqual(sorted(torch.multinomial(weights[0, ::2], 2).tolist()), [0, 1])
        for make, mean, var in ((lambda: torch.poisson(torch.full((4000,), 3.0, device="cuda")), 3, 3),
                                (lambda: torch.poisson(torch.full((4000,), 50.0, device="cuda")), 50, 50),
                                (lambda: torch.binomial(torch.full((4000,), 9.0, device="cuda"), torch.full((4000,), 0.3, device="cuda")), 2.7, 1.89),
                                (lambda: torch.binomial(torch.full((4000,), 90.0, device="cuda"), torch.full((4000,), 0.6, device="cuda")), 54, 21.6),
                                (lambda: torch._standard_gamma(torch.full((4000,), 2.5, device="cuda")), 2.5, 2.5),
                                (lambda: torch._standard_gamma(torch.full((4000,), 0.4, device="cuda")), 0.4, 0.4)):
            x = make()
            self.assertAlmostEqual(x.mean().item(), mean, delta=6 * (var / 4000) ** 0.5)
            self.assertAlmostEqual(x.var().item(), var, delta=0.25 * var)
        for n in (1000, 1001, 1002):
            x = torch.ones(n, device="cuda")
            out, mask = torch.native_dropout(x, 0.25, True)
            self.assertTrue(torch.equal(out.cpu(), mask.cpu().to(F32) / 0.75))
            self.assertAlmostEqual(mask.to(F32).mean().item(), 0.75, delta=0.07)

    def test_least_squares(self):
        for m, n in ((5, 3), (3, 5), (4, 4)):
            for dtype in (F64, torch.complex128):
                a, b = torch.randn(2, m, n).to(dtype), torch.randn(2, m, 2).to(dtype)
                self.same(lambda a, b: list(torch.linalg.lstsq(a, b, driver="gels")), a, b)
                self.same(lambda a, b: torch.linalg.lstsq(a, b, driver="gels").solution, a, b[..., 0])
        with self.assertRaisesRegex(RuntimeError, "`driver` other than `gels` is not supported on CUDA"):
            torch.linalg.lstsq(a.to("cuda"), b.to("cuda"), driver="gelsd")

    def test_eigenvalues_of_general_matrices(self):
        for n in (1, 2, 3, 6, 17):
            for dtype in (F32, F64, torch.complex128):
                a = torch.randn(2, n, n).to(dtype)
                if n == 6:
                    a[0] = torch.eye(6).to(dtype).roll(1, 0)  # roots of 1
                values, vectors = torch.linalg.eig(a.to("cuda"))
                values, vectors = values.cpu(), vectors.cpu()
                close = 1e-4 if dtype == F32 else 1e-10
                wide = a.to(values.dtype)
                self.assertLess((wide @ vectors - vectors * values.unsqueeze(-2)).abs().max().item(), close * n)
                self.assertLess((vectors.abs().square().sum(-2) - 1).abs().max().item(), close * n)
                self.assertLess((values.sum(-1) - wide.diagonal(0, -2, -1).sum(-1)).abs().max().item(), close * n)
                alone = torch.linalg.eigvals(a.to("cuda")).cpu()
                self.assertLess((alone.abs().sum(-1) - values.abs().sum(-1)).abs().max().item(), close * n)
        self.assertEqual(torch.linalg.eig(torch.zeros(0, 0, device="cuda"))[0].shape, (0,))
        with self.assertRaisesRegex(RuntimeError, "should not contain infs or NaNs"):
            torch.linalg.eig(torch.full((2, 2), float("nan"), device="cuda"))

    def test_symmetric_factors(self):
        for n in (1, 2, 5, 12):
            for dtype, hermitian in ((F32, False), (F64, False), (torch.complex128, False), (torch.complex128, True)):
                a = torch.randn(2, n, n).to(dtype)
                if dtype == torch.complex128:
                    a = torch.complex(torch.randn(2, n, n), torch.randn(2, n, n)).to(dtype)
                a = a + (a.mH if hermitian else a.mT)
                if n == 5:
                    a[0].diagonal().zero_()  # blocks of two
                close = 1e-3 if dtype == F32 else 1e-9
                self.same(lambda a: torch.linalg.ldl_factor(a, hermitian=hermitian)[0], a, relative=close, absolute=close)
                factors, pivots = torch.linalg.ldl_factor(a.to("cuda"), hermitian=hermitian)
                self.assertTrue(torch.equal(pivots.cpu(), torch.linalg.ldl_factor(a, hermitian=hermitian)[1]))
                b = torch.randn(2, n, 3).to(dtype)
                x = torch.linalg.ldl_solve(factors, pivots, b.to("cuda"), hermitian=hermitian)
                self.assertLess((a @ x.cpu() - b).abs().max().item(), 20 * close)
        with self.assertRaisesRegex(RuntimeError, "pivots must be those that ldl_factor gave"):
            torch.linalg.ldl_solve(factors, pivots + 100, b.to("cuda"))

    def test_fake_quantisation(self):
        for dtype in (F32, F64, F16):
            x = torch.randn(4, 5, 6).to(dtype) * 3
            x[0, 0, 0] = float("nan")
            scale, zero = torch.rand(5) + 0.1, torch.randint(-3, 4, (5,), dtype=I32)
            for on in (0, 1):
                self.same(lambda x, s, z, e: aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s, z, e, -8, 7),
                          x[1:], scale[:1], zero[:1], torch.tensor([on]), relative=1e-6)
            self.same(lambda x: aten.fake_quantize_per_tensor_affine_cachemask(x, 0.3, 2, -8, 7), x, relative=1e-6)
            self.same(lambda x, s, z: aten.fake_quantize_per_channel_affine_cachemask(x, s, z, 1, -8, 7), x, scale, zero, relative=1e-6)
        x = torch.randn(4, 5, device="cuda", requires_grad=True)
        torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -1, 1).sum().backward()
        self.assertTrue(torch.equal(x.grad.cpu(), ((x / 0.5).round().abs() <= 1).to(F32).cpu()))
        with self.assertRaisesRegex(RuntimeError, "`zero_point` must be between"):
            torch.fake_quantize_per_tensor_affine(x, 0.5, 9, -1, 1)

    def test_fourier_transforms(self):
        for n in (1, 2, 7, 64, 67, 100, 1031, 2048, 2062):
            x = torch.complex(torch.randn(2, n), torch.randn(2, n))
            self.same(torch.fft.fft, x, relative=1e-3, absolute=1e-3 * n ** 0.5)
            self.same(torch.fft.ifft, x, relative=1e-3)
            self.same(torch.fft.rfft, torch.randn(2, n), relative=1e-3, absolute=1e-3 * n ** 0.5)
            self.same(lambda x: torch.fft.irfft(x, n), torch.fft.rfft(torch.randn(2, n)), relative=1e-3)
        self.same(torch.fft.fft2, torch.randn(3, 6, 10), relative=1e-3, absolute=1e-3)
        self.same(lambda w: torch.hann_window(9, device=w.device), torch.ones(1))

    def test_bags(self):
        table, index, offsets = torch.randn(9, 4), torch.tensor([1, 2, 4, 5, 4, 3, 2, 8]), torch.tensor([0, 4, 4])
        for mode in ("sum", "mean", "max"):
            def run(table, index, offsets):
                table = table.clone().requires_grad_()
                out = torch.nn.functional.embedding_bag(index, table, offsets, mode=mode)
                (out * out).sum().backward()
                return [out.detach(), table.grad]

            self.same(run, table, index, offsets)

    def test_sequences_to_labels(self):
        logs, targets = torch.log_softmax(torch.randn(9, 3, 5), 2), torch.tensor([[1, 2, 2], [3, 1, 4], [4, 4, 1]])
        inputs, lengths = [9, 8, 6], [3, 2, 3]

        def run(logs, targets):
            logs = logs.clone().requires_grad_()
            loss = torch.nn.functional.ctc_loss(logs, targets, inputs, lengths, reduction="sum")
            loss.backward()
            return [loss.detach(), logs.grad]

        self.same(run, logs, targets)

    def test_lengths_on_the_device(self):
        logs, targets = torch.log_softmax(torch.randn(9, 3, 5), 2), torch.tensor([[1, 2, 2], [3, 1, 4], [4, 4, 1]])
        self.same(torch.nn.functional.ctc_loss, logs, targets, torch.tensor([9, 8, 6]), torch.tensor([3, 2, 3]))

    def test_layouts_at_real_sizes(self):
        """What random calls at real sizes found on a GPU (sconce-real-sizes --device cuda)."""
        x, line = torch.randn(2, 8, 9, 7).to(BF16), torch.arange(12.0)
        permuted = torch.randn(3, 3, 16, 8).to(BF16).permute(2, 3, 0, 1)  # no gaps, channels neither first nor last
        self.same(lambda a, w: torch.nn.functional.conv2d(a, w, padding=1), x, permuted)
        single = torch.randn(48, 16, 1, 2, 1).half().as_strided((48, 16, 1, 2, 1), (32, 2, 1, 1, 3))  # as if channels were elsewhere
        self.same(lambda a, w: torch.nn.functional.conv3d(a, w, None, 4, 2, 4), torch.randn(2, 16, 4, 5, 5).half(), single)
        self.same(lambda a, w: torch.nn.functional.conv_transpose2d(a, w, output_padding=(0, 1), dilation=2),
                  torch.randn(2, 8, 4, 4), torch.randn(8, 5, 1, 1))
        for whole in (line[::2], line[:1].expand(6), line.view(3, 4).t()):
            self.bits(torch.take, whole, torch.tensor([[0, 5], [-1, 2]]))
        bias = torch.randn(9).to(BF16)[1:]  # begins between multiples of 16 bytes
        self.same(torch.nn.functional.linear, torch.randn(6, 16).to(BF16), torch.randn(8, 16).to(BF16), bias)
        rows = torch.randn(1 + 2 * 5 * 24).to(BF16)[1:].view(1, 2, 5, 24)
        self.same(torch.nn.functional.scaled_dot_product_attention, rows, rows, rows)

    def test_eigenvalues_of_larger_matrices(self):
        for n in (8, 17, 40):
            a = torch.randn(n, n, dtype=F64)
            self.same(torch.linalg.eigvalsh, a + a.t())

    def test_streams_and_events(self):
        side = torch.cuda.Stream()
        x = torch.ones(1000, device="cuda")
        self.assertEqual(torch.cuda.current_stream(), torch.cuda.default_stream())
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(side):
            self.assertEqual(torch.cuda.current_stream(), side)
            side.wait_stream(torch.cuda.default_stream())
            start.record()
            y = x * 3
            x.record_stream(side)
            end.record()
        self.assertEqual(torch.cuda.current_stream(), torch.cuda.default_stream())
        torch.cuda.current_stream().wait_event(end)
        self.assertEqual((y + 1).sum().item(), 4000)
        end.synchronize()
        self.assertTrue(end.query() and side.query())
        self.assertGreaterEqual(start.elapsed_time(end), 0)
        self.assertNotEqual(side.cuda_stream, torch.cuda.default_stream().cuda_stream)
        self.assertTrue(torch.cuda.Event().query())
        with self.assertRaisesRegex(ValueError, "must be recorded"):
            torch.cuda.Event().elapsed_time(end)
        untimed = side.record_event()
        with self.assertRaisesRegex(ValueError, "enable_timing"):
            untimed.elapsed_time(untimed)
        high = torch.cuda.Stream(priority=-1)
        self.assertNotEqual(high, side)
        with self.assertRaisesRegex(RuntimeError, "there is no CUDA stream 99"):
            torch.ops.sconce.set_stream("cuda", 0, 99)

    def test_states_of_the_generator(self):
        torch.cuda.manual_seed(5)
        torch.rand(3, device="cuda")
        state = torch.cuda.get_rng_state()
        first = torch.rand(9, device="cuda")
        torch.cuda.set_rng_state(state)
        self.assertTrue(torch.equal(first, torch.rand(9, device="cuda")))

    def test_memory_goes_to_other_libraries(self):
        x = torch.arange(12.0).reshape(3, 4).to("cuda")
        self.assertEqual(x.__dlpack_device__(), (2, 0))
        y = torch.from_dlpack(x.t())
        self.assertEqual((y.data_ptr(), y.device, y.shape), (x.data_ptr(), x.device, (4, 3)))
        y[0, 0] = 5
        self.assertEqual(x[0, 0].item(), 5)
        self.assertTrue(torch.equal(torch.from_dlpack(x, device="cpu"), x.cpu()))
        facts = x[:, ::2].__cuda_array_interface__
        self.assertEqual((facts["shape"], facts["strides"], facts["typestr"]), ((3, 2), (16, 8), "<f4"))
        self.assertEqual(facts["data"], (x.data_ptr(), False))
        with self.assertRaisesRegex(AttributeError, "non-CUDA tensor"):
            torch.ones(1).__cuda_array_interface__

    def test_a_factory_may_come_first(self):
        self.assertEqual(torch.zeros(2, device="cuda").device.type, "cuda")


if __name__ == "__main__":
    torch.manual_seed(0)
    unittest.main()
