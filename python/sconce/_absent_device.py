"""What programs ask about devices that are not there, and how using one is refused."""

from ._sconce import device as _device


def names_of(kind, name):
    """The functions of torch.cuda and its kin for a kind of device that this build has not: queries say so, uses raise."""

    def refuse(*args, **kwargs):
        raise AssertionError(f"Sconce was built without {name}: torch.{kind}.is_available() is False")

    def is_available():
        return False

    def device_count():
        return 0

    def is_initialized():
        return False

    def manual_seed(seed):
        int(seed)  # nothing draws from such a generator

    def synchronize(device=None):
        refuse()

    is_available.__doc__ = f"False: there is no {name}."
    device_count.__doc__ = f"0: there is no {name}."
    is_initialized.__doc__ = "False: nothing was to be initialised."
    manual_seed.__doc__ = "Nothing: there is no generator of such a device."
    synchronize.__doc__ = "Refused: there is no such device."
    found = {f.__name__: f for f in (is_available, device_count, is_initialized, manual_seed, synchronize)}
    found["manual_seed_all"] = found["seed_all"] = manual_seed
    for use in ("current_device", "set_device", "get_device_name", "get_device_properties", "get_device_capability", "init",
                "current_stream", "default_stream", "Stream", "Event", "memory_allocated", "memory_reserved", "max_memory_allocated",
                "max_memory_reserved", "reset_peak_memory_stats", "mem_get_info", "memory_summary", "get_rng_state", "set_rng_state"):
        found[use] = refuse
    found["empty_cache"] = lambda: None  # as PyTorch: nothing is cached
    return found


def check_default(device):
    """The device that factories use when none is given: only the CPU is there."""
    found = _device(device)
    if found.type != "cpu":
        raise NotImplementedError(f"set_default_device: {found} is not there, only cpu is")
    return found
