"""Modes of recording, as context managers and decorators."""

import functools

from .. import _sconce


class _Mode:
    """A context manager that is a decorator, too."""

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return wrapped

    def _again(self):
        return type(self)()


class no_grad(_Mode):
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

    def __enter__(self):
        _sconce._set_grad_enabled(self.mode)

    def __exit__(self, *error):
        _sconce._set_grad_enabled(self.before)

    def _again(self):
        return type(self)(self.mode)


class inference_mode(_Mode):
    """Nothing inside is recorded, and tensors made inside can never be."""

    def __init__(self, mode=True):
        self.mode = bool(mode)

    def __enter__(self):
        self.before = _sconce._inference_mode_state()
        _sconce._set_inference_mode(self.mode)

    def __exit__(self, *error):
        _sconce._restore_inference_mode(self.before)

    def _again(self):
        return type(self)(self.mode)
