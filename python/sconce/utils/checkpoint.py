"""Gradient checkpoints: a part of the forward pass is not kept but computed again for its gradients."""

import contextlib

import sconce as torch


class _Checkpoint(torch.autograd.Function):
    """Runs without recording; backward runs again, with recording, from the same random state."""

    @staticmethod
    def forward(ctx, function, preserve, context_fn, *args):
        ctx.function, ctx.args = function, args
        ctx.context_fn = context_fn
        ctx.random = torch.get_rng_state() if preserve else None
        ctx.autocast = torch._sconce._autocast_state()
        with torch.no_grad(), context_fn()[0]:
            return function(*args)

    @staticmethod
    def backward(ctx, *gradients):
        inputs = [v.detach().requires_grad_(v.requires_grad) if isinstance(v, torch.Tensor) else v for v in ctx.args]
        after = torch.get_rng_state()
        if ctx.random is not None:
            torch.set_rng_state(ctx.random)
        enabled, dtype, cached = ctx.autocast
        with torch.enable_grad(), torch.amp.autocast("cpu", dtype, enabled, cached), ctx.context_fn()[1]:
            outputs = ctx.function(*inputs)
        if ctx.random is not None:
            torch.set_rng_state(after)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, gradients) if isinstance(o, torch.Tensor) and o.requires_grad and g is not None]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, None, *(v.grad if isinstance(v, torch.Tensor) else None for v in inputs))


def _nothing():
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(function, *args, use_reentrant=None, context_fn=_nothing, determinism_check="default", debug=False,
               preserve_rng_state=True, **kwargs):
    """function(*args, **kwargs) whose intermediate tensors are computed again in backward. `determinism_check` and `debug` are for the
    checks of PyTorch's other way to do it; shapes that change between both runs raise here, too."""
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    with_keywords = (lambda *values: function(*values, **kwargs)) if kwargs else function
    # A tensor that records leads backward here also when only parameters inside of the function are trained.
    watched = torch.empty(0, requires_grad=True)
    ignoring = lambda first, *values: with_keywords(*values)  # noqa: E731
    if use_reentrant:
        return _Checkpoint.apply(with_keywords, preserve_rng_state, context_fn, *args)
    return _Checkpoint.apply(ignoring, preserve_rng_state, context_fn, watched, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A sequence of modules in segments, all but the last of them with checkpoints."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if isinstance(functions, torch.nn.Sequential) else list(functions)

    def run(begin, end):
        def forward(value):
            for function in functions[begin:end]:
                value = function(value)
            return value

        return forward

    size, begin = len(functions) // segments, 0
    for _ in range(segments - 1):
        input = checkpoint(run(begin, begin + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        begin += size
    return run(begin, len(functions))(input)
