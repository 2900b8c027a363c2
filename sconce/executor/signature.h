// Signature: what a plan is specialised on, as words that are compared: the geometry of tensors among the arguments,
// the values of everything else, and the modes of the thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sconce/base/small_vector.h"
#include "sconce/types/value.h"

namespace sconce::executor {

using Words = SmallVector<uint64_t, 96>;  // of calls with up to 15 tensors of two dimensions

// Facts of TensorImpl::meta that do not matter: where memory ends, whether gradients are wanted (where they are
// recorded there is no plan), and whether the tensor is a view.
inline constexpr uint64_t kUnsigned = TensorImpl::whole_block | TensorImpl::requires_grad | TensorImpl::is_view;

// Appends what a plan may depend on. Tensors by geometry (their order is that of `tensors`), objects by identity. False
// if there is something whose kind is not known, a tensor that only kernels of its own understand, or one whose history
// would be recorded.
bool append_arguments(std::span<const Value> args, Words& words, SmallVector<TensorImpl*, 8>& tensors);

// The same of a value outside of the arguments, with tensors by identity.
bool append_identity(const Value& v, Words& words);

// Modes of this thread and of the process that results depend on. False if plans are not for them: autocast, traces,
// a provider of kernels.
bool append_modes(Words& words);
// The same as one word, never 0; 0: plans are not for them.
uint64_t modes_word();

// Whether autograd sees the calls of this thread. Inside of a differentiable region it does not, though gradients are
// on: one node stands for all of them.
bool records_gradients();

// Whether a tensor is an ordinary one: strided numbers in the CPU's memory.
bool is_plain(const Tensor& t);

}  // namespace sconce::executor
