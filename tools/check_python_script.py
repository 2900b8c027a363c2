#!/usr/bin/env python3
"""Scripts modules of torch.nn with PyTorch 2.13 and with sconce, from Python, and compares: the keys of state dicts, results with those
of the module itself and with PyTorch's, and the code of forward.

    PYTHONPATH=build/release/python python tools/check_python_script.py

needs an interpreter with PyTorch, numpy, and the extension for its version.
"""

import argparse
import sys
import warnings

import numpy
import torch

import sconce

IMAGE, SEQUENCE, ROW = (2, 4, 8, 8), (2, 4, 12), (5, 8)
# Name, arguments of the constructor, sizes of inputs.
MODULES = [
    ("Linear", (8, 3), {}, [ROW]), ("Bilinear", (8, 8, 2), {}, [ROW, ROW]), ("Identity", (), {}, [ROW]),
    ("Conv1d", (4, 6, 3), {"padding": 1}, [SEQUENCE]), ("Conv2d", (4, 6, 3), {"stride": 2, "padding": 1}, [IMAGE]),
    ("Conv3d", (2, 3, 3), {}, [(1, 2, 5, 5, 5)]), ("ConvTranspose1d", (4, 3, 3), {"stride": 2}, [SEQUENCE]),
    ("ConvTranspose2d", (4, 3, 3), {"stride": 2, "output_padding": 1}, [IMAGE]), ("Conv2d", (4, 4, 3), {"padding_mode": "reflect", "padding": 1}, [IMAGE]),
    ("BatchNorm1d", (4,), {}, [SEQUENCE]), ("BatchNorm2d", (4,), {"affine": False}, [IMAGE]), ("InstanceNorm2d", (4,), {"affine": True}, [IMAGE]),
    ("GroupNorm", (2, 4), {}, [IMAGE]), ("LayerNorm", (8,), {}, [ROW]), ("LocalResponseNorm", (2,), {}, [IMAGE]), ("RMSNorm", (8,), {}, [ROW]),
    ("MaxPool1d", (2,), {}, [SEQUENCE]), ("MaxPool2d", (2,), {"return_indices": True}, [IMAGE]), ("AvgPool2d", (2,), {}, [IMAGE]),
    ("AdaptiveAvgPool2d", ((2, 3),), {}, [IMAGE]), ("AdaptiveMaxPool1d", (3,), {}, [SEQUENCE]), ("LPPool2d", (2, 2), {}, [IMAGE]),
    ("ReLU", (), {"inplace": False}, [ROW]), ("GELU", (), {}, [ROW]), ("SiLU", (), {}, [ROW]), ("ELU", (0.5,), {}, [ROW]), ("PReLU", (8,), {}, [ROW]),
    ("Hardswish", (), {}, [ROW]), ("Softmax", (-1,), {}, [ROW]), ("LogSoftmax", (1,), {}, [ROW]), ("Softplus", (), {}, [ROW]), ("GLU", (), {}, [ROW]),
    ("Threshold", (0.1, 20.0), {}, [ROW]), ("Tanh", (), {}, [ROW]), ("Sigmoid", (), {}, [ROW]), ("Mish", (), {}, [ROW]), ("CELU", (), {}, [ROW]),
    ("Flatten", (), {}, [IMAGE]), ("Unflatten", (1, (2, 2)), {}, [IMAGE]), ("Fold", ((4, 5), (2, 2)), {}, [(1, 12, 12)]), ("Unfold", (2,), {}, [IMAGE]),
    ("PixelShuffle", (2,), {}, [IMAGE]), ("ChannelShuffle", (2,), {}, [IMAGE]), ("Upsample", (), {"scale_factor": 2.0, "mode": "bilinear"}, [IMAGE]),
    ("ZeroPad2d", (1,), {}, [IMAGE]), ("ReflectionPad1d", (2,), {}, [SEQUENCE]), ("ReplicationPad2d", ((1, 2, 0, 1),), {}, [IMAGE]),
    ("CosineSimilarity", (), {"dim": 1}, [ROW, ROW]), ("PairwiseDistance", (), {}, [ROW, ROW]),
    ("MSELoss", (), {}, [ROW, ROW]), ("L1Loss", (), {"reduction": "sum"}, [ROW, ROW]), ("HuberLoss", (), {}, [ROW, ROW]), ("SmoothL1Loss", (), {}, [ROW, ROW]),
    ("KLDivLoss", (), {"reduction": "batchmean"}, [ROW, ROW]), ("BCEWithLogitsLoss", (), {}, [ROW, ROW]), ("SoftMarginLoss", (), {}, [ROW, ROW]),
    ("RNN", (8, 6), {}, [(3, 5, 8)]), ("LSTM", (8, 6), {"num_layers": 2, "batch_first": True}, [(3, 5, 8)]), ("GRU", (8, 6), {"bidirectional": True}, [(3, 5, 8)]),
    ("LSTMCell", (8, 6), {}, [ROW]), ("GRUCell", (8, 6), {}, [ROW]), ("MultiheadAttention", (8, 2), {}, [(3, 2, 8)] * 3),
    ("TransformerEncoderLayer", (8, 2), {"dim_feedforward": 16, "dropout": 0.0}, [(3, 2, 8)]),
    ("TransformerDecoderLayer", (8, 2), {"dim_feedforward": 16, "dropout": 0.0}, [(3, 2, 8), (4, 2, 8)]),
    ("Dropout", (0.0,), {}, [ROW]), ("AlphaDropout", (0.0,), {}, [ROW]),
]


