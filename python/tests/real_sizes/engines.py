"""Engines run a call: sconce, torch or the plain reference; eagerly, by plans of a traced function, or by capture."""

import numpy as np

from real_sizes import reference as R
from real_sizes.calls import numpy_bits


class Result:
    """Arrays: outputs, gradients of inputs, and second gradients; None for a missing one."""

    def __init__(self, outputs, first=(), second=(), strides=(), dtypes=()):
        self.dtypes = {f"output {i}": d for i, d in enumerate(dtypes)}
        self.strides = strides
        self.parts = ([(f"output {i}", v) for i, v in enumerate(outputs)] + [(f"gradient {i}", v) for i, v in first]
                      + [(f"second gradient {i}", v) for i, v in second])


def as_tuple(value):
    if isinstance(value, (tuple, list)):
        return tuple(v for part in value for v in as_tuple(part))
    return (value,)


class Module:
    """sconce or torch. wide: arguments become float64 and complex128, contiguous: a reference."""

    def __init__(self, module, device="cpu", wide=False):
        self.T = module
        self.device = device
        self.wide = wide
        self.name = module.__name__

    def from_numpy(self, bits, dtype):
        tensor = self.T.from_numpy(bits)
        return tensor.view(self.T.bfloat16) if dtype == "bfloat16" else tensor

    def tensor(self, given, scaled=None):
        if self.wide:
            if given.floats:
                values = given.values if scaled is None else scaled(given)
                tensor = self.T.from_numpy(np.ascontiguousarray(values).copy()).reshape(values.shape)
                return tensor.requires_grad_() if given.grad else tensor
            return self.T.from_numpy(numpy_bits(given.values, given.dtype).copy()).reshape(given.values.shape)
        bits, strides, offset = given.storage()
        tensor = self.from_numpy(bits, given.dtype)
        if self.device != "cpu":
            tensor = tensor.to(self.device)
        tensor = tensor.reshape(given.values.shape) if strides is None else tensor.as_strided(given.values.shape, strides, offset)
        return tensor.requires_grad_() if given.grad else tensor

    def array(self, tensor):
        if tensor is None:
            return None
        if not isinstance(tensor, self.T.Tensor):
            return np.asarray(tensor)
        tensor = tensor.detach()
        if self.device != "cpu":
            tensor = tensor.cpu()
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.resolve_conj().resolve_neg()
        if self.name == "torch" and tensor._is_zerotensor():  # zeros without memory, which numpy() refuses
            tensor = tensor.clone()
        if tensor.dtype == self.T.bfloat16:
            tensor = tensor.to(self.T.float32)
        return tensor.numpy()

    def module(self, call, tensors):
        """A module that holds all arguments but the first."""
        T = self.T

        class Holder(T.nn.Module):
            def __init__(self):
                super().__init__()
                for i, t in enumerate(tensors[1:]):
                    self.register_buffer(f"held{i}", t)

            def forward(self, x):
                return call.run(T, x, *(getattr(self, f"held{i}") for i in range(len(tensors) - 1)))
        return Holder()

    def function(self, call, mode, tensors):
        T = self.T
        if mode == "packed":  # weights of modules are packed for plans, in some calls' time
            # Weights that change after they were packed: they are negated until the last call.
            other = [t for t, g in zip(tensors[1:], call.inputs[1:]) if call.rewrites and g.floats
                     and g.layout not in ("expanded", "overlapping")]
            for t in other:
                t.neg_()
            traced = T.jit.trace(self.module(call, tensors), (tensors[0],), check_trace=False)
            for _ in range(5):
                traced(tensors[0])
            for t in other:
                t.neg_()
            return lambda *given: traced(given[0])

        def program(*tensors):
            return call.run(T, *tensors)

        if mode == "eager":
            return program
        if mode == "planned":
            traced = T.jit.trace(program, tuple(tensors), check_trace=False)
            for _ in range(3):
                traced(*tensors)
            return traced
        compiled = T.compile(program)
        compiled(*tensors)
        return compiled

    def run(self, call, pulls, mode="eager", twice=False, scaled=None):
        """pulls: a Pulls; None: no gradients."""
        T = self.T
        tensors = [self.tensor(g, scaled) for g in call.inputs]
        if pulls is None:
            tensors = [t.detach() for t in tensors]
        T.manual_seed(call.seed)
        f = self.function(call, mode, tensors)
        if mode != "eager":
            T.manual_seed(call.seed)
        outputs = as_tuple(f(*tensors))
        dtypes = [str(o.dtype).split(".")[-1] if isinstance(o, T.Tensor) else "" for o in outputs]
        strides = [list(o.stride()) if isinstance(o, T.Tensor) else [] for o in outputs]
        wanted = [(i, t) for i, (t, g) in enumerate(zip(tensors, call.inputs)) if g.grad]
        roots = [(i, o) for i, o in enumerate(outputs) if isinstance(o, T.Tensor) and o.requires_grad]
        if pulls is None or not wanted or not roots:
            return Result([self.array(o) for o in outputs], strides=strides, dtypes=dtypes)
        gives = [self.tensor(pulls.cotangent(i, tuple(o.shape), str(o.dtype).split(".")[-1]), scaled) for i, o in roots]
        gives = [g.requires_grad_(twice) for g in gives]
        leaves = [t for _, t in wanted]
        first = T.autograd.grad([o for _, o in roots], leaves, gives, create_graph=twice, allow_unused=True)
        second = []
        if twice:
            pairs = [(g, self.tensor(pulls.direction(i), scaled)) for g, (i, _) in zip(first, wanted)
                     if g is not None and g.requires_grad]
            if pairs:
                found = T.autograd.grad([p[0] for p in pairs], leaves + gives, [p[1] for p in pairs], allow_unused=True)
                names = [i for i, _ in wanted] + [f"of cotangent {i}" for i, _ in roots]
                second = [(n, self.array(v)) for n, v in zip(names, found)]
        return Result([self.array(o) for o in outputs], [(i, self.array(v)) for (i, _), v in zip(wanted, first)], second, strides, dtypes)


