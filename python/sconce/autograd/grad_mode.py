"""Modes of recording, as context managers and decorators."""

import functools
import warnings

from .. import _sconce


class _Mode:
    """A context manager that is a decorator, too.

    It holds inside of a decorated generator, and not in the caller between its values.
    """

    def __call__(self, function):
        if isinstance(function, type):
            warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
                          "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method "
                          "and nothing else.", FutureWarning, stacklevel=2)
            return functools.partial(_called_inside, self._again, function)
        if _makes_generators(function):
            return _generator_inside(self._again, function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return wrapped

    def _again(self):
        return type(self)()


def _makes_generators(function):
    """As inspect.isgeneratorfunction, which would be imported with the package."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & 0x20)  # inspect.CO_GENERATOR


def _called_inside(mode, function, *args, **kwargs):
    with mode():
        return function(*args, **kwargs)


def _generator_inside(mode, function):
    """A generator function whose body runs in the mode.

    The mode ends at each yield and begins again when the generator goes on.
    """

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        generator = function(*args, **kwargs)
        try:
            with mode():
                value = next(generator)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    with mode():
                        generator.close()
                    raise
                except BaseException as error:
                    with mode():
                        value = generator.throw(error)
                else:
                    with mode():
                        value = generator.send(sent)
        except StopIteration as end:
            return end.value

    return wrapped


class _BareMode(_Mode):
    """A mode without arguments, which also decorates without parentheses."""

    def __new__(cls, function=None):
        return super().__new__(cls) if function is None else cls()(function)


class no_grad(_BareMode):
    """Operations inside are not recorded."""

    enabled = False

    def __enter__(self):
        self.before = _sconce.is_grad_enabled()
        _sconce._set_grad_enabled(self.enabled)

    def __exit__(self, *error):
        _sconce._set_grad_enabled(self.before)


class enable_grad(no_grad):
    """Operations inside are recorded."""

    enabled = True


class set_grad_enabled(_Mode):
    """Recording on or off: at once, and until the end of a with statement."""

    def __init__(self, mode):
        self.mode, self.before = bool(mode), _sconce.is_grad_enabled()
        _sconce._set_grad_enabled(self.mode)

    def __call__(self, function):
        _sconce._set_grad_enabled(self.before)  # a decorator changes nothing at once
        return super().__call__(function)

    def __enter__(self):
        _sconce._set_grad_enabled(self.mode)

    def __exit__(self, *error):
        _sconce._set_grad_enabled(self.before)

    def _again(self):
        return type(self)(self.mode)


class inference_mode(_Mode):
    """Nothing inside is recorded, and tensors made inside can never be."""

    def __new__(cls, mode=True):
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode=True):
        self.mode = bool(mode)

    def __enter__(self):
        self.before = _sconce._inference_mode_state()
        _sconce._set_inference_mode(self.mode)

    def __exit__(self, *error):
        _sconce._restore_inference_mode(self.before)

    def _again(self):
        return type(self)(self.mode)
