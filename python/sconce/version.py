"""torch.version: this package's, and that there is neither CUDA nor ROCm in it."""

from ._sconce import __version__  # noqa: F401

cuda = hip = xpu = git_version = None
debug = False
