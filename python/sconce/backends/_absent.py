"""A library that is not there: is_available() is False, and its switches may be set as programs do, to no effect but that."""

import types


class AbsentLibrary(types.ModuleType):
    """Switches (`torch.backends.cudnn.benchmark = True`) keep what they are set to; other names do not exist."""

    _switches = ()

    def __setattr__(self, name, value):
        if not name.startswith("__") and name not in self._switches:
            raise AttributeError(f"{self.__name__} has no switch '{name}'; it has {', '.join(self._switches) or 'none'}")
        super().__setattr__(name, value)


def is_available():
    """False: this library is not used."""
    return False
