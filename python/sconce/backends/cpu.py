"""torch.backends.cpu: what the processor can do."""

from .._sconce import _cpu_level

_CAPABILITIES = {2: "DEFAULT", 3: "AVX2", 4: "AVX512"}


def get_cpu_capability():
    """The instruction set whose loops run: "DEFAULT" (SSE4.2), "AVX2" or "AVX512"."""
    return _CAPABILITIES[_cpu_level()]
