"""Lazy modules: those that find their number of input features at the first call."""

from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from . import batchnorm, conv, instancenorm, linear


class LazyModuleMixin:
    """A module with uninitialised parameters; the first call gives its inputs to initialize_parameters and makes it a plain module,
    of the class cls_to_become."""

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._initialize_hook = self.register_forward_pre_hook(_initialize, with_kwargs=True)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Sizes may come from a state dict, too."""
        for name, tensor in [*self._parameters.items(), *self._buffers.items()]:
            if is_lazy(tensor) and prefix + name in state_dict and not is_lazy(state_dict[prefix + name]):
                tensor.materialize(state_dict[prefix + name].shape)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in [*self._parameters.items(), *self._buffers.items()]:
            if tensor is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def initialize_parameters(self, *args, **kwargs):
        """Finds the sizes, for subclasses to define."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Are there sizes to be found?"""
        return any(is_lazy(tensor) for tensor in [*self._parameters.values(), *self._buffers.values()])


def _initialize(module, args, kwargs):
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, linear.Linear):
    """Linear whose in_features the first input says."""

    cls_to_become = linear.Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()


class _LazyConvolution(LazyModuleMixin):
    """What lazy convolutions have in common; `rank` dimensions of space."""

    def __init__(self, out_channels, kernel_size, *args, **kwargs):
        bias = kwargs.pop("bias", True)
        made = {"device": kwargs.get("device"), "dtype": kwargs.get("dtype")}
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs)
        self.out_channels = out_channels
        self.weight = UninitializedParameter(**made)
        if bias:
            self.bias = UninitializedParameter(**made)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        if not self.has_uninitialized_params():
            return
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise RuntimeError(f"Expected {self.rank + 1}D (unbatched) or {self.rank + 2}D (batched) input to {type(self).__name__}, but got input "
                               f"of size: {input.shape}")
        self.in_channels = input.shape[1 if input.dim() == self.rank + 2 else 0]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        across = (self.in_channels, self.out_channels // self.groups) if self.transposed else \
            (self.out_channels, self.in_channels // self.groups)
        self.weight.materialize((*across, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyNorm(LazyModuleMixin):
    """What lazy normalisations over channels have in common."""

    def __init__(self, eps=1e-5, momentum=0.1, affine=None, track_running_stats=None, device=None, dtype=None):
        affine = self.affine_by_default if affine is None else affine
        tracked = self.tracked_by_default if track_running_stats is None else track_running_stats
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, tracked
        made = {"device": device, "dtype": dtype}
        if affine:
            self.weight, self.bias = UninitializedParameter(**made), UninitializedParameter(**made)
        if tracked:
            import sconce as torch
            for name in ("running_mean", "running_var"):
                delattr(self, name)
                self.register_buffer(name, UninitializedBuffer(**made))
            delattr(self, "num_batches_tracked")
            self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.int64))

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1 if input.dim() >= self.rank + 2 or self.rank == 0 else 0]
        for name in ("weight", "bias", "running_mean", "running_var"):
            tensor = getattr(self, name)
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


def _lazy(name, mixin, base, **attributes):
    globals()["Lazy" + name] = type("Lazy" + name, (mixin, base), {"cls_to_become": base, "__module__": __name__,
                                                                   "__doc__": f"{name} that finds its sizes at the first call.", **attributes})


for _rank in (1, 2, 3):
    for _name in (f"Conv{_rank}d", f"ConvTranspose{_rank}d"):
        _lazy(_name, _LazyConvolution, getattr(conv, _name), rank=_rank)
    _lazy(f"BatchNorm{_rank}d", _LazyNorm, getattr(batchnorm, f"BatchNorm{_rank}d"), rank=0, affine_by_default=True, tracked_by_default=True)
    _lazy(f"InstanceNorm{_rank}d", _LazyNorm, getattr(instancenorm, f"InstanceNorm{_rank}d"), rank=_rank, affine_by_default=False,
          tracked_by_default=False)
