// Rematerialisation: a large result that only nodes keep for backward is let go, where it can be computed again from
// what other nodes keep anyway, and is computed when the first of them reads it.
//
// Note [Results that are computed again]
// The gradient of gelu reads its argument, that of the product behind it its result: the second is one pass over the
// first away. So the result of a pointwise operator of one tensor whose node keeps that tensor, or a contiguous view of
// the whole result, is a candidate while nodes keep it. Whenever another one is found, and when backward begins, they
// are looked through: if nobody else owns a tensor over the memory, the memory goes, and the nodes share a Recomputed
// in its place. Nor may, on the CPU, anybody else own the argument: who could write to it would change what others
// need. The same is done to the first result of an operator NAME for which the table has sconce::again_NAME (its
// arguments and results but the first, which it gives once more, to the bit), and to what a pointwise operator of one
// argument makes of it: a rectified norm follows from the result of the convolution in front and its statistics, which
// it is therefore normalised with as they are kept. Not where saved-tensor hooks are on, for results that were written
// since, or where the operators ran on different streams: memory that goes early may be given away while another stream
// reads it. SCONCE_RECOMPUTE=off lets nothing go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/base/export.h"
#include "sconce/dispatch/op.h"
#include "sconce/types/value.h"

namespace sconce::autograd {

// How a node computes its first result again.
struct Again {
  const Op* op;
  std::vector<Value> args;
  std::vector<SavedTensor> saved;  // its arguments that are tensors: they must not be written
  bool is_pointwise = false;       // the operator itself, of the tensor that the node keeps
  bool is_on_cpu = false;
  int64_t stream = 0;
};

// Null where the operator or the result is none for it. `keeps_first`: the node keeps the first argument.
std::unique_ptr<Again> make_again(const Op& op, const Value* args, const Value* results, bool keeps_first);

// Whether a tensor is worth it: large, and all of the memory that it lies in.
bool is_worth_recomputing(const Tensor& t);

// Lets go of all results that can go. Before backward: what held them in the program may be gone.
void let_go_results();

// Whether a strided tensor of any device has as many bytes as set_recompute_bytes says.
bool is_large_enough_to_recompute(const Tensor& t);

// The least bytes of a result that is let go, 1 MB; -1: none is. For tests.
SCONCE_API int64_t set_recompute_bytes(int64_t bytes);

}  // namespace sconce::autograd
