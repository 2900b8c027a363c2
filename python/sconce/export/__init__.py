"""Export: a module or function captured as one graph of operators, for files that PyTorch, C++ and the command line load (.pt2).

    batch = Dim("batch", max=64)
    program = export(model, (x,), dynamic_shapes={"x": {0: batch}})
    save(program, "model.pt2")                                    # torch.export.load and sconce.jit.load read it
"""

from ._dim import Dim
from ._program import ExportedProgram, export, save

__all__ = ["Dim", "ExportedProgram", "export", "save"]
