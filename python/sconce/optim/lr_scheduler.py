"""Schedules of learning rates. Those of the library change rates by its own formulas; LRScheduler is the base class of those that
are written in Python, among them the ones that take functions or other schedules."""

import bisect
import types
import warnings

from .. import _sconce
from .._sconce import Tensor
from .optimizer import Optimizer, _LibraryOptimizer

_EPOCH_WARNING = ("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
                  "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form "
                  "is used instead of the new chainable form, where available.")
_ORDER_WARNING = ("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them "
                  "in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
                  "skipping the first value of the learning rate schedule. See more details at "
                  "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")


def _rates(optimizer, name="lr"):
    values = [group[name] for group in optimizer.param_groups]
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def _check(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Changes the learning rates of an optimiser's groups, one step() after the optimiser's own. Subclasses define get_lr(), the
    rates of all groups at last_epoch."""

    def __init__(self, optimizer, last_epoch=-1):
        _check(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"].clone() if isinstance(group["lr"], Tensor) else group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0.")
        self.base_lrs = _rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def get_lr(self):
        """The rates at last_epoch, for subclasses to define."""
        raise NotImplementedError

    def step(self, epoch=None):
        """The next epoch; with one, that one, by _get_closed_form_lr() where it is defined."""
        self._warn(epoch)
        self._step_count += 1
        self._update_lr(epoch)

    def _warn(self, epoch):
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(_ORDER_WARNING, UserWarning, stacklevel=3)
        if epoch is not None:
            warnings.warn(_EPOCH_WARNING, UserWarning, stacklevel=3)

    def _update_lr(self, epoch=None):
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            rates = closed() if closed else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate.item() if isinstance(rate, Tensor) else rate)
            else:
                group["lr"] = rate
        self._last_lr = _rates(self.optimizer)

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def _undo_first_step(self):
        self.last_epoch -= 1

    def get_last_lr(self):
        """The rates that the last step set, one a group."""
        return self._last_lr

    def state_dict(self):
        """All attributes but the optimiser."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict):
        """Takes them over."""
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


class _FunctionSchedule(LRScheduler):
    """A schedule by functions of the epoch, one for all groups or one for each."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """The numbers, and the attributes of functions that are objects; functions themselves are not part of it."""
        state = super().state_dict()
        state["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        """Takes them over; functions stay."""
        functions = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = functions
        for function, kept in zip(functions, state_dict["lr_lambdas"]):
            if kept is not None:
                function.__dict__.update(kept)


class LambdaLR(_FunctionSchedule):
    """The initial rate times lr_lambda(epoch)."""

    def get_lr(self):
        return [rate * function(self.last_epoch) for function, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_FunctionSchedule):
    """The rate of the epoch before times lr_lambda(epoch)."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self):
        now = _rates(self.optimizer)
        if self._is_initial:
            return now
        return [rate * function(self.last_epoch) for function, rate in zip(self.lr_lambdas, now, strict=True)]


class _Combined(LRScheduler):
    """A schedule made of schedules."""

    def _check_parts(self, schedulers, optimizer, nothing):
        kind = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(nothing)
        for i, part in enumerate(schedulers):
            if not hasattr(part, "optimizer"):
                raise TypeError(f"{kind} at index {i} should have `optimizer` as its attribute.")
            if isinstance(part, ReduceLROnPlateau):
                raise ValueError(f"{kind} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified "
                                 f"when calling `step`, but got one at index {i} in the given schedulers sequence.")
            if part.optimizer is not optimizer:
                raise ValueError(f"{kind} expects all schedulers to belong to the same optimizer, but got scheduler "
                                 f"{type(part).__name__} at index {i} has {part.optimizer}, which is different from {optimizer}.")

    def _undo_first_step(self):
        for part in self._schedulers:
            part._undo_first_step()

    def state_dict(self):
        """The numbers of this schedule and of its parts."""
        state = super().state_dict()
        state["_schedulers"] = [part.state_dict() for part in self._schedulers]
        return state

    def load_state_dict(self, state_dict):
        """Takes them over."""
        parts = self._schedulers
        super().load_state_dict(state_dict)
        self._schedulers = parts
        for part, state in zip(parts, state_dict["_schedulers"]):
            part.load_state_dict(state)


class SequentialLR(_Combined):
    """One schedule after the other, each from its milestone on."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._check_parts(schedulers, optimizer, f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                             f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                             f"{len(milestones)}")
        self._schedulers, self._milestones = list(schedulers), milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # Every part has made its first step already, over those before it: all are taken back, and the first one's is made.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self._undo_first_step()
        first = self._schedulers[bisect.bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self):
        """The next epoch, by the part whose turn it is."""
        self.last_epoch += 1
        at = bisect.bisect_right(self._milestones, self.last_epoch)
        part = self._schedulers[at]
        if at > 0 and self._milestones[at - 1] == self.last_epoch:
            part._update_lr(0)
        else:
            part.step()
        self._last_lr = part.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedules at once, each over the rates of those before it."""

    def __init__(self, schedulers, optimizer=None):
        if len(schedulers) > 0 and optimizer is None:
            optimizer = schedulers[0].optimizer
        self._check_parts(schedulers, optimizer,
                          f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.")
        self._schedulers, self.optimizer = list(schedulers), optimizer
        self._last_lr = _rates(optimizer)

    def step(self):
        """The next epoch of each."""
        for part in self._schedulers:
            part.step()
        self._last_lr = _rates(self.optimizer)


class _Shadow:
    """The groups of an optimiser that is written in Python, for schedules of the library: what they read and change of an
    optimiser are its options alone."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        kind = "Adam" if "betas" in optimizer.defaults else "SGD"
        self._own = _sconce._Optimizer(kind, [{"params": [_sconce.tensor(0.0)]} for _ in optimizer.param_groups], {})

    def _push(self):
        for i, group in enumerate(self.optimizer.param_groups):
            for name, value in group.items():
                if name != "params":
                    self._own.set_option(i, name, value)

    def _pull(self):
        for mine, theirs in zip(self.optimizer.param_groups, self._own.groups()):
            mine.update({name: value for name, value in theirs.items()
                         if name in mine and name != "params" or name in ("lr", "initial_lr", "max_lr", "min_lr", "max_momentum", "base_momentum")})


class _LibrarySchedule(LRScheduler):
    """A schedule whose formula is written in the library."""

    def __init__(self, optimizer, *args, **kwargs):
        _check(optimizer)
        if len(args) > len(self.POSITIONAL):
            raise TypeError(f"{type(self).__name__}() takes at most {1 + len(self.POSITIONAL)} positional arguments")
        self.optimizer = optimizer
        self._groups = optimizer if isinstance(optimizer, _LibraryOptimizer) else _Shadow(optimizer)
        self._groups._push()
        self._own = _sconce._Scheduler(type(self).KIND, self._groups._own, {**dict(zip(self.POSITIONAL, args)), **kwargs})
        self._groups._pull()

    def __getattr__(self, name):
        if name in ("_own", "_groups", "optimizer"):
            raise AttributeError(name)
        state = self._own.state_dict()
        if name not in state:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return state[name]

    def __setattr__(self, name, value):
        if "_own" in self.__dict__ and name in self._own.state_dict():
            self._change(**{name: value})
        else:
            object.__setattr__(self, name, value)

    def _change(self, **numbers):
        self._own.load_state_dict({**self._own.state_dict(), **numbers})

    def _update_lr(self, epoch=None):
        count = self._step_count
        self._step(epoch)
        self._change(_step_count=count)

    def _step(self, epoch):
        self._groups._push()
        self._own.step(epoch)
        self._groups._pull()

    def step(self, epoch=None):
        """The next epoch; with one, that one."""
        self._warn(epoch)
        self._step(epoch)

    def _initial_step(self):
        self._change(_step_count=0, _is_initial=True)
        self._step(None)
        self._change(_is_initial=False)

    def _undo_first_step(self):
        self._change(last_epoch=self.last_epoch - 1)

    def get_last_lr(self):
        """The rates that the last step set, one a group."""
        return self._own.get_last_lr()

    def state_dict(self):
        """The numbers of the schedule."""
        return self._own.state_dict()

    def load_state_dict(self, state_dict):
        """Takes them over."""
        self._own.load_state_dict(state_dict)


def _schedule(name, *positional, base=_LibrarySchedule):
    return type(name, (base,), {"KIND": name, "POSITIONAL": positional, "__module__": __name__,
                                "__doc__": f"torch.optim.lr_scheduler.{name}"})


StepLR = _schedule("StepLR", "step_size", "gamma", "last_epoch")
MultiStepLR = _schedule("MultiStepLR", "milestones", "gamma", "last_epoch")
ConstantLR = _schedule("ConstantLR", "factor", "total_iters", "last_epoch")
LinearLR = _schedule("LinearLR", "start_factor", "end_factor", "total_iters", "last_epoch")
ExponentialLR = _schedule("ExponentialLR", "gamma", "last_epoch")
PolynomialLR = _schedule("PolynomialLR", "total_iters", "power", "last_epoch")
CosineAnnealingLR = _schedule("CosineAnnealingLR", "T_max", "eta_min", "last_epoch")
CosineAnnealingWarmRestarts = _schedule("CosineAnnealingWarmRestarts", "T_0", "T_mult", "eta_min", "last_epoch")
CyclicLR = _schedule("CyclicLR", "base_lr", "max_lr", "step_size_up", "step_size_down", "mode", "gamma")
OneCycleLR = _schedule("OneCycleLR", "max_lr", "total_steps", "epochs", "steps_per_epoch", "pct_start", "anneal_strategy",
                       "cycle_momentum", "base_momentum", "max_momentum", "div_factor", "final_div_factor", "three_phase", "last_epoch")


class _Plateau(_LibrarySchedule):
    """Its step() takes the metric."""

    def step(self, metrics, epoch=None):
        """One more metric; the rates fall when it has not become better for too long."""
        if epoch is not None:
            raise NotImplementedError("ReduceLROnPlateau.step: epoch is not supported")
        self._step(float(metrics))


ReduceLROnPlateau = _schedule("ReduceLROnPlateau", "mode", "factor", "patience", "threshold", "threshold_mode", "cooldown", "min_lr",
                              "eps", base=_Plateau)
