// Tape: the linear trace of one run of a function: the operators that it called, in order, over tensors whose geometry
// is known. Numbers, containers, branches and loops are gone: they were decided by what the guards of the plan repeat.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sconce/base/small_vector.h"
#include "sconce/dispatch/op.h"
#include "sconce/kernels/cpu/engine/loop.h"
#include "sconce/tensor/tensor.h"
#include "sconce/types/value.h"

namespace sconce::runtime {
struct Code;
}

namespace sconce::executor {

// The instruction of a program that called an operator. Only compared: the code may be gone.
struct Site {
  const runtime::Code* code = nullptr;
  size_t instruction = 0;
};

using ValueId = uint32_t;
using BlockId = uint32_t;
using NodeId = uint32_t;
inline constexpr uint32_t kNone = ~0u;
inline constexpr size_t kMostReturns = 8;  // of an operator; those with more are not recorded

// A tensor of the program.
struct TapeValue {
  Tensor twin;         // on Meta: dtype, sizes, strides
  BlockId block = 0;   // the memory in which it lies
  int64_t offset = 0;  // bytes from the block's origin to its first element
  Device device{};     // where the program has it
};

// Memory that tensors share. Inputs and constants have one each: no step of a plan writes to them.
struct TapeBlock {
  enum class Kind : uint8_t { input, constant, made } kind = Kind::made;
  ValueId first = kNone;  // the value at its origin: the input, the constant, or the first result that lies in it
  NodeId maker = kNone;
  Tensor constant;
};

// A few values, or nodes: most calls have one result, most values one reader.
using Numbers = SmallVector<uint32_t, 2>;

// Where a node has a tensor: argument `arg`, in a list of them element `item`.
struct TensorUse {
  uint32_t arg;
  int32_t item;  // -1: the argument itself
  ValueId value;
};

// How a pointwise operator ran: see loops::LoopCall, which is made of it.
struct PointwiseCall {
  const PointwiseLoops* loops = nullptr;
  DType common{}, result{};
  std::vector<ValueId> inputs;
  std::vector<Param> params;
};

struct BackendCall;  // of backends/taken_parts.h

struct TapeNode {
  const Op* op = nullptr;
  std::vector<Value> args;  // one per schema argument; tensors are None, and so are those in lists
  SmallVector<TensorUse, 4> uses;
  Numbers writes;        // tensors that it writes to
  Numbers result_sizes;  // per return: kNone: a tensor, else a list of so many
  Numbers results;       // kNone: undefined
  std::unique_ptr<PointwiseCall> pointwise;
  bool rearranges = false;                   // a copy to other strides, made by layouts.h
  std::shared_ptr<const BackendCall> taken;  // a part of the program that a backend compiled; null: a call of `op`
  Site site;
};

// What a function returns: a tensor of the tape, a constant, or a new container of such.
struct Output {
  enum class Kind : uint8_t { tensor, constant, list, tuple, dict } kind = Kind::constant;
  ValueId value = kNone;      // tensor
  Value constant;             // a number or a text
  std::vector<Output> items;  // of a dict: keys and values by turns
  // Of elements; of keys and values; of a named tuple, else null. Not owned: a plan goes before its program's types.
  TypePtr type = nullptr, value_type = nullptr;
};

// What is outside, is written, and gets its elements behind the last step: see write_back.h.
struct WriteBack {
  ValueId outside, inside;                          // an input or a constant; what it becomes
  BlockId shadow;                                   // of the copy that takes its place
  std::vector<std::pair<ValueId, ValueId>> copies;  // values outside, the same ones in the copy
};

struct Tape {
  std::vector<TapeValue> values;
  std::vector<TapeBlock> blocks;
  std::vector<TapeNode> nodes;
  std::vector<ValueId> inputs;  // the tensors among the arguments, in the order in which a signature finds them
  Output output;
  std::vector<WriteBack> write_backs;
  Device device;              // of all tensors but for some on the CPU beside them
  bool draws = false;         // random numbers
  bool records = false;       // autograd saw the calls, and had nothing to record
  std::vector<BlockId> read;  // constants whose elements decided something while recording
  // It comes from a file: whoever calls an operator looks whether the results are what the tape says.
  bool check_results = false;

  // A Meta tensor of this geometry.
  static Tensor twin_of(const Tensor& t);
  const Tensor& twin(ValueId v) const { return values[v].twin; }
  BlockId block_of(ValueId v) const { return values[v].block; }
  bool is_constant(ValueId v) const { return blocks[values[v].block].kind == TapeBlock::Kind::constant; }
  // The constant's own elements as the value sees them.
  Tensor constant(ValueId v) const;
  // The tensors of the output, in order, and then those that are written back.
  std::vector<ValueId> outputs() const;
  // Calls f for each of them, which may put another one in its place.
  void each_output(const std::function<void(ValueId&)>& f);
  // One line a node: "%5 = aten::relu(%4)  [2, 64] float32".
  std::string text() const;
  std::string node_text(NodeId n) const;
};

// "[2, 64] float32", and the strides unless they are contiguous.
std::string geometry_text(const Tensor& t);

// Arguments for a call of the node: `tensor(value)` gives each tensor.
template <class F>
std::vector<Value> arguments_with(const TapeNode& node, F&& tensor);

}  // namespace sconce::executor

template <class F>
std::vector<sconce::Value> sconce::executor::arguments_with(const TapeNode& node, F&& tensor) {
  std::vector<Value> args = node.args;
  for (const TensorUse& use : node.uses) {
    if (use.item < 0) {
      args[use.arg] = Value(Tensor(tensor(use.value)));
    } else {
      if (use.item == 0 || args[use.arg].counted() == node.args[use.arg].counted())
        args[use.arg] = Value(args[use.arg].to_list().copy());
      args[use.arg].to_list().set(static_cast<size_t>(use.item), Value(Tensor(tensor(use.value))));
    }
  }
  return args;
}
