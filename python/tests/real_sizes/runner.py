"""Draws calls by family, seed and index, runs and compares them, and shrinks differing ones."""

import importlib
import random
import time
import traceback

import numpy as np

from real_sizes import families
from real_sizes.calls import EPS, Draws
from real_sizes.compare import differences
from real_sizes.engines import Module, Plain, Pulls


class Setting:
    """How a call runs: its mode, threads, gradients ("once", "twice", "none"). The CPU level is the process's."""

    def __init__(self, mode, threads, gradients):
        self.mode, self.threads, self.gradients = mode, threads, gradients

    twice = property(lambda self: self.gradients == "twice")

    def __repr__(self):
        return f"{self.mode} {self.threads} {self.gradients}"

    @staticmethod
    def read(words):
        return Setting(words[0], int(words[1]), words[2])


class Runner:
    def __init__(self, modes, threads, against="reference", device="cpu", subject="sconce"):
        self.modes, self.threads, self.device = modes, threads, device
        self.subject = Module(importlib.import_module(subject), device)
        self.reference = self.plain = Plain()
        if against == "torch":
            torch = importlib.import_module("torch")
            torch.set_num_threads(1)
            self.reference = Module(torch, wide=True)

    def setting(self, call, key):
        """Follows from the key. A quarter of the calls has no gradients, as many have second ones."""
        r = random.Random(key + ":setting")
        mode = r.choice([m for m in self.modes if m in call.modes or m == "packed" and "planned" in call.modes and call.inputs] or ["eager"])
        threads, share = r.choice(self.threads), r.random()
        if mode == "packed" or share < 0.25 or not call.grads or not any(g.grad for g in call.inputs):
            return Setting(mode, threads, "none")
        return Setting(mode, threads, "twice" if share > 0.75 and not call.once else "once")

    def make(self, key, choices=None):
        d = Draws(key, choices)
        family = key.split(":")[0]
        call = families.draw(family, d)
        call.seed = d.seed
        r = random.Random(key + ":inputs")
        call.rewrites = family in ("convolution", "product", "attention", "recurrent", "program") and r.random() < 0.5
        if r.random() < 0.2:  # gradients of some inputs only
            for given in [g for g in call.inputs if g.grad][1:]:
                given.grad = r.random() < 0.5
            leaves = [g for g in call.inputs if g.grad]
            if len(leaves) > 1:
                leaves[0].grad = r.random() < 0.5
        return call, d

    def differ(self, key, call, setting, reference=None):
        """Descriptions of the differences of a call."""
        engine = reference or self.reference
        if key.startswith("optimizer"):  # PyTorch would load its compiler, for seconds
            engine = self.plain
        pulls = Pulls(call, Draws(key + ":pulls")) if setting.gradients != "none" else None
        self.subject.T.set_num_threads(setting.threads)
        got = self.subject.run(call, pulls, setting.mode, setting.twice)
        try:
            expected = engine.run(call, pulls, "eager", setting.twice)
        except (NotImplementedError, RuntimeError):
            if engine is self.plain:
                raise
            engine = self.plain  # PyTorch refuses the call
            expected = engine.run(call, pulls, "eager", setting.twice)

        def moved():
            results = []
            for seed in (1, 2):
                r = np.random.RandomState(seed)

                def scaled(given):
                    return given.values * (1 + EPS[given.dtype] * (2 * r.randint(0, 2, given.values.shape) - 1))
                results.append(engine.run(call, pulls, "eager", setting.twice, scaled))
            return results
        found = [f.text for f in differences(call, key.split(":")[0], got, expected, moved)]
        others = [n for n in self.threads if n != setting.threads]
        if others and setting.mode != "captured" and self.device == "cpu" and self.subject.name == "sconce" and random.Random(key + ":again").random() < 0.2:
            other = random.Random(key + ":other").choice(others)
            self.subject.T.set_num_threads(other)
            again = dict(self.subject.run(call, pulls, setting.mode, setting.twice).parts)
            for name, value in got.parts:
                if value is not None and again.get(name) is not None and value.tobytes() != again[name].tobytes():
                    found.append(f"{name}: other bits with {other} threads than with {setting.threads}")
        return found

    def run(self, key, choices=None, setting=None):
        """The record of a call."""
        record = {"key": key, "mode": "", "dtype": "", "refused": False, "pytorch": False, "found": []}
        begin = time.monotonic()
        call = None
        try:
            call, d = self.make(key, choices)
            setting = setting or self.setting(call, key)
            record.update(mode=setting.mode, dtype=next((g.dtype for g in call.inputs if g.floats), "integers"), choices=d.taken)
            record["found"] = self.differ(key, call, setting)
            if record["found"] and self.plain is not self.reference and not self.differ(key, call, setting, self.plain):
                record.update(found=[], pytorch=True)  # its own error
        except NotImplementedError as error:
            record.update(refused=True, reason=str(error).split("\n")[0][:200])
        except Exception as error:
            record.update(found=[f"{type(error).__name__}: {error}".split("\n")[0][:300]], trace=traceback.format_exc())
        record["seconds"] = time.monotonic() - begin
        if record["found"]:
            record.update(call=repr(call), setting=repr(setting))
        return record

    def shrink(self, record, seconds=10.0):
        """Smaller choices that differ, too, in the same setting; the record of the smallest."""
        key, setting = record["key"], Setting.read(record["setting"].split())
        end = time.monotonic() + seconds
        crashed = "trace" in record

        def fails(choices):
            other = self.run(key, choices, setting)
            return other if other["found"] and ("trace" in other) == crashed else None
        best = record
        position = 0
        improved = False
        while time.monotonic() < end:
            taken = best["choices"]
            if position >= len(taken):
                if not improved:
                    break
                position, improved = 0, False
                continue
            for value in dict.fromkeys((0, taken[position] // 2, taken[position] - 1)):
                if 0 <= value < taken[position] and time.monotonic() < end:
                    other = fails([*taken[:position], value, *taken[position + 1:]])
                    if other and (len(other["choices"]), other["choices"]) < (len(taken), taken):
                        best, improved = other, True
                        break
            else:
                position += 1
        return best
