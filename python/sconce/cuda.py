"""torch.cuda: what programs ask about CUDA devices. Without one, queries say so and uses are refused."""

import functools as _functools
import types as _types

from ._absent_device import names_of as _names_of

_absent = _names_of("cuda", "CUDA")


def _ask(name, *args):
    from . import ops

    return getattr(ops.sconce, name)("cuda", *args)


def is_available():
    """Whether there is a CUDA device that can be used. `sconce info --device cuda` says why there is none."""
    return device_count() > 0


def device_count():
    """How many CUDA devices can be used."""
    return _ask("device_count")


def is_initialized():
    """Whether there is a device: it is initialised by its first use."""
    return is_available()


def _index(device):
    """The number of a device given as None, a number, a text or a torch.device; -1 is the current one."""
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    from ._sconce import device as make_device

    found = make_device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return -1 if found.index is None else found.index


def _where_available(function):
    """The function where there is a device; otherwise the refusal that names_of makes."""

    @_functools.wraps(function)
    def asked(*args, **kwargs):
        if not is_available():
            return _absent[function.__name__](*args, **kwargs)
        return function(*args, **kwargs)

    return asked


@_where_available
def current_device():
    """The number of the device that "cuda" means in this thread."""
    return _ask("current_device")


@_where_available
def set_device(device):
    """Makes a device the one that "cuda" means in this thread; a negative number changes nothing."""
    if _index(device) >= 0:
        _ask("set_device", _index(device))


@_where_available
def synchronize(device=None):
    """Waits until a device has done all work that it was asked for."""
    _ask("synchronize_device", _index(device))


@_where_available
def get_device_name(device=None):
    """What the maker calls a device."""
    return _ask("device_name", _index(device))


@_where_available
def get_device_capability(device=None):
    """The compute capability: (9, 0)."""
    return tuple(_ask("device_facts", _index(device))[:2])


@_where_available
def get_device_properties(device=None):
    """Name, compute capability, number of multiprocessors and bytes of memory of a device."""
    major, minor, multiprocessors, total = _ask("device_facts", _index(device))
    return _types.SimpleNamespace(name=_ask("device_name", _index(device)), major=major, minor=minor,
                                  multi_processor_count=multiprocessors, total_memory=total)


def _memory(place, name, what):
    def figure(device=None):
        return _ask("device_memory", _index(device))[place]

    figure.__name__ = figure.__qualname__ = name
    figure.__doc__ = f"Bytes of device memory that {what}."
    return _where_available(figure)


memory_allocated = _memory(0, "memory_allocated", "tensors have")
max_memory_allocated = _memory(1, "max_memory_allocated", "tensors had at most")
memory_reserved = _memory(2, "memory_reserved", "were taken from the driver")
max_memory_reserved = _memory(3, "max_memory_reserved", "were taken from the driver at most")


@_where_available
def mem_get_info(device=None):
    """Bytes of device memory: free, and in all; of all processes."""
    return tuple(_ask("device_memory", _index(device))[4:6])


@_where_available
def reset_peak_memory_stats(device=None):
    """max_memory_allocated and max_memory_reserved begin anew."""
    _ask("reset_device_peaks", _index(device))


@_where_available
def empty_cache():
    """Gives memory that is kept for later back to the driver."""
    _ask("empty_device_cache")


@_where_available
def manual_seed(seed):
    """Begins the stream of random numbers of the current device anew."""
    _ask("seed_device", -1, _signed(seed))


@_where_available
def manual_seed_all(seed):
    """Begins the streams of random numbers of all devices anew."""
    for index in range(device_count()):
        _ask("seed_device", index, _signed(seed))


def _signed(seed):
    """A seed as the 64 bits that a number of the script language has."""
    return (int(seed) + 2 ** 63) % 2 ** 64 - 2 ** 63


def _number_bytes(*numbers):
    """64-bit numbers as a tensor of bytes: the state of a generator."""
    from . import tensor, uint8

    return tensor([byte for n in numbers for byte in (n % 2 ** 64).to_bytes(8, "little")], dtype=uint8)


@_where_available
def get_rng_state(device="cuda"):
    """The state of a device's generator: seed and offset, 16 bytes on the CPU."""
    return _number_bytes(*_ask("device_random_state", _index(device)))


@_where_available
def set_rng_state(new_state, device="cuda"):
    """The generator of a device goes on from a state."""
    data = bytes(new_state.cpu().tolist())
    if len(data) != 16:
        raise ValueError(f"set_rng_state: expected the 16 bytes of get_rng_state, got {len(data)}")
    seed, offset = (int.from_bytes(data[i:i + 8], "little") for i in (0, 8))
    _ask("set_device_random_state", _index(device), _signed(seed), _signed(offset))


@_where_available
def memory_stats(device=None):
    """The figures of the allocator, under PyTorch's names."""
    now, most, reserved, most_reserved, _, _ = _ask("device_memory", _index(device))
    figures = {}
    for name, current, peak in (("allocated_bytes", now, most), ("reserved_bytes", reserved, most_reserved)):
        figures[f"{name}.all.current"], figures[f"{name}.all.peak"] = current, peak
    return figures


@_where_available
def memory_summary(device=None, abbreviated=False):
    """The figures of the allocator, for people."""
    now, most, reserved, most_reserved, free, total = (n / 2 ** 20 for n in _ask("device_memory", _index(device)))
    return "\n".join([f"{'':10} {'now':>12} {'at most':>12}", f"{'allocated':10} {now:8.1f} MiB {most:8.1f} MiB",
                      f"{'reserved':10} {reserved:8.1f} MiB {most_reserved:8.1f} MiB", f"{'free':10} {free:8.1f} MiB of {total:.1f} MiB"])


def _not_there_yet(name):
    def refuse(*args, **kwargs):
        if not is_available():
            return _absent[name](*args, **kwargs)
        raise NotImplementedError(f"torch.cuda.{name} is not there yet")

    return refuse


_STREAMS = ("Stream", "Event", "StreamContext", "stream", "current_stream", "default_stream", "set_stream")


def __getattr__(name):
    if name not in _STREAMS:
        raise AttributeError(f"module 'sconce.cuda' has no attribute '{name}'")
    if not is_available() and name in _absent:
        return _absent[name]
    from . import _streams

    return getattr(_streams, name)


for _name in _absent:
    if _name not in globals() and _name not in _STREAMS:
        globals()[_name] = _not_there_yet(_name)
del _name
