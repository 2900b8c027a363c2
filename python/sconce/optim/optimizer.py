"""Optimizer, the base class of optimisers written in Python, and the optimisers of the library."""

import collections
import copy
import functools
import itertools

from .. import _sconce
from .._hooks import add_hook
from .._sconce import Tensor


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()
_global_pre_hooks, _global_post_hooks = {}, {}


def register_optimizer_step_pre_hook(hook):
    """hook(optimizer, args, kwargs) runs before each step of every optimiser."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """hook(optimizer, args, kwargs) runs after each step of every optimiser."""
    return add_hook(_global_post_hooks, hook)


def _with_hooks(step):
    """The step of a class, between the hooks that were registered for it."""

    @functools.wraps(step)
    def wrapped(self, *args, **kwargs):
        self._opt_called = True  # schedules look here whether a step came first
        if _global_pre_hooks or self._optimizer_step_pre_hooks:
            for hook in [*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        if _global_post_hooks or self._optimizer_step_post_hooks:
            for hook in [*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()]:
                hook(self, args, kwargs)
        return result

    return wrapped


class Optimizer:
    """Holds parameters in groups; step() changes them by their gradients. Subclasses give the defaults of a group's options and
    define step(); what they keep of a parameter stands in state[parameter]."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)

    def __init__(self, params, defaults):
        self._make_hooks()
        self.defaults = defaults
        self.state = collections.defaultdict(dict)
        self.param_groups = []
        for group in _groups(params):
            self.add_param_group(group)

    def _make_hooks(self):
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
        self._optimizer_state_dict_pre_hooks, self._optimizer_state_dict_post_hooks = {}, {}
        self._optimizer_load_state_dict_pre_hooks, self._optimizer_load_state_dict_post_hooks = {}, {}

    # ---- steps ----

    def step(self, closure=None):
        """One step; with a closure, which computes the loss and its gradients, returns the loss."""
        raise NotImplementedError

    def zero_grad(self, set_to_none=True):
        """Clears the gradients of all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad.grad_fn is not None:
                    parameter.grad = parameter.grad.detach().zero_()
                else:
                    parameter.grad.requires_grad_(False)
                    parameter.grad.zero_()

    def add_param_group(self, param_group):
        """More parameters, with options of their own."""
        group = self._checked(param_group)
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        self.param_groups.append(group)

    def _checked(self, param_group):
        """A group with a list of parameters, after the checks that all optimisers make."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group, params = dict(param_group), param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                            "will change between runs. Please use a list instead.")
        group["params"] = params = [params] if isinstance(params, Tensor) else list(params)
        if any(isinstance(p, tuple) for p in params):
            if not all(isinstance(p, tuple) for p in params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            group["param_names"] = [name for name, _ in params]
            group["params"] = params = [parameter for _, parameter in params]
        for parameter in params:
            if not isinstance(parameter, Tensor):
                kind = type(parameter)
                name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {name}")
            if not (parameter.is_leaf or parameter.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        known = {id(p) for other in self.param_groups for p in other["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        for other in self.param_groups:
            if ("param_names" in other) != ("param_names" in group):
                how = "with" if "param_names" in group else "without"
                raise ValueError("all optimizer param groups should be with/without names. "
                                 f"cannot add param group {how} names to the optimizer")
        return group

    # ---- state ----

    def state_dict(self):
        """State and options, with numbers for parameters."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        state = self._packed()
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, state)
            state = state if changed is None else changed
        return state

    def _packed(self):
        count = itertools.count()
        numbers = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in numbers:
                    numbers[id(parameter)] = next(count)
            groups.append({**{name: value for name, value in group.items() if name != "params"},
                           "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Takes over a state dict; tensors are copied in the dtype of their parameter."""
        state_dict = dict(state_dict)
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        self._load(state_dict)
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def _load(self, state_dict):
        saved = [dict(group) for group in state_dict["param_groups"]]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        parameters = {number: parameter for theirs, mine in zip(saved, self.param_groups)
                      for number, parameter in zip(theirs["params"], mine["params"])}
        state = collections.defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key]] = _fitted(value, parameters[key])
            else:
                state[key] = value
        groups = []
        for theirs, mine in zip(saved, self.param_groups):
            theirs["params"] = mine["params"]
            if "param_names" in mine and "param_names" not in theirs:
                theirs["param_names"] = mine["param_names"]
            groups.append(theirs)
        self.__setstate__({"state": state, "param_groups": groups})

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()

    def register_step_pre_hook(self, hook):
        """hook(optimizer, args, kwargs) before each step; it may return other (args, kwargs)."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """hook(optimizer, args, kwargs) after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """hook(optimizer) before state_dict()."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """hook(optimizer, state_dict) after state_dict(); it may return another one."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """hook(optimizer, state_dict) before load_state_dict(); it may return another one."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """hook(optimizer) after load_state_dict()."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join(lines + [")"])


def _groups(params):
    if isinstance(params, Tensor):
        raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                        f"{params.type()}")
    groups = [params] if isinstance(params, dict) else list(params)
    if not groups:
        raise ValueError("optimizer got an empty parameter list")
    return groups if isinstance(groups[0], dict) else [{"params": groups}]


