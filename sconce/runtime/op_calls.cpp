#include "sconce/runtime/op_calls.h"

#include "sconce/dispatch/argument_keys.h"
#include "sconce/runtime/bytecode/slots.h"

namespace sconce::runtime {
namespace {

constexpr uint64_t kTensor = tag_word(Tag::tensor);

// Releases the values that are left in a run of slots.
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

// Note [Dying buffers]
// A pointwise operator may write over an argument whose last use it is, when tensor and memory are owned by that
// register alone, belong to the allocator (not to a file or to numpy), are dense floats and nothing else is attached:
// no gradient, no Python object, no other key.
bool is_ours(const Tensor& x, KeySet keys) {
  const TensorImpl& t = *x.impl();
  constexpr uint64_t kPlain = TensorImpl::is_view | TensorImpl::requires_grad | TensorImpl::wrapped_number;
  if (keys != KeySet(Key::cpu) || !(t.meta & TensorImpl::contiguous) || (t.meta & kPlain)) return false;
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64) return false;
  // A result made in inference mode is an inference tensor, others are not.
  if (static_cast<bool>(t.meta & TensorImpl::inference) != thread_modes.inference) return false;
  if (!t.count.unique() || t.autograd || t.python || t.extra) return false;
  const Storage& s = *t.storage;
  return s.count.unique() && (s.kind == Storage::Kind::inline_ || s.kind == Storage::Kind::pooled) && !s.read_only &&
         s.data == t.data && s.nbytes == static_cast<size_t>(t.numel) * x.item_size();
}

// The same sizes, dtype and order in memory, so that the result is like x.
bool is_alike(const Tensor& x, const Tensor& y) {
  constexpr uint64_t kSame = TensorImpl::kSameMask | TensorImpl::contiguous | TensorImpl::wrapped_number;
  return !((x.impl()->meta ^ y.impl()->meta) & kSame) && x.sizes() == y.sizes();
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
  const KeySet keys = active_keys(argument_keys(op, &value_of(args[0]), count));
  const char* kernel = kernel_for(op, keys);
  const Cleanup results_left{out, out + results};
  if (is_boxed(kernel)) {
    if (keys.has(Key::autograd) && call.met_grad && !call.met_grad->load(std::memory_order_relaxed)) [[unlikely]]
      call.met_grad->store(true, std::memory_order_relaxed);
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

// The six signatures differ in the arguments of the kernel. `in_place` is the twin's kernel
// over the same arguments.
#define SCONCE_CALL(result_of, in_place_of)                   \
  const char* kernel = kernel_for(*call.op, keys);            \
  if (is_boxed(kernel)) [[unlikely]]                          \
    return call_operator(base, call, window);                 \
  if (reuse) {                                                \
    const char* twin = kernel_for(*call.in_place, keys);      \
    if (!is_boxed(twin)) {                                    \
      in_place_of;                                            \
      tensor_of(x).storage()->version = 0; /* a new tensor */ \
      Slot kept;                                              \
      move_slot(kept, x);                                     \
      return copy_words(slot_at(base, i.a), kept);            \
    }                                                         \
  }                                                           \
  Tensor out = result_of

void call_t(Slot* base, const Instruction& i, Slot* window) {
  Slot& x = slot_at(base, i.b & ~kMoves);
  const OpCall& call = *i.op_call;
  if (x.tag != kTensor) [[unlikely]]
    return call_operator(base, call, window);
  const KeySet keys = active_keys(keys_of(x));
  const bool reuse = call.in_place && is_ours(tensor_of(x), keys);
  SCONCE_CALL((typed<Tensor (*)(KeySet, const Tensor&)>(kernel)(keys, tensor_of(x))),
              (typed<void (*)(KeySet, const Tensor&)>(twin)(keys, tensor_of(x))));
  drop_moved(x, i.b);
  put_tensor(slot_at(base, i.a), std::move(out));
}

void call_tt(Slot* base, const Instruction& i, Slot* window) {
  Slot& x = slot_at(base, i.b & ~kMoves);
  Slot& y = slot_at(base, i.c & ~kMoves);
  const OpCall& call = *i.op_call;
  if (x.tag != kTensor || y.tag != kTensor) [[unlikely]]
    return call_operator(base, call, window);
  const KeySet keys = active_keys(keys_of(x) | keys_of(y));
  const bool reuse = call.in_place && is_ours(tensor_of(x), keys) && is_alike(tensor_of(x), tensor_of(y));
  using Fn = Tensor (*)(KeySet, const Tensor&, const Tensor&);
  using Twin = void (*)(KeySet, const Tensor&, const Tensor&);
  SCONCE_CALL(typed<Fn>(kernel)(keys, tensor_of(x), tensor_of(y)),
              (typed<Twin>(twin)(keys, tensor_of(x), tensor_of(y)), drop_moved(y, i.c)));
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
  const bool reuse = call.in_place && call.constant_numbers && is_ours(tensor_of(x), keys);
  using Fn = Tensor (*)(KeySet, const Tensor&, const Scalar&);
  using Twin = void (*)(KeySet, const Tensor&, const Scalar&);
  SCONCE_CALL(call.constant_numbers ? typed<Fn>(kernel)(keys, tensor_of(x), call.numbers[0])
                                    : typed<Fn>(kernel)(keys, tensor_of(x), value_of(s).to_scalar()),
              typed<Twin>(twin)(keys, tensor_of(x), call.numbers[0]));
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
  const bool reuse =
      call.in_place && call.constant_numbers && is_ours(tensor_of(x), keys) && is_alike(tensor_of(x), tensor_of(y));
  using Fn = Tensor (*)(KeySet, const Tensor&, const Tensor&, const Scalar&);
  using Twin = void (*)(KeySet, const Tensor&, const Tensor&, const Scalar&);
  SCONCE_CALL(call.constant_numbers ? typed<Fn>(kernel)(keys, tensor_of(x), tensor_of(y), call.numbers[0])
                                    : typed<Fn>(kernel)(keys, tensor_of(x), tensor_of(y), value_of(s).to_scalar()),
              (typed<Twin>(twin)(keys, tensor_of(x), tensor_of(y), call.numbers[0]), drop_moved(y, i.c)));
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
  const bool reuse = call.in_place && call.constant_numbers && is_ours(tensor_of(x), keys);
  using Fn = Tensor (*)(KeySet, const Tensor&, const Scalar&, const Scalar&);
  using Twin = void (*)(KeySet, const Tensor&, const Scalar&, const Scalar&);
  SCONCE_CALL(call.constant_numbers
                  ? typed<Fn>(kernel)(keys, tensor_of(x), call.numbers[0], call.numbers[1])
                  : typed<Fn>(kernel)(keys, tensor_of(x), value_of(s).to_scalar(), value_of(t).to_scalar()),
              typed<Twin>(twin)(keys, tensor_of(x), call.numbers[0], call.numbers[1]));
  drop_moved(x, i.b);
  put_tensor(slot_at(base, i.a), std::move(out));
}
#undef SCONCE_CALL

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
