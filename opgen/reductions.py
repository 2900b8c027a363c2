"""Reductions from map and combine."""


def loops_of(entry):
    entry.fail("reductions are not generated")


def glue(op, params, written, family):
    return []


def source(family, ops):
    return ""


registry_source = header = source
