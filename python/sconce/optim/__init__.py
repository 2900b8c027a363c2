"""Optimisers, with PyTorch's names, options and state dicts. The steps are those of the library."""

from .. import _sconce
from .._sconce import Tensor


class Optimizer:
    """Holds parameters in groups; step() changes them by their gradients. `param_groups` may be changed between steps."""

    def __init__(self, params, *args, **kwargs):
        groups = [params] if isinstance(params, dict) else list(params)
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got Tensor")
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        groups = [{**group, "params": _listed(group["params"])} for group in groups]
        if len(args) > len(self.POSITIONAL):
            raise TypeError(f"{type(self).__name__}() takes at most {1 + len(self.POSITIONAL)} positional arguments")
        self._own = _sconce._Optimizer(type(self).__name__, groups, {**dict(zip(self.POSITIONAL, args)), **kwargs})
        self.defaults = self._own.defaults()
        self.param_groups = self._own.groups()
        self._seen = self._options()

    def _options(self):
        return [{name: value for name, value in group.items() if name != "params"} for group in self.param_groups]

    def _push(self):
        """What was changed in param_groups since the last step."""
        for i, (now, before) in enumerate(zip(self._options(), self._seen)):
            for name, value in now.items():
                if before.get(name, self) is not value:
                    self._own.set_option(i, name, value)
        self._seen = self._options()

    def _pull(self):
        """What the library has changed: the dicts of param_groups stay the same objects."""
        for mine, theirs in zip(self.param_groups, self._own.groups()):
            mine.update({name: value for name, value in theirs.items() if name != "params"})
        self._seen = self._options()

    def step(self, closure=None):
        """One step; with a closure, which computes the loss and its gradients, returns the loss."""
        self._push()
        return self._own.step(closure)

    def zero_grad(self, set_to_none=True):
        """Clears the gradients of all parameters."""
        self._own.zero_grad(set_to_none)

    def add_param_group(self, param_group):
        """More parameters, with options of their own."""
        self._push()
        self._own.add_group({**param_group, "params": _listed(param_group["params"])})
        self.param_groups.append(self._own.groups()[-1])
        self._seen = self._options()

    @property
    def state(self):
        """What is kept of each parameter between steps."""
        return {p: kept for group in self.param_groups for p in group["params"] if (kept := self._own.state_of(p))}

    def state_dict(self):
        """State and options, as PyTorch's optimisers give and read them."""
        self._push()
        return self._own.state_dict()

    def load_state_dict(self, state_dict):
        """Takes over a state dict, of PyTorch's optimiser, too."""
        self._own.load_state_dict(state_dict)
        self._pull()

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, options in enumerate(self._options()):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {name}: {options[name]}" for name in sorted(options)]
        return "\n".join(lines + [")"])


def _listed(params):
    return [params] if isinstance(params, Tensor) else list(params)


def _optimizer(name, *positional):
    return type(name, (Optimizer,), {"POSITIONAL": positional, "__module__": __name__, "__doc__": f"torch.optim.{name}"})


SGD = _optimizer("SGD", "lr", "momentum", "dampening", "weight_decay", "nesterov")
Adam = _optimizer("Adam", "lr", "betas", "eps", "weight_decay", "amsgrad")
AdamW = _optimizer("AdamW", "lr", "betas", "eps", "weight_decay", "amsgrad")
RMSprop = _optimizer("RMSprop", "lr", "alpha", "eps", "weight_decay", "momentum", "centered")
Adagrad = _optimizer("Adagrad", "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
Adadelta = _optimizer("Adadelta", "lr", "rho", "eps", "weight_decay")
Adamax = _optimizer("Adamax", "lr", "betas", "eps", "weight_decay")
NAdam = _optimizer("NAdam", "lr", "betas", "eps", "weight_decay", "momentum_decay")
RAdam = _optimizer("RAdam", "lr", "betas", "eps", "weight_decay")
Rprop = _optimizer("Rprop", "lr", "etas", "step_sizes")
ASGD = _optimizer("ASGD", "lr", "lambd", "alpha", "t0", "weight_decay")
LBFGS = _optimizer("LBFGS", "lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change", "history_size", "line_search_fn")

from . import lr_scheduler  # noqa: E402,F401  needs Optimizer
