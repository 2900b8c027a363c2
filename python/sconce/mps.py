"""torch.mps: queries answer that there is no MPS; everything else is refused by name."""

from ._absent_device import names_of as _names_of

globals().update(_names_of("mps", "MPS"))
