"""Optimisers and schedules: recorded training step by step, groups, state dicts.

    python3 python/tests/test_optim.py
"""

import pathlib
import unittest

import sconce as torch
from cases import CaseFile
from sconce import nn, optim
from sconce.nn import functional as F

RECORDED = pathlib.Path(__file__).parents[2] / "tests" / "conformance" / "optim" / "optim.safetensors"
# Not there: they take functions or other schedules.
LEFT_OUT = {"LambdaLR", "MultiplicativeLR", "SequentialLR", "ChainedScheduler"}


class Recorded(unittest.TestCase):
    def train(self, file, case):
        parameters = [file.value(t).requires_grad_() for t in case["start"]]
        x, y = file.value(case["x"]), file.value(case["y"])
        kwargs = {name: file.value(v) for name, v in case["kwargs"].items()}
        optimizer = getattr(optim, case["optimizer"])(parameters, **kwargs)

        def closure():
            optimizer.zero_grad()
            w, b, v, c = parameters
            loss = ((F.linear(F.linear(x, w, b).tanh(), v, c) - y) ** 2).mean()
            loss.backward()
            return loss

        after = {step: state for step, state in case["after_step"]}
        for step, wanted in enumerate(case["losses"]):
            self.assertAlmostEqual(optimizer.step(closure).item(), wanted, delta=1e-5 + 1.3e-6 * abs(wanted))
            for parameter, recorded in zip(parameters, after.get(step, [])):
                gap = (parameter.detach() - file.value(recorded)).abs().max().item()
                self.assertLessEqual(gap, 2e-5)

    def schedule(self, case, file):
        optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=case["base_lr"])
        kwargs = {name: file.value(v) for name, v in case["kwargs"].items()}
        scheduler = getattr(optim.lr_scheduler, case["scheduler"])(optimizer, **kwargs)
        for wanted in case["lrs"]:
            self.assertAlmostEqual(optimizer.param_groups[0]["lr"], wanted, delta=1e-7 + 1e-7 * abs(wanted))
            optimizer.step()
            scheduler.step()

    def test_all(self):
        file = CaseFile(RECORDED)
        known = (RECORDED.parents[1] / "known_failures.txt").read_text()  # with the reason beside each
        self.assertGreater(len(file.cases), 20)
        for index, case in enumerate(file.cases):
            with self.subTest(index=index, name=case.get("optimizer", case.get("scheduler"))):
                if f"optim/optim.safetensors#{index} " in known:
                    continue
                if "optimizer" in case:
                    self.train(file, case)
                elif case["scheduler"] not in LEFT_OUT:
                    self.schedule(case, file)


class Use(unittest.TestCase):
    def test_groups_may_be_changed(self):
        p = torch.ones(1, requires_grad=True)
        optimizer = optim.SGD([{"params": [p], "lr": 1.0}], lr=0.5)
        self.assertEqual(optimizer.param_groups[0]["lr"], 1.0)
        self.assertIs(optimizer.param_groups[0]["params"][0], p)
        optimizer.param_groups[0]["lr"] = 0.25
        p.sum().backward()
        optimizer.step()
        self.assertEqual(p.item(), 0.75)
        q = torch.ones(1, requires_grad=True)
        optimizer.add_param_group({"params": q})
        self.assertEqual([group["lr"] for group in optimizer.param_groups], [0.25, 0.5])

    def test_state(self):
        torch.manual_seed(0)
        net = nn.Linear(3, 1)
        optimizer = optim.Adam(net.parameters(), 0.01)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).sum().backward()
            optimizer.step()
        state = optimizer.state_dict()
        self.assertEqual(state["param_groups"][0]["params"], [0, 1])
        self.assertEqual(float(state["state"][0]["step"]), 3)
        other = optim.Adam(net.parameters(), lr=1.0)
        other.load_state_dict(state)
        self.assertEqual(other.param_groups[0]["lr"], 0.01)
        self.assertEqual(set(optimizer.state[net.weight]), {"step", "exp_avg", "exp_avg_sq"})
        self.assertIn("Parameter Group 0", repr(optimizer))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "empty parameter list"):
            optim.SGD([])
        with self.assertRaises(TypeError):
            optim.SGD(torch.ones(1))
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'rate'"):
            optim.SGD([torch.ones(1, requires_grad=True)], rate=1)
        with self.assertRaises(ValueError):
            optim.SGD([torch.ones(1, requires_grad=True)], lr=-1.0)

    def test_adafactor(self):
        for options, wanted in (
                ({}, [1.5227876, 0.4988225, -0.5476036, 1.1944503, 0.2499324, 0.447858, -1.9763328]),
                ({"lr": 0.25, "weight_decay": 0.1, "d": 2.0, "eps": (1e-3, 1e-2)},
                 [-4.9849318, 0.4413854, -2.2140646, 0.482021, 0.2296509, -0.5590186, -1.5219333]),
                ({"maximize": True, "beta2_decay": -0.5},
                 [1.9789873, 0.5012001, -0.4552236, 1.3072468, 0.2500674, 0.5495167, -2.0258205])):  # PyTorch 2.13's
            w = ((torch.arange(12.0).reshape(3, 4) * 7) % 11 * 0.25 - 1).requires_grad_()
            b = torch.tensor([0.5, -2.0], requires_grad=True)
            optimizer = optim.Adafactor([w, b], **options)
            for i in range(3):
                optimizer.zero_grad()
                ((w - 0.3) ** 3).sum().backward()
                ((b + i) ** 2).sum().backward()
                optimizer.step()
            for got, number in zip([w.sum().item(), *w[1].tolist(), *b.tolist()], wanted):
                self.assertAlmostEqual(got, number, delta=2e-6)
            self.assertEqual([set(state) for state in optimizer.state_dict()["state"].values()],
                             [{"step", "row_var", "col_var"}, {"step", "variance"}])
        with self.assertRaisesRegex(ValueError, "Clipping threshold d should be >= 1 but is: 0.5"):
            optim.Adafactor([w], d=0.5)
        with self.assertRaisesRegex(RuntimeError, "does not support complex"):
            z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
            z.abs().sum().backward()
            optim.Adafactor([z]).step()

    def test_closure_may_raise(self):
        optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)

        def closure():
            raise KeyError("from the closure")

        with self.assertRaises(KeyError):
            optimizer.step(closure)


if __name__ == "__main__":
    unittest.main()
