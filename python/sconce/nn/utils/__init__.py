"""Helpers for modules."""
