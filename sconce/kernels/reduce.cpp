#include "sconce/kernels/reduce.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/engine/reduce_engine.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

constexpr int kMaxRank = 64;

Param to_param(const Scalar& s) {
  switch (s.tag()) {
    case Scalar::Tag::boolean:
    case Scalar::Tag::integer:
      return Param::from_int(s.to_int());
    case Scalar::Tag::real:
      return Param::from_float(s.to_double());
    case Scalar::Tag::complex:
      return Param::from_complex(s.to_complex().real(), s.to_complex().imag());
  }
  fail("unknown scalar tag");
}

DType common_dtype(const ReduceRule& rule, const Tensor& self, std::optional<DType> dtype, const Tensor* const* outs) {
  if (rule.dtype == ReduceDType::predicate) return DType::bool_;
  if (!dtype && outs && (rule.dtype == ReduceDType::sum || rule.dtype == ReduceDType::floating) &&
      rule.results[0] == ResultRule::common && rule.loops->results == 1)
    dtype = outs[0]->dtype();
  const DType own = dtype.value_or(self.dtype());
  switch (rule.dtype) {
    case ReduceDType::sum:
      return dtype || category(own) >= Category::floating ? own : DType::int64;
    case ReduceDType::floating:
      if (category(own) < Category::floating) {
        SCONCE_CHECK(!dtype,
                     "{}(): could not infer output dtype. Optional dtype must be either a floating point or complex "
                     "dtype. Got: {}",
                     rule.name, dtype_legacy_name(own));
        fail(
            "{}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {}",
            rule.name, dtype_legacy_name(own));
      }
      return own;
    case ReduceDType::promoted:
      return category(own) < Category::floating ? default_dtype() : own;
    default:
      return own;
  }
}

DType result_dtype(ResultRule result, DType common, DType input) {
  switch (result) {
    case ResultRule::common:
      return common;
    case ResultRule::predicate:
      return input == DType::uint8 ? DType::uint8 : DType::bool_;
    case ResultRule::index:
      return DType::int64;
    case ResultRule::real:
      return real_dtype(common);
  }
  return common;
}

// Which dims are reduced.
void mark_reduced(const ReduceRule& rule, int64_t rank, const ReduceAxes& axes, bool* reduced) {
  SCONCE_CHECK(rank <= kMaxRank, "{}(): only tensors with up to {} dims are supported", rule.name, kMaxRank);
  const bool all = !axes.given || (axes.dims.empty() && !rule.empty_list_is_none);
  for (int64_t d = 0; d < rank; ++d) reduced[d] = all;
  for (const int64_t dim : axes.dims) {
    const int64_t d = wrap_dim(dim, rank);
    if (rank == 0) continue;
    SCONCE_CHECK(!reduced[d], "dim {} appears multiple times in the list of dims", d);
    reduced[d] = true;
  }
}

void check_not_empty(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes, const bool* reduced) {
  if (!rule.empty_is_error || self.numel() != 0) return;
  const bool all = !axes.given || axes.dims.empty();
  SCONCE_CHECK(
      !all,
      "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
      "'dim' argument.",
      rule.name);
  for (int64_t d = 0; d < self.dim(); ++d) {
    SCONCE_CHECK_AS(index, !reduced[d] || self.sizes()[d] != 0,
                    "{}(): Expected reduction dim {} to have non-zero size.", rule.name, d);
  }
}

