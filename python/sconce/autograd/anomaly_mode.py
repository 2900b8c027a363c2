"""Anomaly mode: errors of backward say where the forward operation was called, and NaN is an error."""

from .. import _sconce
from .grad_mode import _Mode

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly(_Mode):
    """Anomaly mode on or off: at once, and until the end of a with statement."""

    def __init__(self, mode, check_nan=True):
        self.prev, self.prev_check_nan = _sconce.is_anomaly_enabled(), _sconce.is_anomaly_check_nan_enabled()
        self.mode, self.check_nan = mode, check_nan
        _sconce._set_anomaly(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *error):
        _sconce._set_anomaly(self.prev, self.prev_check_nan)

    def _again(self):
        return type(self)(self.mode, self.check_nan)


class detect_anomaly(_Mode):
    """Anomaly mode inside of a with statement."""

    def __init__(self, check_nan=True):
        self.check_nan = check_nan

    def __enter__(self):
        self.prev, self.prev_check_nan = _sconce.is_anomaly_enabled(), _sconce.is_anomaly_check_nan_enabled()
        _sconce._set_anomaly(True, self.check_nan)

    def __exit__(self, *error):
        _sconce._set_anomaly(self.prev, self.prev_check_nan)

    def _again(self):
        return type(self)(self.check_nan)
