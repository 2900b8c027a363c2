"""Kullback-Leibler divergences, by the classes of two distributions."""

import sconce as torch

from .continuous import Exponential, Normal, Uniform
from .discrete import Bernoulli, Categorical
from .distribution import Independent

_FORMULAS = {}


def register_kl(type_p, type_q):
    """Decorates the function for two classes: f(p, q)."""

    def add(function):
        _FORMULAS[type_p, type_q] = function
        return function

    return add


def kl_divergence(p, q):
    """KL(p || q)."""
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _FORMULAS:
                return _FORMULAS[a, b](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")


@register_kl(Normal, Normal)
def _normals(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Categorical, Categorical)
def _categoricals(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = torch.where((q.probs == 0).expand_as(terms), torch.full_like(terms, float("inf")), terms)
    terms = torch.where((p.probs == 0).expand_as(terms), torch.zeros_like(terms), terms)
    return terms.sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p, q):
    ones = p.probs * (torch.nn.functional.softplus(-q.logits) - torch.nn.functional.softplus(-p.logits))
    zeros = (1 - p.probs) * (torch.nn.functional.softplus(q.logits) - torch.nn.functional.softplus(p.logits))
    return ones + zeros


@register_kl(Exponential, Exponential)
def _exponentials(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Uniform, Uniform)
def _uniforms(p, q):
    result = torch.log((q.high - q.low) / (p.high - p.low))
    return torch.where((q.low > p.low) | (q.high < p.high), torch.full_like(result, float("inf")), result)


@register_kl(Independent, Independent)
def _independents(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return p._summed(kl_divergence(p.base_dist, q.base_dist))
