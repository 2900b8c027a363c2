"""Functions of torch that are no operators."""

import copyreg

from . import _sconce
from ._sconce import Tensor, tensor

_packet = _sconce._packet
can_cast, promote_types = _packet("aten::can_cast"), _packet("aten::promote_types")


def is_tensor(obj):
    """True for a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj):
    """True for the memory of tensors."""
    return isinstance(obj, _sconce.UntypedStorage)


def typename(obj):
    """The class of an object with its module; of a tensor the name of its type: 'torch.FloatTensor'."""
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, "__module__", "") or ""
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = module or getattr(named, "__module__", "")
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def as_tensor(data, dtype=None, device=None):
    """A tensor of the data: without a copy for tensors, arrays and other memory whose dtype and device fit."""
    if not isinstance(data, Tensor):
        data = _shared(data)
        if not isinstance(data, Tensor):
            return tensor(data, dtype=dtype, device=device)
    return data.to(device if device is not None else data.device, dtype if dtype is not None else data.dtype)


def _shared(obj):
    """A tensor over the memory of an array of numpy, or of an object with __dlpack__; else the object itself."""
    if type(obj).__name__ == "ndarray" and type(obj).__module__ == "numpy":
        return _sconce.from_numpy(obj)
    if hasattr(type(obj), "__dlpack__"):
        return _sconce.from_dlpack(obj)
    return obj


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of any object: over its memory where that is possible (always with copy=False, never with copy=True)."""
    made = obj if isinstance(obj, Tensor) else _shared(obj)
    if not isinstance(made, Tensor) and _has_buffer(made):
        made = frombuffer(made, dtype=dtype if dtype is not None else _sconce.get_default_dtype())
    if not isinstance(made, Tensor):
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(made, dtype=dtype, device=device, requires_grad=requires_grad)
    fits = (dtype is None or dtype is made.dtype) and (device is None or _sconce.device(device) == made.device)
    if copy is False and not fits:
        if device is not None and _sconce.device(device) != made.device:
            raise ValueError(f"can't alias tensor from device '{made.device}' to '{device}'.")
        raise ValueError(f"can't alias tensor with dtype '{made.dtype._legacy_name}' into dtype '{dtype._legacy_name}'.")
    result = made.to(device if device is not None else made.device, dtype if dtype is not None else made.dtype, copy=copy is True)
    if requires_grad and not result.requires_grad:
        result = result.detach() if result is obj else result
        result.requires_grad_()
    elif not requires_grad and result.requires_grad:
        result = result.detach()
    return result


def _has_buffer(obj):
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A tensor over memory with the buffer protocol, from `offset` bytes on."""
    return _sconce._frombuffer(buffer, dtype, count, offset).requires_grad_(requires_grad)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes would be broadcast to."""
    result = []
    for index, shape in enumerate(shapes):
        sizes = [shape] if isinstance(shape, int) else list(shape)
        for size in sizes:
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
        result = [1] * (len(sizes) - len(result)) + result
        for i in range(-1, -len(sizes) - 1, -1):
            if sizes[i] in (1, result[i]):
                continue
            if result[i] != 1:
                raise RuntimeError(f"Attempting to broadcast a dimension of length {sizes[i]} at {i}! Mismatching argument at index "
                                   f"{index} had {tuple(sizes)}; but expected shape should be broadcastable to {result}")
            result[i] = sizes[i]
    return _sconce.Size(result)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How tensors are printed: digits, elements before dimensions are cut, elements at their ends, characters in a line."""
    profiles = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, 2 ** 62, 3, 80)}
    now = _sconce._print_options()
    if profile is not None:
        if profile not in profiles:
            raise ValueError(f"set_printoptions: profile must be one of {', '.join(profiles)}, not {profile!r}")
        now = (*profiles[profile], now[4])
    given = (precision, None if threshold is None else int(min(threshold, 2 ** 62)), edgeitems, linewidth)
    # As in PyTorch, sci_mode is set by every call: None lets the numbers decide.
    _sconce._set_print_options(*(old if new is None else new for old, new in zip(now, given)), sci_mode)


def save(obj, f):
    """Writes tensors, numbers, strings, and lists, tuples and dicts of them as torch.save does; PyTorch reads the file."""
    _sconce._save(obj, f)


def load(f, map_location=None, *, weights_only=True, mmap=None):
    """What save() or torch.save wrote. Nothing in the file is run, so objects of other classes are refused."""
    if not weights_only:
        raise NotImplementedError("load: weights_only=False would run code of the file, which is not supported")
    if map_location is not None and not isinstance(map_location, (str, _sconce.device)):
        raise NotImplementedError(f"load: map_location={map_location!r} is not supported, only a device")
    device = _sconce.device("cpu" if map_location is None else map_location)
    return _moved(_sconce._load(f, mmap is True), device)


def _moved(value, device):
    """The value with its tensors on a device; files are read to the CPU, whatever device their tensors were on."""
    if device.type == "cpu":
        return value
    if isinstance(value, _sconce.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)((k, _moved(v, device)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(v, device) for v in value)
    return value


class _Namespace:
    """Operators of one namespace: sconce.ops.aten.add.Tensor."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        found = _packet(f"{self._name}::{name}")
        setattr(self, name, found)
        return found


class _Operators:
    """Every operator, by namespace."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _Namespace(name)
        setattr(self, name, namespace)
        return namespace


ops = _Operators()
# Functions of operators are copied and pickled by their names, as functions of Python are.
copyreg.pickle(type(can_cast), lambda function: function.__name__)


def from_torch(source, example_inputs=None, *, dynamic_shapes=None):
    """PyTorch's tensors and modules as ours, over the same memory: see sconce.interop."""
    from . import interop

    return interop.from_torch(source, example_inputs, dynamic_shapes=dynamic_shapes)


def to_torch(source):
    """Our tensors and modules as PyTorch's, over the same memory: see sconce.interop."""
    from . import interop

    return interop.to_torch(source)
