"""Devices: which kernels an entry may name, and which slot of a record a kernel stands in."""

import pathlib
import re

# Columns of `kernel`, and the folders below sconce/kernels/ that hold their sources; autograd/ is beside it. any: one
# function for every device, which reads no memory itself; cuda: of libsconce_cuda (faces/cuda.py); boxed: one function over Values. sparse/ and quantized/ have the
# kernels of operators on such tensors, also of those that have no other kernel.
KERNELS = {"cpu": ("cpu", "sparse", "quantized"), "cuda": ("cuda",), "any": ("any", "autograd"), "boxed": ("boxed", "autograd", "quantized")}

# The functions that opgen writes stand in these slots: the CPU's loops or hand-written kernels below, sizes alone on meta.
# Other devices take over the CPU's where it is true on all of them (`every_device`, sconce/dispatch/register_backend.h).
GLUE = ("cpu", "meta")

_KEY_SET = (pathlib.Path(__file__).parent.parent / "sconce/tensor/key_set.h").read_text()
# Keys and their slots of Op::kernels, as enum class Key numbers them.
SLOTS = {key: int(slot) for key, slot in
         re.findall(r"^ *(\w+) = (\d+),", re.search(r"enum class Key [^{]*{(.*?)};", _KEY_SET, re.S)[1], re.M)}


def runs_everywhere(entry):
    """Whether an operator's kernel is one for all devices: it computes sizes, calls operators or asks a Backend."""
    return entry.kind != "leaf" or "cpu" not in entry.data["kernel"] or "any" in entry.data["kernel"]
