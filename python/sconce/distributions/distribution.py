"""Distribution: the base class; a batch of distributions with parameters that are tensors."""

import functools
import numbers

import sconce as torch

from . import constraints


class lazy_property:
    """An attribute that is computed when it is first read, with gradients recorded."""

    def __init__(self, function):
        self.function = function
        functools.update_wrapper(self, function)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.function(instance)
        setattr(instance, self.function.__name__, value)
        return value


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape."""
    first = next((v for v in values if isinstance(v, torch.Tensor)), None)
    dtype = first.dtype if first is not None else torch.get_default_dtype()
    for value in values:
        if not isinstance(value, (torch.Tensor, numbers.Number)):
            raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    return torch.broadcast_tensors(*(v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=dtype) for v in values))


def _all(valid):
    """Are all true? A compiled graph checks that in its turn: if not, the function runs again eagerly, which says what is wrong."""
    if torch.compiler.is_compiling():
        torch._assert_async(valid.all(), "a parameter or value of a distribution is invalid")
        return True
    return bool(valid.all())


class Distribution:
    """batch_shape is that of independent distributions, event_shape that of one draw of each."""

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    arg_constraints = {}
    support = None

    @staticmethod
    def set_default_validate_args(value):
        """Are arguments checked?"""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue
            value = getattr(self, name)
            if not _all(constraint.check(value)):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to "
                                 f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    @property
    def batch_shape(self):
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw of one distribution."""
        return self._event_shape

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def sample(self, sample_shape=torch.Size()):
        """Draws without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """Draws through which gradients go to the parameters."""
        raise NotImplementedError

    def log_prob(self, value):
        """The logarithm of the density, or probability, at a value."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value):
        """Its inverse."""
        raise NotImplementedError

    def entropy(self):
        """The entropy in nats."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy)."""
        return torch.exp(self.entropy())

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = len(self._event_shape)
        if tuple(value.shape[len(value.shape) - events:]) != tuple(self._event_shape):
            raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.")
        wanted = (*self._batch_shape, *self._event_shape)
        for i, j in zip(reversed(value.shape), reversed(wanted)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {torch.Size(wanted)}.")
        if self.support is not None and not _all(self.support.check(value)):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                             f"({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _expanded(self, batch_shape, names):
        """A copy whose parameters of these names have another batch shape."""
        made = type(self).__new__(type(self))
        for name in names:
            if name in self.__dict__:
                value = getattr(self, name)
                own = tuple(value.shape)[len(self._batch_shape):]
                setattr(made, name, value.expand((*batch_shape, *own)))
        Distribution.__init__(made, batch_shape, self._event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    def __repr__(self):
        names = [name for name in self.arg_constraints if name in self.__dict__]
        shown = ", ".join(f"{n}: {v.item() if v.dim() == 0 else v if v.numel() == 1 else v.size()}" for n in names for v in (self.__dict__[n],))
        return f"{type(self).__name__}({shown})"


class ExponentialFamily(Distribution):
    """Distributions whose density is the exponential of a product of parameters and statistics."""


class Independent(Distribution):
    """The last dimensions of a batch as dimensions of an event."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        shape = tuple(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > len(shape):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                             f"{reinterpreted_batch_ndims} vs {len(shape)}")
        cut = len(shape) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:] + tuple(base_distribution.event_shape), validate_args)

    def _summed(self, value):
        for _ in range(self.reinterpreted_batch_ndims):
            value = value.sum(-1)
        return value

    @property
    def has_rsample(self):
        """As that of the batch."""
        return self.base_dist.has_rsample

    @property
    def support(self):
        """Where values lie."""
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    @property
    def mean(self):
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self):
        """The most likely value."""
        return self.base_dist.mode

    @property
    def variance(self):
        """The variance."""
        return self.base_dist.variance

    def sample(self, sample_shape=torch.Size()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self):
        return self._summed(self.base_dist.entropy())

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
