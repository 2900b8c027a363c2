"""Modules without their first values."""


def skip_init(module_cls, *args, **kwargs):
    """module_cls(*args, **kwargs) with parameters that are memory alone, for values that come from elsewhere."""
    from ..module import Module

    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
