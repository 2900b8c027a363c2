"""Runs a program that is written for PyTorch with all its functions compiled: python3 compiled_example.py program.py

Each function that the file defines, main() included, is replaced by sconce.compile(function), and each forward() of its modules too;
loops, printing, data loading and optimisers' steps are part of what is compiled.
"""

import pathlib
import sys
import types

import sconce
from sconce.__main__ import _Alias


def main():
    sys.modules["torch"] = sconce
    sys.meta_path.insert(0, _Alias())
    path = pathlib.Path(sys.argv[1])
    sys.argv = sys.argv[1:]
    sys.path[0] = str(path.parent)
    text = path.read_text()
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    exec(compile(text.replace('if __name__ == "__main__":', "if False:"), str(path), "exec"), module.__dict__)
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and value.__module__ == "__main__":
            setattr(module, name, sconce.compile(value))
        elif isinstance(value, type) and issubclass(value, sconce.nn.Module) and value.__module__ == "__main__":
            if "forward" in vars(value):
                value.forward = sconce.compile(value.forward)
    module.main()


if __name__ == "__main__":
    main()