Dims result_sizes(const Tensor& self, const bool* reduced, bool keepdim) {
  Dims sizes;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!reduced[d]) {
      sizes.push_back(self.sizes()[d]);
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

void run(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes, std::optional<DType> dtype,
         const Scalar* numbers, Tensor* results, const Tensor* const* outs) {
  const ReduceLoops& loops = *rule.loops;
  bool reduced[kMaxRank];
  mark_reduced(rule, self.dim(), axes, reduced);
  const DType common = common_dtype(rule, self, dtype, outs);
  const bool taken =
      (self.is_meta() || (limited_set(common) & ~rule.dtypes) == 0) && !is_quantized(common) && common != kComplex32;
  SCONCE_CHECK_AS(not_implemented, taken && has_reduction(loops, common), "\"{}\" not implemented for '{}'", loops.name,
                  dtype_legacy_name(common));
  check_not_empty(rule, self, axes, reduced);
  const Dims sizes = result_sizes(self, reduced, axes.keepdim);
  for (int r = 0; r < loops.results; ++r)
    results[r] = empty_tensor(sizes, result_dtype(rule.results[r], common, self.dtype()), self.device());
  if (self.is_meta()) return;

  Param params[kMaxLoopParams];
  for (int i = 0; i < loops.params; ++i) params[i] = to_param(numbers[i]);
  Dims strides[kMaxReduceResults];
  Operand operands[kMaxReduceResults];
  for (int r = 0; r < loops.results; ++r) {
    const IntList own = results[r].strides();
    size_t at = 0;
    for (int64_t d = 0; d < self.dim(); ++d) {
      const bool present = !reduced[d] || axes.keepdim;
      strides[r].push_back(reduced[d] ? 0 : own[at]);
      at += present;
    }
    operands[r] = {results[r].data(), results[r].dtype(), strides[r].data()};
  }
  if (results[0].numel() == 0) return;
  const ReduceCall call{loops,
                        common,
                        {self.sizes().data(), self.sizes().size()},
                        reduced,
                        {self.data(), self.dtype(), self.strides().data()},
                        {operands, loops.results},
                        params};
#ifdef SCONCE_SMALL  // as in pointwise.cpp
  run_reduce(call.loops, call.common, call.sizes, call.reduced, call.in, call.out, call.params);
#else
  backend_of(self.device()).reduce(call, self.device());
#endif
}

// A small contiguous tensor on the CPU to one number, without a detour.
bool try_dense(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes, std::optional<DType> dtype,
               const Scalar* numbers, Tensor* result) {
  const int64_t rank = self.dim();
  if (axes.keepdim || dtype || !self.is_contiguous() || self.device().type != DeviceType::cpu || self.numel() == 0 ||
      self.numel() > kLeafElements)
    return false;
  if (axes.given && !(rank == 1 && axes.dims.size() == 1 && (axes.dims[0] == 0 || axes.dims[0] == -1))) return false;
  const DType input = self.dtype();
  if (input != DType::float32 && input != DType::float64 &&
      (input != DType::int64 || rule.dtype >= ReduceDType::floating))
    return false;
  if (rule.dtype == ReduceDType::predicate) return false;
  Param params[kMaxLoopParams];
  for (int i = 0; i < rule.loops->params; ++i) params[i] = to_param(numbers[i]);
  Tensor out = empty_tensor({}, result_dtype(rule.results[0], input, input), self.device());
  if (!run_reduce_dense(*rule.loops, input, self.data(), self.numel(), out.data(), out.dtype(), params)) return false;
  *result = std::move(out);
  return true;
}

}  // namespace

Tensor reduce(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes, std::optional<DType> dtype,
              const Scalar* numbers) {
  Tensor result;
  if (!try_dense(rule, self, axes, dtype, numbers, &result)) run(rule, self, axes, dtype, numbers, &result, nullptr);
  return result;
}

std::tuple<Tensor, Tensor> reduce_pair(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes,
                                       std::optional<DType> dtype, const Scalar* numbers) {
  Tensor results[2];
  run(rule, self, axes, dtype, numbers, results, nullptr);
  return {std::move(results[0]), std::move(results[1])};
}

void reduce_out(const ReduceRule& rule, const Tensor& self, const ReduceAxes& axes, std::optional<DType> dtype,
                const Scalar* numbers, const Tensor* const* outs) {
  Tensor results[kMaxReduceResults];
  run(rule, self, axes, dtype, numbers, results, outs);
  for (int r = 0; r < rule.loops->results; ++r) {
    SCONCE_CHECK(rule.dtype != ReduceDType::self || rule.results[r] != ResultRule::common ||
                     outs[r]->dtype() == results[r].dtype(),
                 "Expected the dtype for input and out to match, but got {} for input's dtype and {} for out's dtype.",
                 dtype_legacy_name(self.dtype()), dtype_legacy_name(outs[r]->dtype()));
    copy_to_out(*outs[r], results[r]);
  }
}

}  // namespace sconce
