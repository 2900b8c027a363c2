"""Probability distributions: sample, log_prob, entropy, and divergences between them."""

from . import constraints
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .distribution import Distribution, ExponentialFamily, Independent
from .continuous import Exponential, Laplace, LogNormal, Normal, Uniform
from .kl import kl_divergence, register_kl

__all__ = ["Bernoulli", "Categorical", "Distribution", "Exponential", "ExponentialFamily", "Independent", "Laplace", "LogNormal", "Normal",
           "OneHotCategorical", "Uniform", "constraints", "kl_divergence", "register_kl"]
