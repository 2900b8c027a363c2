"""Optimisers, with PyTorch's names, options and state dicts. The steps are those of the library."""

from .optimizer import (LBFGS, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, ASGD, NAdam, Optimizer, RAdam, RMSprop, Rprop)
from . import lr_scheduler

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
           "SGD", "lr_scheduler"]
