// Decompiler: prints a program as archives hold it, one file a qualifier ("__torch__.m" is code/__torch__/m.py), text
// of the archive dialect that PyTorch and we compile again. Values without a literal go to a table of constants.
//
//   class M(Module):
//     __parameters__ = ["w", ]
//     __buffers__ = []
//     w : Tensor
//     def forward(self: __torch__.M,
//       x: Tensor) -> Tensor:
//       w = self.w
//       return torch.mul(x, w)
//
// Printing a program that was loaded from printed code gives the same text.
#pragma once

#include <string>
#include <vector>

#include "sconce/ir/function.h"
#include "sconce/serialization/code/place.h"

namespace sconce {

// From byte `offset` of the file on, the text comes from `range` (nowhere: made by a pass).
struct PrintedRange {
  size_t offset = 0;
  Place range;
};

struct PrintedFile {
  std::string qualifier;  // "__torch__.torch.nn.modules.linear"
  std::string text;
  std::vector<PrintedRange> ranges;  // by offset
};

struct PrintedCode {
  std::vector<PrintedFile> files;  // in the order in which they are needed
  std::vector<Value> constants;    // CONSTANTS.c0, ...
  int version = 3;                 // the lowest format version in which the operators mean what they mean here
};

// The classes (modules, script classes, enums, named tuples, interfaces) and functions, and everything that they use.
// Throws Error for code that archives cannot express, naming it and its place.
SCONCE_API PrintedCode print_code(const std::vector<TypePtr>& classes,
                                  const std::vector<ir::Function*>& functions = {});
// One function or method as text, for people (`sconce ir --code-text`, Function::code). Constants by name.
SCONCE_API std::string print_function(ir::Function& function);

}  // namespace sconce
