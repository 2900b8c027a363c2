"""Mixed precision: which dtype operators run in, gradients, the cache, GradScaler."""

import copy
import unittest
import warnings

import sconce as torch
from sconce import nn
from sconce.amp import GradScaler, autocast


class Autocast(unittest.TestCase):
    def test_dtypes(self):
        a = torch.ones(2, 2)
        for lower in (torch.bfloat16, torch.float16):
            with autocast("cpu", dtype=lower):
                self.assertTrue(torch.is_autocast_enabled("cpu"))
                self.assertEqual(torch.get_autocast_dtype("cpu"), lower)
                self.assertEqual(torch.mm(a, a).dtype, lower)
                self.assertEqual((a @ a).dtype, lower)
                self.assertEqual(nn.functional.linear(a, a).dtype, lower)
                self.assertEqual(nn.functional.mse_loss(a.to(lower), a.to(lower)).dtype, torch.float32)
                self.assertEqual((a + a).dtype, torch.float32)
                self.assertEqual(torch.cat([a, a.to(lower)]).dtype, torch.float32)
                self.assertEqual(torch.mm(a.double(), a.double()).dtype, torch.float64)
                with autocast("cpu", enabled=False):
                    self.assertEqual(torch.mm(a, a).dtype, torch.float32)
            self.assertEqual(torch.mm(a, a).dtype, torch.float32)
        self.assertFalse(torch.is_autocast_enabled("cpu"))

    def test_recurrent_layers(self):
        for layer in (nn.LSTM(2, 3, 2), nn.RNN(2, 3, bidirectional=True), nn.RNN(2, 3, nonlinearity="relu")):
            lower = copy.deepcopy(layer).bfloat16()
            expected = lower(torch.ones(4, 1, 2, dtype=torch.bfloat16))[0]
            for x in (torch.ones(4, 1, 2), torch.ones(4, 1, 2, dtype=torch.bfloat16)):
                with autocast("cpu", dtype=torch.bfloat16):
                    found = layer(x)[0]
                self.assertEqual(found.dtype, torch.bfloat16)
                self.assertTrue(torch.equal(found, expected))
            found.float().sum().backward()
            self.assertEqual(layer.weight_hh_l0.grad.dtype, torch.float32)
        packed = nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)])
        with autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(nn.LSTM(2, 3)(packed)[0].data.dtype, torch.bfloat16)
            self.assertEqual(nn.GRU(2, 3)(torch.ones(4, 1, 2))[0].dtype, torch.float32)

    def test_gradients(self):
        m = nn.Linear(2, 2)
        with autocast("cpu", dtype=torch.bfloat16):
            out = m(m(torch.ones(1, 2)))
        out.float().sum().backward()
        self.assertEqual((m.weight.grad.dtype, out.dtype), (torch.float32, torch.bfloat16))

    def test_decorator_and_errors(self):
        @torch.autocast("cpu")
        def product(a):
            return a @ a

        self.assertEqual(product(torch.ones(1, 1)).dtype, torch.bfloat16)
        with self.assertRaises(ZeroDivisionError), autocast("cpu"):
            1 / 0
        self.assertFalse(torch.is_autocast_enabled("cpu"))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with autocast("cpu", dtype=torch.float64):
                self.assertEqual(torch.ones(1, 1).mm(torch.ones(1, 1)).dtype, torch.float32)
        self.assertIn("the target dtype is not supported. Disabling autocast", str(seen[0].message))


class Scaler(unittest.TestCase):
    def test_rounds(self):
        p = torch.ones(1, requires_grad=True)
        o = torch.optim.SGD([p], lr=1.0)
        s = GradScaler("cpu", init_scale=8.0, growth_interval=2)
        for infinite, scale, value in ((False, 8.0, 0.0), (False, 16.0, -1.0), (True, 8.0, -1.0), (False, 8.0, -2.0)):
            o.zero_grad()
            s.scale(p.sum()).backward()
            if infinite:
                p.grad.fill_(float("inf"))
            s.step(o)
            s.update()
            self.assertEqual((s.get_scale(), p.item()), (scale, value))
        self.assertEqual(s.state_dict(), {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1})
        other = GradScaler("cpu")
        other.load_state_dict(s.state_dict())
        self.assertEqual(other.get_scale(), 8.0)

    def test_errors(self):
        p = torch.ones(1, requires_grad=True)
        o = torch.optim.SGD([p], lr=1.0)
        s = GradScaler("cpu", init_scale=8.0)
        with self.assertRaisesRegex(AssertionError, "Attempted step but _scale is None"):
            s.step(o)
        s.scale(p.sum()).backward()
        s.unscale_(o)
        self.assertEqual(p.grad.item(), 1.0)
        with self.assertRaisesRegex(RuntimeError, r"unscale_\(\) has already been called on this optimizer since the last update\(\)"):
            s.unscale_(o)


if __name__ == "__main__":
    unittest.main()
