"""Modules of torch.nn; most of them are texts of the script library (_library.py)."""
