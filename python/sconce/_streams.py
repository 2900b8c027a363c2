"""torch.cuda.Stream, torch.cuda.Event and what chooses streams: queues of work of a device, and marks in them."""

from . import ops as _ops
from ._sconce import device as _device


def _ask(name, *args):
    return getattr(_ops.sconce, name)("cuda", *args)


def _index(device):
    """The number of a device given as None, a number, a text or a torch.device; None and "cuda" are the current one."""
    if device is None:
        return _ask("current_device")
    if isinstance(device, int):
        return device if device >= 0 else _ask("current_device")
    found = _device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return _ask("current_device") if found.index is None else found.index


class Stream:
    """A queue of a device's work, done in the order in which it was asked for; there are 32 for each priority, handed out in turn."""

    def __init__(self, device=None, priority=0, **kwargs):
        self.device_index = _index(device)
        self.priority = priority
        known = kwargs.pop("stream_id", None)
        if kwargs:
            raise TypeError(f"Stream() got an unexpected keyword argument '{min(kwargs)}'")
        self.stream_id = _ask("new_stream", self.device_index, priority < 0) if known is None else known

    @property
    def device(self):
        """The device whose work it queues."""
        return _device("cuda", self.device_index)

    @property
    def cuda_stream(self):
        """Its address, for other libraries."""
        return _ask("stream_address", self.device_index, self.stream_id)

    def query(self):
        """Whether all work that it was asked for is done."""
        return _ask("is_stream_done", self.device_index, self.stream_id)

    def synchronize(self):
        """Waits until it is."""
        _ask("wait_for_stream", self.device_index, self.stream_id)

    def record_event(self, event=None):
        """An event that happens when the work so far is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Work from now on begins when the event has happened."""
        if event._number is not None:
            _ask("let_stream_wait", self.device_index, self.stream_id, event._number)

    def wait_stream(self, stream):
        """Work from now on begins when the other stream has done what it was asked for so far."""
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self):
        return hash((self.device_index, self.stream_id))

    def __repr__(self):
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self):
        self._before = current_stream(self.device_index), _ask("current_device")
        _ask("set_device", self.device_index)
        set_stream(self)
        return self

    def __exit__(self, *error):
        stream, device = self._before
        set_stream(stream)
        _ask("set_device", device)


class Event:
    """A mark in a stream: it happens when the work before it is done."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise NotImplementedError("torch.cuda.Event: interprocess events are not there")
        self._timed, self._number, self._index = enable_timing, None, None  # waiting always blocks without spinning

    def record(self, stream=None):
        """It happens when the stream (the current one) has done what it was asked for so far."""
        stream = current_stream() if stream is None else stream
        if self._number is None:
            self._index = stream.device_index
            self._number = _ask("new_event", self._index, self._timed)
        elif self._index != stream.device_index:
            raise RuntimeError(f"Event device {self._index} does not match recording stream's device {stream.device_index}.")
        _ask("record_event", self._number, stream.stream_id)

    def wait(self, stream=None):
        """The stream (the current one) goes on when it has happened."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self):
        """Whether it has happened; one that was not recorded has."""
        return self._number is None or _ask("is_event_done", self._number)

    def synchronize(self):
        """Waits until it has."""
        if self._number is not None:
            _ask("wait_for_event", self._number)

    def elapsed_time(self, end_event):
        """Milliseconds from it to another one."""
        if self._number is None or end_event._number is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return _ask("event_distance", self._number, end_event._number)

    def __del__(self):
        number, self._number = getattr(self, "_number", None), None
        if number is not None:
            try:
                _ask("release_event", number)
            except Exception:  # the interpreter or the device is gone
                pass

    def __repr__(self):
        return "<torch.cuda.Event uninitialized>" if self._number is None else f"<torch.cuda.Event {self._number}>"


class StreamContext:
    """`with torch.cuda.stream(s):`: work of the block goes to the stream; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error):
        if self.stream is not None:
            self.stream.__exit__(*error)


def stream(stream):
    """The context in which work goes to a stream."""
    return StreamContext(stream)


def current_stream(device=None):
    """The stream that this thread's work on a device goes to."""
    index = _index(device)
    return Stream(index, stream_id=_ask("current_stream", index))


def default_stream(device=None):
    """The stream that work goes to where no other was chosen."""
    return Stream(_index(device), stream_id=0)


def set_stream(stream):
    """Makes a stream the one that this thread's work on its device goes to."""
    if stream is not None:
        _ask("set_stream", stream.device_index, stream.stream_id)


def record_stream(self, stream):
    """Tensor.record_stream: the memory is used on the stream, too, and is reused only behind that."""
    _ops.sconce.record_stream(self, stream.stream_id)
