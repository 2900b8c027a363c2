"""Where PyTorch's own Python finds operators of torch.nn: torch._C._nn.gelu."""

from . import _sconce


class _Operators:
    def __getattr__(self, name):
        found = _sconce._function(name)
        setattr(self, name, found)
        return found


_nn = _Operators()
