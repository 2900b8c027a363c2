"""Compilation of Python functions: sconce.compile and what belongs to it."""