def _fitted(value, parameter, key=None):
    """State in the parameter's dtype where it belongs to its elements; the number of steps keeps its own."""
    if isinstance(value, Tensor):
        return value.to(parameter.dtype) if key != "step" and parameter.is_floating_point() else value
    if isinstance(value, dict):
        return {name: _fitted(item, parameter, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(item, parameter) for item in value)
    return value


class _LibraryOptimizer(Optimizer):
    """An optimiser whose step is written in the library. `param_groups` may be changed between steps."""

    def __init__(self, params, *args, **kwargs):
        if len(args) > len(self.POSITIONAL):
            raise TypeError(f"{type(self).__name__}() takes at most {1 + len(self.POSITIONAL)} positional arguments")
        self._make_hooks()
        self.param_groups = []
        groups = [self._checked(group) for group in _groups(params)]
        self._build(groups, {**dict(zip(self.POSITIONAL, args)), **kwargs})

    def _build(self, groups, options):
        self._own = _sconce._Optimizer(type(self).KIND, groups, options)
        self.defaults = self._own.defaults()
        self.param_groups = self._own.groups()
        self._seen = [dict(group) for group in self.param_groups]

    def _push(self):
        """What was changed in param_groups since the last step."""
        for i, (now, before) in enumerate(zip(self.param_groups, self._seen)):
            for name, value in now.items():
                if before.get(name, self) is not value:
                    if name == "params":
                        raise NotImplementedError("the list of parameters of a group was replaced: use add_param_group, or a new optimizer")
                    self._own.set_option(i, name, value)
                    before[name] = value

    def _pull(self):
        """What the library has changed: the dicts of param_groups stay the same objects."""
        for mine, theirs in zip(self.param_groups, self._own.groups()):
            mine.update({name: value for name, value in theirs.items() if name != "params"})
        self._seen = [dict(group) for group in self.param_groups]

    def step(self, closure=None):
        """One step; with a closure, which computes the loss and its gradients, returns the loss."""
        if _sconce._is_tracing():  # the library's loops over parameters are not operators
            raise NotImplementedError("a step of an optimizer cannot be traced")
        self._push()
        return self._own.step(closure)

    def zero_grad(self, set_to_none=True):
        """Clears the gradients of all parameters."""
        self._own.zero_grad(set_to_none)

    def add_param_group(self, param_group):
        """More parameters, with options of their own."""
        self._push()
        self._own.add_group(self._checked(param_group))
        self.param_groups.append(self._own.groups()[-1])
        self._seen.append(dict(self.param_groups[-1]))

    @property
    def state(self):
        """What is kept of each parameter between steps."""
        return {p: kept for group in self.param_groups for p in group["params"] if (kept := self._own.state_of(p))}

    def _packed(self):
        self._push()
        return self._own.state_dict()

    def _load(self, state_dict):
        self._own.load_state_dict(state_dict)
        self._pull()

    def __getstate__(self):
        self._push()
        others = {name: value for name, value in self.__dict__.items() if name not in ("_own", "_seen", "param_groups")}
        return {**others, "param_groups": self.param_groups, "own_state": self._own.state_dict()}

    def __setstate__(self, state):
        state = dict(state)
        own, groups = state.pop("own_state"), state.pop("param_groups")
        self.__dict__.update(state)
        known = {name: value for name, value in state["defaults"].items() if value is not None}
        self._build(groups, known)
        self._own.load_state_dict(own)
        self._pull()

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made


def _optimizer(name, *positional):
    return type(name, (_LibraryOptimizer,), {"KIND": name, "POSITIONAL": positional, "__module__": __name__,
                                             "__doc__": f"torch.optim.{name}"})


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
