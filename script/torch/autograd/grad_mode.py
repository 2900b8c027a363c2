# torch.no_grad() and its kin, for `with`: the thread's mode is put back when the block is left, also by an exception.
import torch
from typing import Any


class no_grad:
    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        torch.ops.aten.set_grad_enabled(False)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.ops.aten.set_grad_enabled(self.prev)


class enable_grad:
    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        torch.ops.aten.set_grad_enabled(True)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.ops.aten.set_grad_enabled(self.prev)


class inference_mode:
    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.prev = 0

    def __enter__(self) -> None:
        self.prev = torch.ops.sconce.inference_mode_state()
        torch.ops.sconce.set_inference_mode(self.mode)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.ops.sconce.restore_inference_mode(self.prev)


# Called as a function it sets the mode for good.
class set_grad_enabled:
    def __init__(self, mode: bool) -> None:
        self.prev = torch.is_grad_enabled()
        torch.ops.aten.set_grad_enabled(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.ops.aten.set_grad_enabled(self.prev)
