"""Functions that stay in Python (@jit.ignore): operators that call them."""


def operator_of(fn):
    raise NotImplementedError(f"jit.ignore: calls of Python from programs are not supported ('{fn.__name__}')")
