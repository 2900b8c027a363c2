#!/usr/bin/env python3
"""Checks files with limited dtypes between PyTorch and Sconce, both ways: what one writes, the other reads to the same bytes.

    build/bench-venv/bin/python tools/check_limited_files.py [--bin build/release/bin]

PyTorch writes torch.save files (zip and legacy), a TorchScript archive, a lite archive and an exported program; Sconce converts
them and runs the programs; PyTorch loads what Sconce wrote. Prints what differs."""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch

LIMITED = [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2]
X = "torch.ones(4)"


def tensors():
    made = {str(d)[6:]: torch.tensor([1, 2, 200, 0]).to(d) for d in LIMITED}
    made["turned"] = torch.arange(6).to(torch.uint16).reshape(2, 3).t()
    made["parameter"] = torch.nn.Parameter(torch.tensor([1.5, -2.0]).to(torch.float8_e5m2))
    return made


class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name, tensor in tensors().items():
            if name not in ("turned", "parameter"):
                self.register_buffer(name, tensor)

    def forward(self, x: torch.Tensor):
        return (x.to(torch.uint16), self.float8_e4m3fn.float() + x, self.uint32 * 2, torch.full([2], 3, dtype=torch.uint64),
                self.float8_e5m2, torch.cat([self.uint64, self.uint64]))


def same(a, b):
    bits = lambda t: t.detach().contiguous().view(torch.uint8)
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(bits(a), bits(b))


class Check:
    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, folder, 0

    def sconce(self, *args):
        done = subprocess.run([self.program, *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0:
            self.say(f"sconce {' '.join(map(str, args))}: {done.stderr.strip()}")
        return done.stdout

    def say(self, text):
        self.wrong += 1
        print(text)

    def dict(self, name, got, wanted):
        for key, tensor in wanted.items():
            if key not in got or not same(got[key], tensor):
                self.say(f"{name}: {key} is {got.get(key)}, not {tensor}")

    def printed(self, name, text, results):
        wanted = ", ".join(repr(r) for r in results)
        if " ".join(text.split()) != " ".join(f"({wanted})".split()):
            self.say(f"{name} gives\n{text}not\n({wanted})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/bin", type=pathlib.Path)
    program = parser.parse_args().bin / "sconce"
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check = Check(program, folder)
        torch.save(tensors(), folder / "a.pth")
        torch.save(tensors(), folder / "b.pth", _use_new_zipfile_serialization=False)
        for source in ("a.pth", "b.pth"):
            check.sconce("convert", folder / source, folder / "c.pth")
            for weights_only in (True, False):
                check.dict(source, torch.load(folder / "c.pth", weights_only=weights_only), tensors())
            check.sconce("convert", folder / source, folder / "c.safetensors")
            check.sconce("convert", folder / "c.safetensors", folder / "d.pth")
            check.dict(f"{source} by safetensors", torch.load(folder / "d.pth"), tensors())
        scripted = torch.jit.script(Holder())
        scripted.save(folder / "m.pt")
        scripted._save_for_lite_interpreter(str(folder / "m.ptl"))
        torch.export.save(torch.export.export(Holder(), (torch.ones(4),)), folder / "m.pt2")
        results = Holder()(torch.ones(4))
        for source in ("m.pt", "m.ptl", "m.pt2"):
            check.printed(source, check.sconce("run", folder / source, X), results)
        for source in ("m.pt", "m.pt2"):
            check.sconce("convert", folder / source, folder / "n.pt")
            for got, wanted in zip(torch.jit.load(folder / "n.pt")(torch.ones(4)), results):
                if not same(got, wanted):
                    check.say(f"{source}, saved by Sconce: {got}, not {wanted}")
        print(f"{check.wrong} differences")
        sys.exit(check.wrong != 0)


if __name__ == "__main__":
    main()
