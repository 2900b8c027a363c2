"""Optimisers, with PyTorch's names, options and state dicts. The steps are those of the library; Adafactor's are Python."""

from .optimizer import (LBFGS, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, ASGD, NAdam, Optimizer, RAdam, RMSprop, Rprop)
from . import lr_scheduler
from .adafactor import Adafactor

__all__ = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "NAdam", "Optimizer", "RAdam", "RMSprop",
           "Rprop", "SGD", "lr_scheduler"]
