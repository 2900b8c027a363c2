"""Copies and pickles of tensors, and what functions do with objects of subclasses."""

import copy

from . import _sconce
from ._sconce import Tensor


def _rebuild_storage(data):
    return _sconce.UntypedStorage(data)


def _reduce_storage(self, protocol):
    if protocol >= 5:
        import pickle

        return _rebuild_storage, (pickle.PickleBuffer(self),)
    return _rebuild_storage, (bytes(self),)


def _rebuild_tensor(storage, dtype, offset, size, stride, requires_grad, conj=False, neg=False):
    made = _sconce._tensor_over(storage, dtype, offset, size, stride)
    if conj:
        made = made.conj().detach()
    if neg:
        made = made._neg_view().detach()
    return made.requires_grad_() if requires_grad else made


def _rebuild_sparse(indices, values, size, is_coalesced):
    return _sconce._function("sparse_coo_tensor")(indices, values, size, is_coalesced=is_coalesced)


def _rebuild_meta(dtype, size, stride, requires_grad):
    return _sconce._function("empty_strided")(size, stride, dtype=dtype, device="meta").requires_grad_(requires_grad)


def _rebuild_subclass(rebuild, cls, args, state):
    made = rebuild(*args)
    made = _sconce._make_subclass(cls, made, made.requires_grad)
    if state:
        made.__dict__.update(state)
    return made


def _reduced(self):
    """A function and its arguments that make this tensor again, as a plain Tensor."""
    if self.is_quantized:
        raise NotImplementedError("a quantised tensor cannot be pickled")
    if self.is_meta:
        return _rebuild_meta, (self.dtype, tuple(self.shape), self.stride(), self.requires_grad)
    if self.layout is _sconce.sparse_coo:
        return _rebuild_sparse, (self._indices(), self._values(), tuple(self.shape), self.is_coalesced())
    if self.layout is not _sconce.strided:
        raise NotImplementedError(f"a tensor with layout {self.layout} cannot be pickled")
    bits = (self.is_conj(), self.is_neg())
    return _rebuild_tensor, (self.untyped_storage(), self.dtype, self.storage_offset(), tuple(self.shape), self.stride(),
                             self.requires_grad, *(bits if any(bits) else ()))


def __reduce_ex__(self, protocol):
    rebuild, args = _reduced(self)
    if type(self) is Tensor and not self.__dict__:
        return rebuild, args
    return _rebuild_subclass, (rebuild, type(self), args, self.__dict__ or None)


def __deepcopy__(self, memo):
    """A copy of a leaf, its gradient and its attributes; tensors that share memory do so in the copy."""
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                           "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                           "see https://github.com/pytorch/pytorch/pull/103001")
    if id(self) in memo:
        return memo[id(self)]
    plain = not (self.is_quantized or self.is_conj() or self.is_neg())
    if self.layout is _sconce.strided and plain and self.device.type == "cpu":
        rebuild, args = _reduced(self)
        storage = args[0]
        if id(storage) not in memo:
            memo[id(storage)] = storage.clone()
            memo.setdefault(id(memo), []).append(storage)  # keeps the address from being another's, as copy.deepcopy does
        made = rebuild(memo[id(storage)], *args[1:])
    else:
        made = self.detach().clone().requires_grad_(self.requires_grad)
    if type(self) is not Tensor:
        made = _sconce._make_subclass(type(self), made, made.requires_grad)
    if self.grad is not None:
        made.grad = self.grad.__deepcopy__(memo)
    if self.__dict__:
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    memo[id(self)] = made
    return made


class DisableTorchFunctionSubclass:
    """Inside of a with statement, functions do not ask the classes of their arguments (__torch_function__)."""

    def __enter__(self):
        _sconce._change_torch_function_disabled(1)

    def __exit__(self, *error):
        _sconce._change_torch_function_disabled(0)


def __torch_function__(cls, func, types, args=(), kwargs=None):
    """What subclasses do that say nothing else: calls the function, and makes tensors among its results objects of the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        return _converted(func(*args, **(kwargs or {})), cls)


def _converted(result, cls):
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        items = [_converted(item, cls) for item in result]
        return type(result)(items) if type(result) in (tuple, list) or hasattr(result, "n_sequence_fields") else type(result)(*items)
    return result
