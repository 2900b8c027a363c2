// Numbers that compiled files use for kinds of things; the writer and the reader share them.
#pragma once

#include <cstdint>

namespace sconce::compiled {

// Of a tensor. on_device is in files of a device alone.
enum TensorFlags : uint8_t { kWrapped = 1, kOnDevice = 2 };

enum ArgumentKind : uint8_t { kValueArgument, kTensorArgument, kTensorsArgument };

// In the order of executor::Output::Kind.
enum TreeKind : uint8_t { kTensorTree, kConstantTree, kListTree, kTupleTree, kDictTree };
inline constexpr TreeKind kTreeKinds[] = {kTensorTree, kConstantTree, kListTree, kTupleTree, kDictTree};

}  // namespace sconce::compiled
