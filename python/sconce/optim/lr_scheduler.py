"""Schedules of learning rates. Those that take functions or other schedules (LambdaLR, SequentialLR) are not there yet."""

from .. import _sconce


class LRScheduler:
    """Changes the learning rates of an optimiser's groups, one step() after the optimiser's own."""

    def __init__(self, optimizer, *args, **kwargs):
        if len(args) > len(self.POSITIONAL):
            raise TypeError(f"{type(self).__name__}() takes at most {1 + len(self.POSITIONAL)} positional arguments")
        self.optimizer = optimizer
        optimizer._push()
        self._own = _sconce._Scheduler(type(self).__name__, optimizer._own, {**dict(zip(self.POSITIONAL, args)), **kwargs})
        optimizer._pull()

    def step(self, epoch=None):
        """The next epoch; for ReduceLROnPlateau the argument is the metric."""
        self.optimizer._push()
        self._own.step(epoch)
        self.optimizer._pull()

    def get_last_lr(self):
        """The rates that the last step set, one a group."""
        return self._own.get_last_lr()

    def state_dict(self):
        """The numbers of the schedule."""
        return self._own.state_dict()

    def load_state_dict(self, state_dict):
        """Takes them over."""
        self._own.load_state_dict(state_dict)

    @property
    def last_epoch(self):
        """How many steps were made."""
        return self._own.state_dict()["last_epoch"]


def _schedule(name, *positional):
    return type(name, (LRScheduler,), {"POSITIONAL": positional, "__module__": __name__, "__doc__": f"torch.optim.lr_scheduler.{name}"})


StepLR = _schedule("StepLR", "step_size", "gamma", "last_epoch")
MultiStepLR = _schedule("MultiStepLR", "milestones", "gamma", "last_epoch")
ConstantLR = _schedule("ConstantLR", "factor", "total_iters", "last_epoch")
LinearLR = _schedule("LinearLR", "start_factor", "end_factor", "total_iters", "last_epoch")
ExponentialLR = _schedule("ExponentialLR", "gamma", "last_epoch")
PolynomialLR = _schedule("PolynomialLR", "total_iters", "power", "last_epoch")
CosineAnnealingLR = _schedule("CosineAnnealingLR", "T_max", "eta_min", "last_epoch")
CosineAnnealingWarmRestarts = _schedule("CosineAnnealingWarmRestarts", "T_0", "T_mult", "eta_min", "last_epoch")
CyclicLR = _schedule("CyclicLR", "base_lr", "max_lr", "step_size_up", "step_size_down", "mode", "gamma")
OneCycleLR = _schedule("OneCycleLR", "max_lr", "total_steps", "epochs", "steps_per_epoch", "pct_start", "anneal_strategy")
ReduceLROnPlateau = _schedule("ReduceLROnPlateau", "mode", "factor", "patience", "threshold", "threshold_mode", "cooldown", "min_lr", "eps")
