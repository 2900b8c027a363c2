"""Decides which variants this machine can reach: the fourth text of a declaration names what it needs."""

import pathlib
import platform

import sconce


def _flags():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    for line in text.splitlines():
        if line.startswith(("flags", "Features")):
            return set(line.split(":", 1)[1].split())
    return set()


FLAGS = _flags()
IS_X86 = platform.machine() in ("x86_64", "AMD64")


def levels():
    """The vector levels of this processor (SCONCE_CPU_LEVEL), the lowest first."""
    if not IS_X86:
        return [2, 3] if platform.machine() == "aarch64" else [2]
    found = [2]
    if {"avx2", "fma", "f16c"} <= FLAGS:
        found.append(3)
        if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= FLAGS:
            found.append(4)
    return found


def met(needs):
    """Whether this machine has it: "level 3", "level 4", "bf16" (products of bfloat16 pairs), "neon", "onednn"."""
    if needs.startswith("level "):
        return IS_X86 and int(needs.split()[1]) in levels()
    if needs == "bf16":
        return ("avx512_bf16" in FLAGS and 4 in levels()) or "bf16" in FLAGS
    if needs == "neon":
        return platform.machine() == "aarch64"
    if needs:
        raise ValueError(f"unknown needs of a variant: {needs}")
    return True
