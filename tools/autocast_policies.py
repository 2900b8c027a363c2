#!/usr/bin/env python3
"""Prints ops/autocast.txt: what autocast does on the CPU, from the kernels that PyTorch has registered for it.

    python tools/autocast_policies.py > ops/autocast.txt"""

import torch

# PyTorch's documentation of autocast lists the operators that run in the lower precision and those that promote; every
# other one with a kernel for autocast runs in float32.
LOWER = set("""_addmm_activation _convolution.deprecated _native_multi_head_attention addbmm addmm baddbmm bmm conv1d
conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_tbc conv_transpose1d conv_transpose2d.input
conv_transpose3d.input linalg_vecdot linear matmul mkldnn_rnn_layer mm prelu scaled_dot_product_attention""".split())
WIDEST = {"cat", "index_copy", "stack"}
# PyTorch computes these by operators that run in the lower precision (mkldnn_rnn_layer, linear); here they are leaves. A GRU ends in
# float32 for a hidden state in float32, and is none of them.
WITHIN = [f"aten::{layer}.{form}" for layer in ("lstm", "rnn_relu", "rnn_tanh") for form in ("data", "input")]


def has_kernel(name):
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCPU")
    except RuntimeError:
        return False


def main():
    names = {s.name + ("." + s.overload_name if s.overload_name else "") for s in torch._C._jit_get_all_schemas()}
    print("# What autocast does to the arguments of operators on the CPU (sconce/dispatch/binding/autocast.h). Written by\n"
          "# tools/autocast_policies.py.")
    for name in sorted({*(n for n in names if has_kernel(n)), *WITHIN}):
        short = name.removeprefix("aten::")
        print(name, "lower" if short in LOWER or name in WITHIN else "widest" if short in WIDEST else "full")


main()
