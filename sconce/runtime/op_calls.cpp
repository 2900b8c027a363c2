#include "sconce/runtime/op_calls.h"

#include "sconce/dispatch/argument_keys.h"
#include "sconce/runtime/slots.h"

namespace sconce::runtime {
namespace {

constexpr uint64_t kTensor = tag_word(Tag::tensor);

// Releases what is left in a run of slots.
struct Cleanup {
  Slot* from;
  Slot* to;
  ~Cleanup() {
    for (Slot* s = from; s != to; ++s) release_slot(*s);
  }
};

SCONCE_INLINE const Tensor& tensor_of(const Slot& s) { return value_of(s).to_tensor(); }
SCONCE_INLINE KeySet keys_of(const Slot& s) { return tensor_of(s).keys(); }
// Complex numbers, which are counted, take the general way.
SCONCE_INLINE bool is_number(const Slot& s) { return s.tag < kFirstCounted && s.tag != kNoneTag; }
SCONCE_INLINE void drop_moved(Slot& s, uint32_t operand) {
  if (operand & kMoves) release_slot(s);
}
SCONCE_INLINE void put_tensor(Slot& to, Tensor&& t) {
  TensorImpl* p = t.leak();
  to.bits = reinterpret_cast<uint64_t>(p);
  to.tag = p ? kTensor : kNoneTag;
}
template <class Fn>
SCONCE_INLINE Fn typed(const char* kernel) {
  return reinterpret_cast<Fn>(const_cast<char*>(kernel));
}

}  // namespace

void wrong_result(Tag got, Tag wanted) {
  fail_as(ErrorKind::type, "expected a result of type {}, got {}", tag_name(wanted), tag_name(got));
}

void call_operator(Slot* base, const OpCall& call, Slot* window) {
  const size_t count = call.args.size(), results = call.results.size();
  Slot* args = window;
  Slot* out = window + count;
  for (size_t i = 0; i < count; ++i) copy_words(args[i], slot_at(base, call.args[i] & ~kMoves));
  for (size_t i = 0; i < results; ++i) set_none(out[i]);
  const Op& op = *call.op;
  const KeySet keys = active_keys(argument_keys(&value_of(args[0]), count));
  const char* kernel = kernel_for(op, keys);
  const Cleanup results_left{out, out + results};
  if (is_boxed(kernel)) {
    for (size_t i = 0; i < count; ++i) {
      if (call.args[i] & kMoves)
        set_none(slot_at(base, call.args[i] & ~kMoves));
      else
        retain_slot(args[i]);
    }
    const Cleanup args_left{args, args + count};
    boxed_kernel(kernel)(op, keys, &value_of(args[0]), &value_of(out[0]));
  } else {
    SCONCE_ASSERT(op.box != nullptr);
    op.box(kernel, keys, &value_of(args[0]), &value_of(out[0]));
    for (size_t i = 0; i < count; ++i) {
      if (call.args[i] & kMoves) release_slot(slot_at(base, call.args[i] & ~kMoves));
    }
  }
  for (size_t i = 0; i < results; ++i) {
    if (call.results[i] != kNowhere)
      put_value(slot_at(base, call.results[i]), std::move(value_of(out[i])), call.result_tags[i]);
  }
}

void call_t(Slot* base, const Instruction& i, Slot* window) {
  Slot& x = slot_at(base, i.b & ~kMoves);
  if (x.tag != kTensor) [[unlikely]]
    return call_operator(base, *i.op_call, window);
  const KeySet keys = active_keys(keys_of(x));
  const char* kernel = kernel_for(*i.op_call->op, keys);
  if (is_boxed(kernel)) [[unlikely]]
    return call_operator(base, *i.op_call, window);
  Tensor out = typed<Tensor (*)(KeySet, const Tensor&)>(kernel)(keys, tensor_of(x));
  drop_moved(x, i.b);
  put_tensor(slot_at(base, i.a), std::move(out));
}

void call_tt(Slot* base, const Instruction& i, Slot* window) {
  Slot& x = slot_at(base, i.b & ~kMoves);
  Slot& y = slot_at(base, i.c & ~kMoves);
  if (x.tag != kTensor || y.tag != kTensor) [[unlikely]]
    return call_operator(base, *i.op_call, window);
  const KeySet keys = active_keys(keys_of(x) | keys_of(y));
  const char* kernel = kernel_for(*i.op_call->op, keys);
  if (is_boxed(kernel)) [[unlikely]]
    return call_operator(base, *i.op_call, window);
  Tensor out = typed<Tensor (*)(KeySet, const Tensor&, const Tensor&)>(kernel)(keys, tensor_of(x), tensor_of(y));
  drop_moved(x, i.b);
  drop_moved(y, i.c);
  put_tensor(slot_at(base, i.a), std::move(out));
}

void call_ts(Slot* base, const Instruction& i, Slot* window) {
  Slot& x = slot_at(base, i.b & ~kMoves);
  const Slot& s = slot_at(base, i.c & ~kMoves);
  const OpCall& call = *i.op_call;
  if (x.tag != kTensor || !is_number(s)) [[unlikely]]
    return call_operator(base, call, window);
  const KeySet keys = active_keys(keys_of(x));
  const char* kernel = kernel_for(*call.op, keys);
  if (is_boxed(kernel)) [[unlikely]]
    return call_operator(base, call, window);
  const auto fn = typed<Tensor (*)(KeySet, const Tensor&, const Scalar&)>(kernel);
  Tensor out =
      call.constant_numbers ? fn(keys, tensor_of(x), call.numbers[0]) : fn(keys, tensor_of(x), value_of(s).to_scalar());
  drop_moved(x, i.b);
  put_tensor(slot_at(base, i.a), std::move(out));
}

void call_tts(Slot* base, const Instruction& i, Slot* window) {
  Slot& x = slot_at(base, i.b & ~kMoves);
  Slot& y = slot_at(base, i.c & ~kMoves);
  const OpCall& call = *i.op_call;
  const Slot& s = slot_at(base, call.args[2] & ~kMoves);
  if (x.tag != kTensor || y.tag != kTensor || !is_number(s)) [[unlikely]]
    return call_operator(base, call, window);
  const KeySet keys = active_keys(keys_of(x) | keys_of(y));
  const char* kernel = kernel_for(*call.op, keys);
  if (is_boxed(kernel)) [[unlikely]]
    return call_operator(base, call, window);
  const auto fn = typed<Tensor (*)(KeySet, const Tensor&, const Tensor&, const Scalar&)>(kernel);
  Tensor out = call.constant_numbers ? fn(keys, tensor_of(x), tensor_of(y), call.numbers[0])
                                     : fn(keys, tensor_of(x), tensor_of(y), value_of(s).to_scalar());
  drop_moved(x, i.b);
  drop_moved(y, i.c);
  put_tensor(slot_at(base, i.a), std::move(out));
}

void call_tss(Slot* base, const Instruction& i, Slot* window) {
  Slot& x = slot_at(base, i.b & ~kMoves);
  const Slot& s = slot_at(base, i.c & ~kMoves);
  const OpCall& call = *i.op_call;
  const Slot& t = slot_at(base, call.args[2] & ~kMoves);
  if (x.tag != kTensor || !is_number(s) || !is_number(t)) [[unlikely]]
    return call_operator(base, call, window);
  const KeySet keys = active_keys(keys_of(x));
  const char* kernel = kernel_for(*call.op, keys);
  if (is_boxed(kernel)) [[unlikely]]
    return call_operator(base, call, window);
  const auto fn = typed<Tensor (*)(KeySet, const Tensor&, const Scalar&, const Scalar&)>(kernel);
  Tensor out = call.constant_numbers ? fn(keys, tensor_of(x), call.numbers[0], call.numbers[1])
                                     : fn(keys, tensor_of(x), value_of(s).to_scalar(), value_of(t).to_scalar());
  drop_moved(x, i.b);
  put_tensor(slot_at(base, i.a), std::move(out));
}

void call_ttt(Slot* base, const Instruction& i, Slot* window) {
  Slot& x = slot_at(base, i.b & ~kMoves);
  Slot& y = slot_at(base, i.c & ~kMoves);
  const Operand third = i.op_call->args[2];
  Slot& z = slot_at(base, third & ~kMoves);
  if (x.tag != kTensor || y.tag != kTensor || (z.tag != kTensor && z.tag != kNoneTag)) [[unlikely]]
    return call_operator(base, *i.op_call, window);
  KeySet all = keys_of(x) | keys_of(y);
  if (z.tag == kTensor) all |= keys_of(z);
  const KeySet keys = active_keys(all);
  const char* kernel = kernel_for(*i.op_call->op, keys);
  if (is_boxed(kernel)) [[unlikely]]
    return call_operator(base, *i.op_call, window);
  using Fn = Tensor (*)(KeySet, const Tensor&, const Tensor&, const Tensor&);
  Tensor out = typed<Fn>(kernel)(keys, tensor_of(x), tensor_of(y), value_of(z).to_optional_tensor());
  drop_moved(x, i.b);
  drop_moved(y, i.c);
  drop_moved(z, third);
  put_tensor(slot_at(base, i.a), std::move(out));
}

}  // namespace sconce::runtime
