"""Devices: which kernels an entry may name, and which slot of a record a kernel stands in."""

# Columns of `kernel`, and the folders below sconce/kernels/ that hold their sources; autograd/ is beside it. any: one
# function for every device, which reads no memory itself; boxed: one function over Values.
KERNELS = {"cpu": ("cpu",), "any": ("any", "autograd"), "boxed": ("boxed", "autograd")}

# The functions that opgen writes run on these: the CPU's loops or hand-written kernels below, sizes alone on meta.
GLUE = ("cpu", "meta")

# enum class Key of sconce/tensor/key_set.h: the slot of Op::kernels.
SLOTS = {"cpu": 0, "cuda": 1, "meta": 2, "autograd": 7}
