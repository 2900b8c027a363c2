#!/usr/bin/env python3
"""check_trained.py TRAIN_DIGITS [ARGUMENT...]: runs the example with these arguments, loads the net and the optimiser's state
that it saved with PyTorch, compares the accuracy on the same held-out images, and takes one more step. Needs PyTorch."""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        model, test_set = pathlib.Path(folder, "digits.pt"), pathlib.Path(folder, "test.npz")
        state = pathlib.Path(folder, "optimizer.pth")
        subprocess.run([*sys.argv[1:], "--save", model, "--test-set", test_set, "--save-optimizer", state], check=True)
        extra = {"accuracy.txt": ""}
        net = torch.jit.load(str(model), _extra_files=extra)
        data = numpy.load(test_set)
        images, labels = torch.from_numpy(data["images"]), torch.from_numpy(data["labels"])
        with torch.no_grad():
            percent = 100 * (net(images).argmax(1) == labels).double().mean().item()
        print(f"PyTorch reads {percent:.2f} % of them")
        said = float(extra["accuracy.txt"])
        if abs(percent - said) > 0.051:  # one image in 2000, whose two best scores are nearly the same
            print(f"the example said {said:.2f} %")
            return 1
        optimizer = torch.optim.AdamW(net.parameters())
        optimizer.load_state_dict(torch.load(state, weights_only=True))
        net.train()
        before = torch.nn.functional.cross_entropy(net(images), labels)
        before.backward()
        optimizer.step()
        print(f"PyTorch's AdamW goes on from step {int(optimizer.state_dict()['state'][0]['step'])}")
    return 0


sys.exit(main())
