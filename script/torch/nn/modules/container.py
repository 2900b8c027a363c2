# torch.nn: modules made of modules. Loops over them are unrolled while a script is compiled.
import torch
from torch import Tensor
from torch.nn import Module, Parameter


class Sequential(Module):
    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential):
        for module in sequential:
            self.append(module)
        return self

    def forward(self, input):
        for module in self:
            input = module(input)
        return input


class ModuleList(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            for i, module in enumerate(modules):
                self.add_module(str(i), module)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self


class ModuleDict(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def update(self, modules):
        pairs = modules.items() if isinstance(modules, (dict, ModuleDict)) else modules
        for name, module in pairs:
            self.add_module(name, module)


class ParameterList(Module):
    def __init__(self, values=None):
        super().__init__()
        if values is not None:
            for i, value in enumerate(values):
                self.register_parameter(str(i), value if isinstance(value, Parameter) else Parameter(value))

    def append(self, value):
        self.register_parameter(str(len(self)), value if isinstance(value, Parameter) else Parameter(value))
        return self

    def extend(self, values):
        for value in values:
            self.append(value)
        return self


class ParameterDict(Module):
    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def update(self, parameters):
        pairs = parameters.items() if isinstance(parameters, (dict, ParameterDict)) else parameters
        for name, value in pairs:
            self.register_parameter(name, value if isinstance(value, Parameter) else Parameter(value))
