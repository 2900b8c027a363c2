"""Families of calls: each is a function that draws a Call. NAMES orders them; a module adds its own by `family`."""

import importlib

NAMES = {}


def family(name, weight=1):
    """Adds a function of Draws. `name` is a row of the table of tolerances."""
    def add(draw):
        NAMES.setdefault(name, []).append((weight, draw))
        return draw
    return add


def budget(d):
    """How many elements the largest tensor of a call has, at most: often a few thousand, rarely a million."""
    return 1 << d.pick((8, 10, 12, 13, 14, 15, 16, 16, 17, 17, 18, 20))


def draw(name, d):
    options = [f for weight, f in NAMES[name] for _ in range(weight)]
    return d.pick(options)(d)


for _module in ("windows", "products", "layers", "sums", "places", "losses", "transforms", "training", "shapes", "writes", "programs"):
    importlib.import_module(f"{__name__}.{_module}")
