"""torch.func: functions to functions. Gradients, products with Jacobians, maps over a dimension.

Derivatives of functions are taken by the recorded graph: each level of grad or vjp records anew over the tensors it is given, so
that levels nest. Forward derivatives (jvp) are gradients of vjp, so functions must be differentiable twice. vmap calls the function
once for each index and stacks what it returns.
"""

from .functional_call import functional_call
from .stack_module_state import stack_module_state
from .transforms import (functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, replace_all_batch_norm_modules_,
                         vjp)
from .vmap import vmap

__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
