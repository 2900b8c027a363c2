#include "sconce/kernels/pointwise.h"

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/base/weak.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/contiguous.h"
#include "sconce/kernels/float8_number.h"
#include "sconce/kernels/pointwise_probe.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"

namespace sconce {

thread_local constinit PointwiseProbe* pointwise_probe = nullptr;

Dims ordered_strides(IntList sizes, const Dims* strides, int inputs) {
  const auto rank = static_cast<int64_t>(sizes.size());
  Dims order;
  for (int64_t d = rank - 1; d >= 0; --d) order.push_back(d);
  const auto compare = [&](int64_t a, int64_t b) {  // 1: a belongs outside of b
    for (int i = 0; i < inputs; ++i) {
      const int64_t x = strides[i][a], y = strides[i][b];
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  for (int64_t i = 1; i < rank; ++i) {
    int64_t at = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      const int c = compare(order[j], order[at]);
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  return dense_strides_in_order(sizes, order);
}

SCONCE_WEAK Scalar as_float8(const Scalar& s, DType common) {
  uint8_t element;
  store_scalar(&element, common, s);
  return load_scalar(&element, common);
}

namespace {

SCONCE_VARIANT(same_order, "pointwise.same_order", "dense operands of one geometry: the result has it too");

Param to_param(const Scalar& s) {
  if (s.is_integral() || s.is_bool()) return Param::from_int(s.integer());
  if (s.is_real()) return Param::from_float(s.real());
  return Param::from_complex(s.to_complex().real(), s.to_complex().imag());
}
// The same of a number that is not complex, written where it shall be: a Param that is returned and copied is read in
// wider pieces than it was just written in, which stalls.
SCONCE_INLINE void write_param(const Scalar& s, Param& to) {
  if (s.is_integral() || s.is_bool()) {
    to.real = static_cast<double>(s.integer());
    to.integer = s.integer();
  } else {
    to.real = s.real();
    to.integer = Param::from_float(s.real()).integer;
  }
  to.imag = 0;
}

bool is_floating_rule(DTypeRule rule) { return rule == DTypeRule::floating || rule == DTypeRule::wide; }

// A number beside integers becomes one of their dtype: -1 is 255 for uint8.
int64_t wrapped(int64_t v, DType common) {
  switch (common) {
    case DType::uint8:
      return static_cast<uint8_t>(v);
    case DType::int8:
      return static_cast<int8_t>(v);
    case DType::int16:
      return static_cast<int16_t>(v);
    case DType::uint16:
      return static_cast<uint16_t>(v);
    case DType::uint32:
      return static_cast<uint32_t>(v);
    default:
      return v;
  }
}

DType common_dtype(const PointwiseRule& rule, const Tensor* const* in, const Scalar* params) {
  const PointwiseLoops& loops = *rule.loops;
  DType common;
  if (rule.dtype == DTypeRule::self) {
    common = in[0]->dtype();
    for (int i = 0; i < loops.params; ++i) check_fits(params[i], common);  // no number widens the result
  } else {
    ResultType type;
    for (int i = 0; i < loops.inputs; ++i) {
      if (rule.promoting_inputs >> i & 1) type.add(*in[i]);
    }
    for (int i = 0; i < loops.params; ++i) {
      if (rule.promoting_params >> i & 1) type.add(params[i]);
    }
    common = type.get();
    if (is_floating_rule(rule.dtype) && category(common) < Category::floating) common = default_dtype();
  }
  for (int i = 0; i < loops.params; ++i) {
    if (!(rule.integral_params >> i & 1)) continue;
    SCONCE_CHECK(!params[i].is_bool() || common == DType::bool_, "Boolean alpha only supported for Boolean results");
    SCONCE_CHECK(category(common) >= Category::floating || params[i].is_integral() || params[i].is_bool(),
                 "For integral input tensors, argument alpha must not be a floating point number");
    SCONCE_CHECK(is_complex(common) || !params[i].is_complex(),
                 "For non-complex input tensors, argument alpha must not be a complex number");
  }
  return common;
}

// Note [Limited dtypes] in dtype.h.
bool takes(const PointwiseRule& rule, DType common, const Tensor* const* in) {
  if (!is_limited(common)) return true;
  if ((limited_set(common) & ~rule.dtypes) != 0) return false;
  return !(rule.dtypes & kLimitedTensors) || !is_float8(common) || in[1]->numel() != 1;
}

DType result_dtype(const PointwiseLoops& loops, DType common) {
  switch (loops.result) {
    case LoopResult::common:
      return common;
    case LoopResult::boolean:
      return DType::bool_;
    case LoopResult::real:
      return real_dtype(common);
  }
  return common;
}

bool same_geometry(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && a.strides() == b.strides(); }

Device common_device(const PointwiseLoops& loops, const Tensor* const* in) {
  Device device = in[0]->device();
  bool scalar = in[0]->dim() == 0;
  for (int i = 1; i < loops.inputs; ++i) {
    const Device d = in[i]->device();
    if (d == device) {
      scalar &= in[i]->dim() == 0;
      continue;
    }
    if (in[i]->dim() == 0 && d.type == DeviceType::cpu) continue;  // a number may join any device
    SCONCE_CHECK(scalar && device.type == DeviceType::cpu,
                 "Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
                 to_string(device), to_string(d));
    device = d;
    scalar = false;
  }
  return device;
}

enum class Target { fresh, inplace, out };

SCONCE_COLD void report(PointwiseProbe& probe, const PointwiseRule& rule, DType common, const Tensor* const* in,
                        const Param* params, DType result) {
  ++probe.calls;
  probe.rule = &rule;
  probe.common = common;
  probe.result = result;
  for (int i = 0; i < rule.loops->inputs; ++i) probe.inputs[i] = in[i]->impl();
  for (int i = 0; i < rule.loops->params; ++i) probe.params[i] = params[i];
}

Tensor run(const PointwiseRule& rule, const Tensor* const* in, const Scalar* numbers, Target target,
           const Tensor& given) {
  const PointwiseLoops& loops = *rule.loops;
  const int inputs = loops.inputs;
  const Device device = common_device(loops, in);
  const DType common = common_dtype(rule, in, numbers);
  // complex32 has no loops: a loop for complex64 would be taken, and would read twice the memory.
  const bool refused = common == kComplex32 || (rule.dtype == DTypeRule::wide && is_reduced_float(common)) ||
                       (device.type != DeviceType::meta && !takes(rule, common, in));
  SCONCE_CHECK_AS(not_implemented, has_loop(loops, common) && !refused, "\"{}\" not implemented for '{}'", loops.name,
                  dtype_legacy_name(common));
  const DType result = result_dtype(loops, common);
  Param params[kMaxLoopParams];
  for (int i = 0; i < loops.params; ++i) {
    params[i] =
        to_param(is_float8(common) && (rule.promoting_params >> i & 1) ? as_float8(numbers[i], common) : numbers[i]);
    params[i].integer = wrapped(params[i].integer, common);
  }

  // Sizes
  Dims sizes(in[0]->sizes());
  bool all_same = true;
  for (int i = 1; i < inputs; ++i) {
    if (in[i]->sizes() == IntList(sizes)) continue;
    all_same = false;
    sizes = broadcast_sizes(sizes, in[i]->sizes());
  }

  // Result
  Tensor out;
  Dims strides[kMaxLoopInputs];
  for (int i = 0; i < inputs; ++i) strides[i] = expanded_strides(in[i]->sizes(), in[i]->strides(), sizes);
  if (target == Target::fresh) {
    bool same = all_same && in[0]->is_dense();
    for (int i = 1; i < inputs && same; ++i) same = same_geometry(*in[0], *in[i]);
    if (same_order(same)) {
      out = in[0]->is_contiguous() ? empty_tensor(sizes, result, device)
                                   : empty_strided_tensor(sizes, in[0]->strides(), result, device);
    } else {
      out = empty_strided_tensor(sizes, ordered_strides(sizes, strides, inputs), result, device);
    }
  } else {
    SCONCE_CHECK(can_cast(result, given.dtype()), "result type {} can't be cast to the desired output type {}",
                 dtype_legacy_name(result), dtype_legacy_name(given.dtype()));
    SCONCE_CHECK(given.device() == device || (target == Target::inplace && device.type == DeviceType::cpu),
                 "Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
                 to_string(given.device()), to_string(device));
    check_no_internal_overlap(given);
    if (!(given.sizes() == IntList(sizes))) {
      SCONCE_CHECK(target == Target::out, "output with shape {} doesn't match the broadcast shape {}", given.sizes(),
                   sizes);
      resize_tensor(given, sizes);
    }
    for (int i = 0; i < inputs; ++i) check_no_partial_overlap(given, *in[i]);
    out = given;
  }
  if (!out.is_meta() && out.numel() != 0) {
    Operand operands[kMaxLoopInputs];
    uint32_t on_host = 0;
    for (int i = 0; i < inputs; ++i) {
      operands[i] = {in[i]->data(), in[i]->dtype(), strides[i].data()};
      if (in[i]->device().type == DeviceType::cpu) on_host |= 1u << i;
    }
    const PointwiseCall call{loops,
                             common,
                             {sizes.data(), sizes.size()},
                             {out.data(), out.dtype(), out.strides().data()},
                             {operands, static_cast<size_t>(inputs)},
                             params,
                             on_host};
#ifdef SCONCE_SMALL  // one device: without the table the linker sees which engines are used
    run_pointwise(call.loops, call.common, call.sizes, call.out, call.in, call.params);
#else
    backend_of(out.device()).pointwise(call, out.device());
#endif
  }
  if (pointwise_probe && out.is_meta()) [[unlikely]]
    report(*pointwise_probe, rule, common, in, params, out.dtype());
  if (target != Target::fresh) out.bump_version();
  return out;
}

bool same_sizes(const TensorImpl& a, const TensorImpl& b, int rank) {
  for (int i = 0; i < rank; ++i) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

// True when the numbers that take part in promotion leave a tensor of this dtype as it is: a float beside floats, an
// integer beside all but bools.
bool keeps_dtype(const PointwiseRule& rule, DType dtype, const Scalar* numbers) {
  for (int i = 0; i < rule.loops->params; ++i) {
    if (!(rule.promoting_params >> i & 1)) continue;
    if (numbers[i].is_real()       ? !is_floating(dtype)
        : numbers[i].is_integral() ? dtype == DType::bool_
                                   : !numbers[i].is_bool()) {
      return false;
    }
  }
  return true;
}

// The common case on the CPU without a detour: contiguous operands of one shape and a dtype that has loops of its own.
// Returns false when something is special; then the general way decides.
bool try_dense(const PointwiseRule& rule, const Tensor* const* in, const Scalar* numbers, Tensor* fresh,
               const Tensor* given) {
  const PointwiseLoops& loops = *rule.loops;
  const TensorImpl& a = *in[0]->impl();
  const DType dtype = in[0]->dtype();
  const uint8_t direct = kDirect[static_cast<size_t>(dtype)];
  const int rank = static_cast<int>(in[0]->dim());
  if (loops.mask_inputs != 0 || direct == 0 || rank > TensorImpl::kInlineRank) return false;
  if (storages_moved.load(std::memory_order_relaxed)) [[unlikely]]
    return false;  // TensorImpl::data and whole_block may be out of date
  if (rule.promoting_params != 0 && !keeps_dtype(rule, dtype, numbers)) return false;
  if (is_floating_rule(rule.dtype) && !is_floating(dtype)) return false;
  const auto compute = static_cast<Compute>(direct - 1);
  const int level = cpu_level() - 2;
  if (loops.loops[level][static_cast<int>(compute)] == nullptr) return false;

  uint64_t common = a.meta;  // bits that all have
  uint64_t differs = 0;      // bits that some have
  const void* data[kMaxLoopInputs] = {a.data};
  for (int i = 1; i < loops.inputs; ++i) {
    const TensorImpl& b = *in[i]->impl();
    differs |= a.meta ^ b.meta;
    common &= b.meta;
    if ((differs & TensorImpl::kSameMask) || !same_sizes(a, b, rank)) return false;
    data[i] = b.data;
  }
  if (!(common & TensorImpl::contiguous) || (differs & TensorImpl::wrapped_number) ||
      !(a.meta & KeySet(Key::cpu).bits()))
    return false;

  Param params[kMaxLoopParams + 1];
  for (int i = 0; i < loops.params; ++i) {
    if (numbers[i].is_complex() ||
        ((rule.integral_params >> i & 1) && !is_floating(dtype) && !numbers[i].is_integral()))
      return false;
    write_param(numbers[i], params[i]);
  }
  const DType result = loops.result == LoopResult::boolean ? DType::bool_ : dtype;
  if (!given) {
    *fresh = empty_same_shape(*in[0], result);
    run_contiguous(loops, level, compute, *fresh->impl(), data, params,
                   common & fresh->impl()->meta & TensorImpl::whole_block);
    return true;
  }
  const TensorImpl& o = *given->impl();
  constexpr uint64_t kSame = TensorImpl::kSameMask & ~(0xffull << TensorImpl::kDTypeAt);
  if (((a.meta ^ o.meta) & (kSame | TensorImpl::contiguous)) || result != given->dtype() || !same_sizes(a, o, rank))
    return false;
  for (int i = 0; i < loops.inputs; ++i) {
    if (in[i]->storage() == o.storage) check_no_partial_overlap(*given, *in[i]);
  }
  run_contiguous(loops, level, compute, o, data, params, common & o.meta & TensorImpl::whole_block);
  given->bump_version();
  return true;
}

}  // namespace

Tensor pointwise(const PointwiseRule& rule, const Tensor* const* in, const Scalar* params) {
  Tensor fresh;
  if (try_dense(rule, in, params, &fresh, nullptr)) return fresh;
  return run(rule, in, params, Target::fresh, {});
}

void pointwise_inplace(const PointwiseRule& rule, const Tensor* const* in, const Scalar* params) {
  if (!try_dense(rule, in, params, nullptr, in[0])) run(rule, in, params, Target::inplace, *in[0]);
}

void pointwise_out(const PointwiseRule& rule, const Tensor* const* in, const Scalar* params, const Tensor& out) {
  if (!try_dense(rule, in, params, nullptr, &out)) run(rule, in, params, Target::out, out);
}

}  // namespace sconce