IN_A_CONTAINER = {"RNN", "LSTM", "GRU"}  # their forward is overloaded: PyTorch can only call it from a program


def flat(value):
    return [part for item in value for part in flat(item)] if isinstance(value, (list, tuple)) else [value]


def as_numpy(value):
    return None if value is None else value.detach().numpy()


def close(one, other):
    one, other = [as_numpy(v) for v in flat(one)], [as_numpy(v) for v in flat(other)]
    return len(one) == len(other) and all((a is None and b is None) or numpy.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
                                          for a, b in zip(one, other))


def check(name, args, kwargs, sizes):
    """What differs: an empty list when nothing does."""
    theirs, ours = getattr(torch.nn, name)(*args, **kwargs), getattr(sconce.nn, name)(*args, **kwargs)
    if name in IN_A_CONTAINER:
        theirs, ours = torch.nn.Sequential(theirs), sconce.nn.Sequential(ours)
    theirs, ours = theirs.eval(), ours.eval()
    ours.load_state_dict({key: sconce.from_numpy(value.detach().numpy().copy()) for key, value in theirs.state_dict().items()})
    theirs_script, ours_script = torch.jit.script(theirs), sconce.jit.script(ours)
    problems = []
    if list(theirs_script.state_dict()) != list(ours_script.state_dict()):
        problems.append(f"keys {list(ours_script.state_dict())}, PyTorch's {list(theirs_script.state_dict())}")
    generator = numpy.random.default_rng(0)
    arrays = [generator.random(size, dtype=numpy.float32) for size in sizes]
    with torch.no_grad(), sconce.no_grad():
        expected = theirs_script(*map(torch.from_numpy, arrays))
        eager = ours(*[sconce.from_numpy(a.copy()) for a in arrays])
        got = ours_script(*[sconce.from_numpy(a.copy()) for a in arrays])
    if not close(got, eager):
        problems.append("another result than the module")
    if not close(got, expected):
        problems.append("another result than PyTorch")
    if theirs_script.code != ours_script.code:
        problems.append("code")
    return problems, theirs_script.code, ours_script.code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="modules; all by default")
    parser.add_argument("--code", action="store_true", help="print code that differs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    same_code = passed = failed = 0
    for name, args, kwargs, sizes in MODULES:
        if options.names and name not in options.names:
            continue
        try:
            problems, theirs, ours = check(name, args, kwargs, sizes)
        except Exception as error:  # whatever a compiler raises is the result
            problems, theirs, ours = [f"{type(error).__name__}: {str(error).strip()[:400]}"], "", ""
        other_code = "code" in problems
        problems = [problem for problem in problems if problem != "code"]
        same_code += not other_code and not problems
        passed += not problems
        failed += bool(problems)
        for problem in problems:
            print(f"{name}: {problem}")
        if other_code and options.code:
            print(f"{name}: code\n{ours}\nPyTorch's:\n{theirs}")
    print(f"{passed} modules agree, {failed} do not; the code of forward is the same for {same_code}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
