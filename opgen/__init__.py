"""Reads the operator table (ops/*.toml) and writes the C++ that follows from it. Standard library only."""
