"""The default stream of random numbers."""

import contextlib

from ._sconce import default_generator

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed):
    """The random numbers that follow are those of PyTorch for this seed. Returns the default generator."""
    return default_generator.manual_seed(int(seed))


def seed():
    """Begins a stream that nobody foresees, and returns its seed."""
    return default_generator.seed()


def initial_seed():
    """The seed that the stream began with."""
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default generator, as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Goes on from a state of get_rng_state()."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Inside of a with statement, random numbers are drawn that those after it do not notice."""
    if devices:
        raise NotImplementedError("fork_rng: only the generator of the CPU can be forked, so devices must be empty")
    if not enabled:
        yield
        return
    before = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(before)
