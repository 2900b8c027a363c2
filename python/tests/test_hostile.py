"""Random arguments for every function and method: exceptions are fine, crashes are not.

    python3 python/tests/test_hostile.py [CALLS [SEED]]
"""

import random
import resource
import sys

import sconce
from sconce import _sconce


def values(draw):
    t = sconce.arange(6, dtype=sconce.float32).reshape(2, 3)
    return [None, True, False, 0, 1, -1, 3, 2 ** 31, -(2 ** 62), 2 ** 63 - 1, 2 ** 70, 0.5, float("nan"), float("inf"), 1j, "text", "cpu", "meta",
            b"bytes", [], [1, 2], [1.5], [None], [[1], [2]], (2, 3), (), {}, {"a": 1}, object(), int, sconce, sconce.float32, sconce.int64,
            sconce.strided, sconce.channels_last, sconce.device("cpu"), t, t.t(), t[0], t[:0], t.long(), t > 2, t.double(), t.to(sconce.bfloat16),
            t.expand(4, 2, 3), sconce.tensor(2), sconce.tensor(2.5), t.clone().requires_grad_(), [t, t], (t,), slice(None), ...,
            sconce.empty(0), sconce.ones(2, 3, device="meta"), sconce.tensor([1j])][draw]


COUNT = 55
# They wait, end the process, or write where others read.
LEFT_OUT = {"set_num_threads", "_set_size_class", "set_default_dtype", "_set_default_dtype"}


def likely(generator):
    """Tensors and small numbers more often than the rest, so that calls get past the first look at their arguments."""
    kind = generator.random()
    return generator.randrange(36, 47) if kind < 0.4 else generator.choice((1, 3, 4, 5, 6, 11, 20, 24)) if kind < 0.75 else generator.randrange(COUNT)


def main(calls, seed):
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    generator = random.Random(seed)
    names = [name for name in dir(sconce) if callable(getattr(sconce, name)) and name not in LEFT_OUT]
    methods = [name for name in _sconce._function_names() if not name.endswith("_out")]
    done = 0
    for call in range(calls):
        method = generator.random() < 0.4
        name = generator.choice(methods if method else names)
        args = [values(likely(generator)) for _ in range(generator.randrange(5))]
        kwargs = {generator.choice(("dim", "dtype", "out", "alpha", "keepdim", "input", "size")): values(generator.randrange(COUNT))
                  for _ in range(generator.choice((0, 0, 0, 1, 2)))}
        try:
            function = getattr(values(generator.randrange(36, 47)), name) if method else getattr(sconce, name)
            repr(function(*args, **kwargs))
            done += 1
        except (Exception, SystemError) as error:
            if isinstance(error, SystemError):
                print(f"call {call}: {name}{tuple(map(type, args))}: {error}")
                return 1
        _sconce._set_grad_enabled(True)
        _sconce._set_inference_mode(False)
    print(f"{calls} calls, {done} of them gave a result, none crashed")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100000, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