class Plain:
    """The plain reference."""

    name = "plain"

    def __init__(self):
        from real_sizes import plain
        self.T = plain

    def node(self, given, scaled=None, needs=None):
        if not given.floats:
            return given.values
        values = given.values if scaled is None else scaled(given)
        return R.Node(R.wide(values), given.grad if needs is None else needs)

    def run(self, call, pulls, mode="eager", twice=False, scaled=None):
        nodes = [self.node(g, scaled) for g in call.inputs]
        with np.errstate(all="ignore"):
            outputs = as_tuple(call.run(self.T, *nodes))
            wanted = [(i, t) for i, (t, g) in enumerate(zip(nodes, call.inputs)) if g.grad]
            roots = [(i, o) for i, o in enumerate(outputs) if isinstance(o, R.Node) and o.needs]
            arrays = [o.value if isinstance(o, R.Node) else np.asarray(o) for o in outputs]
            if pulls is None or not wanted or not roots:
                return Result(arrays)
            gives = [self.node(pulls.cotangent(i, o.shape), scaled, twice) for i, o in roots]
            leaves = [t for _, t in wanted]
            first = R.grad([o for _, o in roots], leaves, gives)
            second = []
            if twice:
                pairs = [(g, self.node(pulls.direction(i), scaled)) for g, (i, _) in zip(first, wanted)
                         if g is not None and g.needs]
                if pairs:
                    found = R.grad([p[0] for p in pairs], leaves + gives, [p[1] for p in pairs])
                    names = [i for i, _ in wanted] + [f"of cotangent {i}" for i, _ in roots]
                    second = [(n, None if v is None else v.value) for n, v in zip(names, found)]
        return Result(arrays, [(i, None if v is None else v.value) for (i, _), v in zip(wanted, first)], second)


class Pulls:
    """Cotangents of the outputs and directions of second gradients, drawn when first asked for."""

    def __init__(self, call, draws):
        self.call = call
        self.draws = draws
        self.made = {}
        self.directions = {}

    def cotangent(self, i, shape, dtype=None):
        if i not in self.made:
            if dtype is None:
                floats = [g.dtype for g in self.call.inputs if g.floats]
                dtype = floats[0] if floats else "float32"
            self.made[i] = self.draws.tensor(shape, dtype)
        given = self.made[i]
        if given.values.shape != tuple(shape):
            raise ValueError(f"output {i} has sizes {list(shape)}, and had {list(given.values.shape)}")
        return given

    def direction(self, i):
        if i not in self.directions:
            given = self.call.inputs[i]
            self.directions[i] = self.draws.tensor(given.values.shape, given.dtype, grad=False, layouts=False)
        return self.directions[i]
