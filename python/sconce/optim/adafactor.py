"""Adafactor, an optimiser that keeps the second moments of matrices as a row and a column of means."""

from .._sconce import Tensor, float32
from .._type_info import finfo
from ..autograd.grad_mode import enable_grad, no_grad
from .optimizer import Optimizer


def _root_mean_square(tensor):
    return tensor.norm(2).item() / tensor.numel() ** 0.5


def _square_means(tensor, dim):
    return tensor.norm(2, dim, True).square_().div_(tensor.size(dim))


class Adafactor(Optimizer):
    """Adaptive learning rates with sublinear memory.

    Args:
        params: Parameters, or groups of them.
        lr: Largest relative step; the factor of weight decay (default: 0.01).
        beta2_decay: Exponent of the step number by which old second moments fade (default: -0.8).
        eps: Least root of a second moment (default: the epsilon of the dtype), and least scale of a step.
        d: Root mean square above which an update is scaled down (default: 1).
        weight_decay: Decoupled weight decay (default: 0).
        maximize: Climbs instead of descending (default: False).
    """

    def __init__(self, params, lr=0.01, beta2_decay=-0.8, eps=(None, 0.001), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for wrong, message in ((not lr >= 0, f"Learning rate should be >= 0 but is: {lr}"),
                               (not beta2_decay <= 0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
                               (eps[0] is not None and not eps[0] >= 0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
                               (not eps[1] >= 0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
                               (not d >= 1, f"Clipping threshold d should be >= 1 but is: {d}"),
                               (not weight_decay >= 0, f"weight_decay should be >= 0 but is: {weight_decay}")):
            if wrong:
                raise ValueError(message)
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize})

    def step(self, closure=None):
        """One step; with a closure, which computes the loss and its gradients, returns the loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                least = group["eps"][0]
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        if least is None:  # of the group's first parameter, whatever the others are
                            least = finfo(parameter.dtype).eps
                        self._change(parameter, parameter.grad, group, least)
        return loss

    def _start(self, parameter, grad):
        """The state of a parameter, made at its first step."""
        if parameter.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if grad.is_sparse:
            raise RuntimeError("Adafactor does not support sparse gradients")
        state = self.state[parameter]
        if not state:
            state["step"] = grad.new_zeros((), dtype=float32)
            if grad.dim() > 1:
                state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
                state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
            else:
                state["variance"] = grad.new_zeros(grad.shape)
        return state

    def _change(self, parameter, grad, group, least):
        state = self._start(parameter, grad)
        state["step"] += 1
        step, rate = state["step"].item(), float(group["lr"])
        if group["maximize"]:
            grad = -grad
        fresh = step ** group["beta2_decay"]
        scale = max(group["eps"][1], _root_mean_square(parameter)) * min(rate, step ** -0.5)
        if group["weight_decay"] != 0:
            parameter.mul_(1 - rate * group["weight_decay"])
        if grad.dim() > 1:
            rows = state["row_var"].lerp_(_square_means(grad, -1), fresh)
            columns = state["col_var"].lerp_(_square_means(grad, -2), fresh)
            moments = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))
        else:
            moments = state["variance"].lerp_(grad * grad, fresh).clone()
        update = moments.clamp_(min=least * least).rsqrt_().mul_(grad)
        parameter.add_(update, alpha=-scale / max(1.0, _root_mean_square(update) / group["d"]))
