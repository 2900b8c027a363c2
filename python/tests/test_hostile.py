"""Random arguments for every public function and method: exceptions are fine, crashes are not.

    python3 python/tests/test_hostile.py [CALLS [SEED]]

Half of the calls follow a schema of the operator, so that they get past the first look at their arguments; the others are of any
kind. A call that ends the process is found by running again with the seed: the last line of `calls.log` in the working folder, if
HOSTILE_LOG is set.
"""

import os
import random
import re
import resource
import sys
import tempfile

import sconce
from sconce import _sconce

# They wait, end the process, or change what others see.
LEFT_OUT = {"set_num_threads", "set_default_dtype", "set_printoptions", "save", "_set_default_dtype", "set_detect_anomaly"}
MODULES = ("", "fft", "linalg", "special", "nn.functional", "random", "autograd", "overrides")
KEYWORDS = ("dim", "dtype", "out", "alpha", "keepdim", "input", "size", "generator", "other", "value", "device", "nonsense")


class Silly:
    """Says that it is a sequence and a number, and is neither."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        raise RuntimeError("no")

    def __index__(self):
        raise ValueError("no index")

    def __float__(self):
        raise ZeroDivisionError("no float")


class Named(sconce.Tensor):
    """Functions ask its class."""


def tensors(draw):
    t = sconce.arange(6, dtype=sconce.float32).reshape(2, 3)
    made = (t, t.t(), t[0], t[:0], t.long(), t > 2, t.double(), t.to(sconce.bfloat16), t.expand(4, 2, 3), sconce.tensor(2), sconce.tensor(2.5),
            t.clone().requires_grad_(), sconce.empty(0), sconce.tensor([1j]), t.to(sconce.uint8), t.as_subclass(Named),
            sconce.nn.Parameter(t.clone()), t.reshape(1, 1, 2, 3), sconce.ones(3, 3), sconce.eye(3).to_sparse(),
            sconce.ones(2, 3, device="meta"), sconce.tensor([0, 1, 5]), sconce.full((2, 2), float("nan")), (t.clone().requires_grad_() * 2))
    return draw.choice(made)


def anything(draw):
    kinds = (lambda: draw.choice((None, True, False, 0, 1, -1, 3, 2 ** 31, -(2 ** 62), 2 ** 63 - 1, 2 ** 70, 0.5, float("nan"), float("inf"), 1j)),
             lambda: draw.choice(("text", "cpu", "meta", "", "\ud800", b"bytes", bytearray(5), memoryview(b"abcd"), "sum", "mean")),
             lambda: draw.choice(([], [1, 2], [1.5], [None], [[1], [2]], (2, 3), (), {}, {"a": 1}, range(3), {1, 2}, [2 ** 70])),
             lambda: draw.choice((object(), int, sconce, Silly(), print, slice(None), slice(-5, 2 ** 62), ..., NotImplemented, Named, type)),
             lambda: draw.choice((sconce.float32, sconce.int64, sconce.bool, sconce.quint8, sconce.strided, sconce.channels_last,
                                  sconce.device("cpu"), sconce.device("meta"), sconce.Generator(), sconce.Size([2, 3]))),
             lambda: draw.choice(([tensors(draw), tensors(draw)], (tensors(draw),), [tensors(draw), None])),
             lambda: tensors(draw))
    return draw.choice(kinds)()


def by_type(kind, draw):
    """A value that an argument of this type of a schema takes."""
    if kind.endswith("?") and draw.random() < 0.4:
        return None
    kind = re.sub(r"\(.*?\)", "", kind).rstrip("?")
    if kind.endswith("]"):
        count = kind[kind.index("[") + 1:-1]
        count = int(count) if count.isdigit() else draw.randrange(4)
        return [by_type(kind[:kind.index("[")], draw) for _ in range(count)]
    pools = {"int": (0, 1, 2, -1, -2, 3, 7), "SymInt": (0, 1, 2, -1, 3), "float": (0.5, 1.0, -2.0, 0.0, 1e30), "bool": (True, False),
             "Scalar": (1, 2.5, -1, True, 1j, 0), "str": ("mean", "sum", "none", "floor", "ij->ji"), "ScalarType": (sconce.float64, sconce.int64),
             "Device": ("cpu", "meta"), "Layout": (sconce.strided,), "MemoryFormat": (sconce.contiguous_format,),
             "Generator": (sconce.default_generator,)}
    return draw.choice(pools[kind]) if kind in pools else tensors(draw)


def schemas(function):
    """The arguments of each overload of an operator, as its schemas write them."""
    found = []
    for line in getattr(function, "_schemas", ()):
        inside = line[line.index("(") + 1:line.rindex(" -> ")].rstrip()[:-1]
        parts, depth, start = [], 0, 0
        for i, c in enumerate(inside + ","):
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0:
                parts.append(inside[start:i].strip())
                start = i + 1
        found.append([part for part in parts if part])
    return found


def arguments(function, draw, is_method):
    known = schemas(function)
    if not known or draw.random() < 0.5:
        args = [anything(draw) for _ in range(draw.randrange(5))]
        return args, {draw.choice(KEYWORDS): anything(draw) for _ in range(draw.choice((0, 0, 0, 1, 2)))}
    args, kwargs, keywords = [], {}, False
    for part in draw.choice(known)[is_method:]:
        if part == "*":
            keywords = True
            continue
        kind, _, name = part.rpartition(" ")
        name, has_default, _ = name.partition("=")
        value = by_type(kind, draw) if draw.random() < 0.9 else anything(draw)
        if keywords and draw.random() < 0.3:
            kwargs["out" if name.startswith("out") else name] = value
        elif not keywords and not (has_default and draw.random() < 0.3):
            args.append(value)
    return args, kwargs


def functions():
    found = []
    for name in MODULES:
        module = sconce
        for part in filter(None, name.split(".")):
            module = getattr(module, part)
        found += [(f"{name}.{key}", getattr(module, key)) for key in dir(module)
                  if key not in LEFT_OUT and not key.startswith("__") and callable(getattr(module, key))]
    return [(name, value) for name, value in found if not isinstance(value, type) or issubclass(value, sconce.Tensor)]


def methods():
    skipped = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getattribute__", "__setattr__", "__delattr__", "__dir__"}
    return [name for name in dir(sconce.Tensor) if name not in skipped and callable(getattr(sconce.Tensor, name))]


def main(calls, seed):
    preloaded = os.environ.get("LD_PRELOAD", "")
    if "asan" not in preloaded and "tsan" not in preloaded:  # a sanitizer's shadow counts, too: tests/CMakeLists.txt limits its malloc
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    draw = random.Random(seed)
    log = open(os.environ["HOSTILE_LOG"], "w", buffering=1) if "HOSTILE_LOG" in os.environ else None
    names, of_tensors = functions(), methods()
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for call in range(calls):
            is_method = draw.random() < 0.45
            name, function = draw.choice(names)
            target = None
            if is_method:
                name, target = draw.choice(of_tensors), tensors(draw)
                function = getattr(type(target), name)
            args, kwargs = arguments(function, draw, is_method)
            if log:
                log.write(f"{call} {name} {[(type(a).__name__, getattr(a, 'shape', a)) for a in (target, *args)]} {list(kwargs)}\n")
            try:
                repr(function(target, *args, **kwargs) if is_method else function(*args, **kwargs))
                done += 1
            except SystemError as error:  # of the extension itself
                print(f"call {call}: {name}{tuple(map(type, args))}: {error}")
                return 1
            except Exception:
                pass
            _sconce._set_grad_enabled(True)
            _sconce._set_inference_mode(False)
        os.chdir("/")
    print(f"{calls} calls of {len(names)} functions and {len(of_tensors)} methods, {done} of them gave a result, none crashed")
    return 0 if done > calls // 10 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100000, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
