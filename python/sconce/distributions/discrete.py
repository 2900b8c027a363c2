"""Distributions of classes, given by probabilities or by logits."""

import sconce as torch

from . import constraints
from .distribution import Distribution, ExponentialFamily, broadcast_all, lazy_property


def _one_of(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def clamp_probs(probs):
    """Away from 0 and 1, where logarithms end."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class Categorical(Distribution):
    """A class 0, 1, ... with probabilities along the last dimension."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one_of(probs, logits)
        if (probs if probs is not None else logits).dim() < 1:
            raise ValueError(f"`{'probs' if probs is not None else 'logits'}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._param = self.probs if probs is not None else self.logits
        self._num_events = self._param.size(-1)
        super().__init__(tuple(self._param.shape)[:-1], validate_args=validate_args)

    @lazy_property
    def logits(self):
        """Logarithms of the probabilities."""
        return torch.log(clamp_probs(self.probs))

    @lazy_property
    def probs(self):
        """The probabilities."""
        return torch.softmax(self.logits, dim=-1)

    support = property(lambda self: constraints.integer_interval(0, self._num_events - 1))
    param_shape = property(lambda self: self._param.size())
    mode = property(lambda self: self.probs.argmax(dim=-1))
    mean = property(lambda self: torch.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype))
    variance = property(lambda self: torch.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype))

    def expand(self, batch_shape):
        """The same for another batch shape."""
        made = self._expanded(batch_shape, ("probs", "logits", "_param"))
        made._num_events = self._num_events
        return made

    def sample(self, sample_shape=torch.Size()):
        sample_shape = torch.Size(sample_shape)
        with torch.no_grad():
            rows = torch.multinomial(self.probs.reshape(-1, self._num_events), sample_shape.numel(), True).T
        return rows.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        value, log_pmf = torch.broadcast_tensors(value, self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        """All classes."""
        values = torch.arange(self._num_events).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class OneHotCategorical(Distribution):
    """A class as a vector with one 1."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, tuple(self._categorical.param_shape)[-1:], validate_args=validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self._categorical.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape=torch.Size()):
        drawn = self._categorical.sample(sample_shape)
        return torch.nn.functional.one_hot(drawn, self._categorical._num_events).to(self.probs.dtype)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()


class Bernoulli(ExponentialFamily):
    """1 with a probability, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one_of(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._param = self.probs if probs is not None else self.logits
        super().__init__(self._param.size(), validate_args=validate_args)

    @lazy_property
    def logits(self):
        """log(p / (1 - p))."""
        p = clamp_probs(self.probs)
        return torch.log(p) - torch.log1p(-p)

    @lazy_property
    def probs(self):
        """The probability of 1."""
        return torch.sigmoid(self.logits)

    param_shape = property(lambda self: self._param.size())
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        """The likelier one; nan where both are alike."""
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    def expand(self, batch_shape):
        """The same for another batch shape."""
        return self._expanded(batch_shape, ("probs", "logits", "_param"))

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        """0 and 1."""
        values = torch.arange(2, dtype=self._param.dtype).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
