"""Functions with a backward of their own: autograd.Function."""

import functools
import inspect

from .. import _sconce
from .grad_mode import no_grad

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "once_differentiable"]


class FunctionCtx:
    """What forward leaves for backward. Any attribute may be set; tensors that are arguments or results go through
    save_for_backward, which notices when they are written later."""

    to_save = dirty_tensors = non_differentiable = None
    materialize_grads = True

    def save_for_backward(self, *tensors):
        """Keeps the tensors: ctx.saved_tensors in backward."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Refused: there is no forward-mode differentiation."""
        raise NotImplementedError("save_for_forward: forward-mode differentiation is not supported")

    def mark_dirty(self, *args):
        """Says which arguments forward changed in place."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Says which results have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """False: backward gets None instead of zeros for results without a gradient."""
        self.materialize_grads = value


class BackwardCFunction(_sconce._FunctionContext, FunctionCtx):
    """The context of a call, which is its node in the graph: y.grad_fn."""

    _forward_cls = None

    @property
    def metadata(self):
        """A dict of the user's."""
        return self.__dict__.setdefault("_metadata", {})


class FunctionMeta(type):
    """Gives every Function the class of its contexts."""

    def __init__(cls, name, bases, attributes):
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": cls.__module__})


class Function(metaclass=FunctionMeta):
    """Subclasses define the static methods forward(ctx, *args) and backward(ctx, *grads), or forward(*args),
    setup_context(ctx, inputs, output) and backward(ctx, *grads); they are called by apply(*args)."""

    generate_vmap_rule = False

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
                           "function with static forward method.")

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the results."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps what backward needs, where forward has no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradient of each argument of forward, or None."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it "
                                  "with backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Never called: there is no forward-mode differentiation."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Calls forward and records it."""
        if kwargs or cls._sets_up():
            args = _bound(cls.forward, args, kwargs, skip=0 if cls._sets_up() else 1)
        return _sconce._apply_function(cls, cls._backward_cls(), args)

    @classmethod
    def _sets_up(cls):
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _run_forward(cls, ctx, args):
        if not cls._sets_up():
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output

    @classmethod
    def _backward_function(cls, ctx, *grads):
        has_backward, has_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                               "implement one of them.")
        return (cls.vjp if has_vjp else cls.backward)(ctx, *grads)


def _bound(function, args, kwargs, skip):
    """All arguments by position, with defaults; the first `skip` parameters are not the caller's."""
    signature = inspect.signature(function)
    signature = signature.replace(parameters=list(signature.parameters.values())[skip:])
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"apply(): keyword-only arguments of forward are not supported: {', '.join(bound.kwargs)}")
    return bound.args


class _DelayedError(Function):
    """The identity, whose backward fails."""

    @staticmethod
    def forward(ctx, message, *tensors):
        ctx.message = message
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(ctx.message)


def once_differentiable(fn):
    """For backward: its gradients cannot be differentiated again, and trying says so."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with no_grad():
            outputs = fn(ctx, *args)
        if not _sconce.is_grad_enabled() or not any(isinstance(a, _sconce.Tensor) and a.requires_grad for a in args):
            return outputs
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        places = [i for i, t in enumerate(given) if isinstance(t, _sconce.Tensor)]
        fresh = [given[i].detach().requires_grad_() if given[i].is_floating_point() or given[i].is_complex() else given[i] for i in places]
        failing = _DelayedError.apply("trying to differentiate twice a function that was marked with @once_differentiable", *fresh)
        result = list(given)
        for i, t in zip(places, failing):
            result[i] = t
        return tuple(result) if isinstance(outputs, tuple) else result[0]

    return wrapper
