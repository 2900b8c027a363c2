"""torch.backends: which libraries are there, and settings of those that are not."""

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum  # noqa: F401
