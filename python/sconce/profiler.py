"""Names for parts of a program, as torch.profiler has them. There is no profiler of Python programs here that would collect them:
`perf`, and SCONCE_LOGS=plans, show where time goes."""

import functools

__all__ = ["record_function"]


class record_function:
    """with record_function("part"): the name of a part of the program; also a decorator."""

    def __init__(self, name, args=None):
        self.name = name
        self.args = args

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return None

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return inside
