"""Substitutes for autograd.Function.apply, whose forward is followed, and for utils.checkpoint."""

import sconce
from sconce import _sconce
from sconce.autograd.function import Function, FunctionCtx
from sconce.autograd.function import _bound as bound_arguments
from sconce.utils.checkpoint import _nothing
from sconce.utils.checkpoint import checkpoint as original_checkpoint

from . import substitute


class RecordedContext(FunctionCtx):
    """The context that forward sees while it is followed."""

    def __init__(self, needs):
        self.needs_input_grad = needs

    @property
    def saved_tensors(self):
        return self.to_save


class _Attached:
    """Takes the place of a Function whose forward has run: the results are there, gradients go through its backward."""

    def __init__(self, function, output):
        self.function, self.output, self.__name__ = function, output, function.__name__

    def _run_forward(self, ctx, args):
        return self.output

    def _backward_function(self, ctx, *grads):
        return self.function._backward_function(ctx, *grads)


class _Silent(_Attached):
    """The same for tensors without memory: backward is not called, gradients look like the arguments."""

    def __init__(self, function, output, args):
        super().__init__(function, output)
        self.args = args

    def _backward_function(self, ctx, *grads):
        return tuple(sconce.empty_like(a) if isinstance(a, sconce.Tensor) else None for a in self.args)


def attach(function, state, args, output):
    """What function.apply(*args) returns, after forward(ctx, *args) gave `output` and left `state` in ctx."""
    return _attach(function, state, args, _Attached(function, output))


def attach_fakes(function, state, args, output):
    """The same while recording."""
    return _attach(function, state, args, _Silent(function, output, args))


def _attach(function, state, args, attached):
    ctx = function._backward_cls()
    ctx.__dict__.update(state)
    return _sconce._apply_function(attached, ctx, args)


@substitute(Function.apply.__func__)
def apply(cls, *args, **kwargs):
    sets_up = cls._sets_up()
    if kwargs:
        args = bound_arguments(cls.forward, args, kwargs, skip=0 if sets_up else 1)
    elif sets_up:
        missing = cls.forward.__code__.co_argcount - len(args)
        if missing > 0 and cls.forward.__defaults__ is not None and missing <= len(cls.forward.__defaults__):
            args = args + cls.forward.__defaults__[-missing:]
    ctx = RecordedContext(tuple([isinstance(a, sconce.Tensor) and a.requires_grad for a in args]))
    recording = _sconce.is_grad_enabled()
    _sconce._set_grad_enabled(False)
    try:
        output = cls._run_forward(ctx, args)
    finally:
        _sconce._set_grad_enabled(recording)
    state = dict(ctx.__dict__)
    del state["needs_input_grad"]
    return attach(cls, state, args, output)


@substitute(original_checkpoint)
def checkpoint(function, *args, use_reentrant=None, context_fn=_nothing, determinism_check="default", debug=False,
               preserve_rng_state=True, **kwargs):
    # A graph keeps what its backward needs: results and gradients are those of the function itself. With use_reentrant, parameters
    # that the function finds by itself do not count, and context_fn may do anything.
    if use_reentrant or context_fn is not _nothing:
        return original_checkpoint(function, *args, use_reentrant=use_reentrant, context_fn=context_fn, debug=debug,
                                   determinism_check=determinism_check, preserve_rng_state=preserve_rng_state, **kwargs)
    return function(*args, **kwargs)
