# torch.nn: modules that hold others. How they are built (append, update, ...) is the compiler's own, see
# sconce/frontend/script/construct/module_methods.cpp; loops over them are unrolled.
from torch.nn import Module


class Sequential(Module):
    def forward(self, input):
        for module in self:
            input = module(input)
        return input


class ModuleList(Module):
    pass


class ModuleDict(Module):
    pass


class ParameterList(Module):
    pass


class ParameterDict(Module):
    pass
