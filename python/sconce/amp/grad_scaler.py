"""GradScaler: a factor on the loss that keeps small gradients of float16 from becoming zero."""

import collections
import warnings

import sconce as torch


class GradScaler:
    """scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update(). A step whose gradients are not finite is left out and
    halves the factor; many good ones in a row double it."""

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._device, self._enabled = str(device), enabled
        if self._device == "cuda" and enabled:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_factor, self._backoff_factor = init_scale, growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._scale = None  # made by the first call of scale()
        self._begin_round()

    def _begin_round(self):
        """Of each optimiser: what happened since the last update()."""
        self._stage = collections.defaultdict(lambda: "READY")
        self._found = {}

    def _need_scale(self, name):
        if self._scale is None:
            raise AssertionError(f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
                                 "earlier in the iteration.")

    def scale(self, outputs):
        """A tensor, or tensors in lists, tuples and other iterables, times the factor."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = torch.full((1,), self._init_scale, dtype=torch.float32)
        if isinstance(outputs, torch.Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(value) for value in outputs)
        if isinstance(outputs, collections.abc.Iterable):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        """Divides the gradients of an optimiser by the factor, for what wants to see them before the step: clipping."""
        if not self._enabled:
            return
        self._need_scale("unscale_")
        if self._stage[id(optimizer)] == "UNSCALED":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if self._stage[id(optimizer)] == "STEPPED":
            raise RuntimeError("unscale_() is being called after step().")
        self._unscale(optimizer, allow_fp16=False)
        self._stage[id(optimizer)] = "UNSCALED"

    def _unscale(self, optimizer, allow_fp16):
        inverse = self._scale.double().reciprocal().float()
        found = False
        with torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is None:
                        continue
                    if not allow_fp16 and gradient.dtype is torch.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    found = found or not bool(torch.isfinite(gradient).all())
                    gradient.mul_(inverse.to(gradient.dtype) if gradient.dtype is not torch.float32 else inverse)
        self._found[id(optimizer)] = found

    def step(self, optimizer, *args, **kwargs):
        """The optimiser's step, unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._need_scale("step")
        if self._stage[id(optimizer)] == "STEPPED":
            raise RuntimeError("step() has already been called since the last update().")
        if self._stage[id(optimizer)] == "READY":
            self._unscale(optimizer, allow_fp16=True)
        self._stage[id(optimizer)] = "STEPPED"
        if all(parameter.grad is None for group in optimizer.param_groups for parameter in group["params"]):
            raise AssertionError("No inf checks were recorded for this optimizer.")
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """The factor of the next round; a given one, or as the gradients of this round ask."""
        if not self._enabled:
            return
        self._need_scale("update")
        if new_scale is not None:
            self._scale.fill_(new_scale.item() if isinstance(new_scale, torch.Tensor) else new_scale)
        else:
            if not self._found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(self._found.values()):
                self._scale.mul_(self._backoff_factor)
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale.mul_(self._growth_factor)
                    self._growth_tracker = 0
        self._begin_round()

    def get_scale(self):
        """The factor, as a number."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """What the factor is multiplied by after many good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Changes it."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the factor is multiplied by after a step that was left out."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Changes it."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """How many good steps in a row let the factor grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Changes it."""
        self._growth_interval = new_interval

    def is_enabled(self):
        """False makes scale and step pass everything through."""
        return self._enabled

    def state_dict(self):
        """The numbers; nothing when it is not enabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict):
        """Takes them over."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]
