// Ranges on CUDA devices. Sizes, dtypes and what is refused come from the same operators on Meta.
#include <cmath>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/creation_cuda_kernels.h"
#include "sconce/kernels/any/tensor_options.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/range_arguments.cuh"

const Device kMeta(DeviceType::meta);

enum class Kind : uint8_t { steps, points, powers };

bool is_integer(const Scalar& s) { return s.is_integral() || s.is_bool(); }
i64 whole(const Scalar& s) { return is_integer(s) ? s.to_int() : static_cast<i64>(s.to_double()); }

void fill_range(const Tensor& out, Kind kind, const char* name, const Scalar& first, const Scalar& last_or_step,
                double base = 0) {
  const int64_t n = out.numel();
  if (n == 0) return;
  if (is_complex(out.dtype()) && kind != Kind::steps) {  // both parts; powers of the base follow from them
    const std::complex<double> from = first.to_complex(), to = last_or_step.to_complex();
    const DType real = real_dtype(out.dtype());
    const Tensor re = empty_tensor(out.sizes(), real, out.device()), im = empty_tensor(out.sizes(), real, out.device());
    fill_range(re, Kind::points, name, Scalar(from.real()), Scalar(to.real()));
    fill_range(im, Kind::points, name, Scalar(from.imag()), Scalar(to.imag()));
    const Tensor points = sconce::complex(re, im);
    sconce::copy_(out, kind == Kind::points ? points : sconce::pow(Scalar(base), points));
    return;
  }
  SCONCE_CHECK_AS(not_implemented, !is_complex(out.dtype()) && out.dtype() != DType::bool_,
                  "\"{}\" not implemented for '{}' on CUDA", name, dtype_legacy_name(out.dtype()));
  const Device device = out.device();
  const Tensor to = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), device);
  const bool integers = category(out.dtype()) <= Category::integral;
  RangeArguments a{};
  a.out = to.data();
  a.count = n;
  a.base = base;
  const auto number = [&](const Scalar& s) { return integers ? std::trunc(s.to_double()) : s.to_double(); };
  if (kind == Kind::steps) {
    a.first = first.to_double();
    a.step = last_or_step.to_double();
    if (integers) a.whole_first = whole(first), a.whole_step = whole(last_or_step);
  } else {
    a.first = number(first);
    a.last = number(last_or_step);
  }
  const struct {
    DType dtype;
    Kind kind;
    bool integers;
  } variant{out.dtype(), kind, integers};
  const Kernel& kernel = find_kernel(
      device, fmt::format("range/{}/{}", static_cast<int>(kind), static_cast<int>(out.dtype())),
      [&variant] {
        static constexpr const char* kDefines[] = {"STEPS", "POINTS", "POWERS"};
        return vocabulary(false, 0, false) +
               fmt::format("using Out = {};\nusing W = {};\n#define {} 1\n#define WHOLE {}\n",
                           stored_type(variant.dtype), variant.dtype == DType::float32 ? "float" : "double",
                           kDefines[static_cast<int>(variant.kind)], variant.integers ? "true" : "false") +
               std::string(text_file("range_arguments")) + std::string(text_file("range"));
      },
      "range");
  Shape shape;
  shape.grid_x = static_cast<unsigned>((n + 255) / 256);
  shape.block_x = 256;
  launch(device, kernel, shape, &a, sizeof a, name);
  if (!to.is_same(out)) sconce::copy_(out, to);
}

Tensor like(const Tensor& meta, OptDevice device) {
  return empty_tensor(meta.sizes(), meta.dtype(), resolve_device(device.value_or(Device(DeviceType::cuda))));
}

void fit(const Tensor& out, const Tensor& meta) {
  if (out.numel() != meta.numel()) sconce::resize_(out, meta.sizes());
}

}  // namespace

Tensor arange(const Scalar& end, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  const Tensor out = like(sconce::arange(end, dtype, layout, kMeta, pin_memory), device);
  fill_range(out, Kind::steps, "arange", Scalar(0), Scalar(1));
  return out;
}
Tensor arange_start(const Scalar& start, const Scalar& end, OptDType dtype, OptLayout layout, OptDevice device,
                    OptBool pin_memory) {
  const Tensor out = like(sconce::arange(start, end, dtype, layout, kMeta, pin_memory), device);
  fill_range(out, Kind::steps, "arange", start, Scalar(1));
  return out;
}
Tensor arange_start_step(const Scalar& start, const Scalar& end, const Scalar& step, OptDType dtype, OptLayout layout,
                         OptDevice device, OptBool pin_memory) {
  const Tensor out = like(sconce::arange(start, end, step, dtype, layout, kMeta, pin_memory), device);
  fill_range(out, Kind::steps, "arange", start, step);
  return out;
}
void arange_start_out(const Scalar& start, const Scalar& end, const Scalar& step, const Tensor& out) {
  fit(out, sconce::arange(start, end, step, out.dtype(), {}, kMeta, {}));
  fill_range(out, Kind::steps, "arange", start, step);
  out.bump_version();
}
void arange_out(const Scalar& end, const Tensor& out) { cuda::arange_start_out(Scalar(0), end, Scalar(1), out); }
Tensor range_step(const Scalar& start, const Scalar& end, const Scalar& step, OptDType dtype, OptLayout layout,
                  OptDevice device, OptBool pin_memory) {
  const Tensor out = like(sconce::range(start, end, step, dtype, layout, kMeta, pin_memory), device);
  fill_range(out, Kind::steps, "range", start, step);
  return out;
}
Tensor range(const Scalar& start, const Scalar& end, OptDType dtype, OptLayout layout, OptDevice device,
             OptBool pin_memory) {
  return cuda::range_step(start, end, Scalar(1), dtype, layout, device, pin_memory);
}
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, OptDType dtype, OptLayout layout,
                OptDevice device, OptBool pin_memory) {
  const Tensor out = like(sconce::linspace(start, end, steps, dtype, layout, kMeta, pin_memory), device);
  fill_range(out, Kind::points, "linspace", start, end);
  return out;
}
void linspace_out(const Scalar& start, const Scalar& end, int64_t steps, const Tensor& out) {
  fit(out, sconce::linspace(start, end, steps, out.dtype(), {}, kMeta, {}));
  fill_range(out, Kind::points, "linspace", start, end);
  out.bump_version();
}
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, OptDType dtype, OptLayout layout,
                OptDevice device, OptBool pin_memory) {
  const Tensor out = like(sconce::logspace(start, end, steps, base, dtype, layout, kMeta, pin_memory), device);
  fill_range(out, Kind::powers, "logspace", start, end, base);
  return out;
}
void logspace_out(const Scalar& start, const Scalar& end, int64_t steps, double base, const Tensor& out) {
  fit(out, sconce::logspace(start, end, steps, base, out.dtype(), {}, kMeta, {}));
  fill_range(out, Kind::powers, "logspace", start, end, base);
  out.bump_version();
}

// Ends that are tensors of no dimensions: the host reads them.
#define SCONCE_ENDS(name, extra, given)                                                                               \
  Tensor name##_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps extra, OptDType dtype,            \
                              OptLayout layout, OptDevice device, OptBool pin_memory) {                               \
    return cuda::name(item_of(start), item_of(end), steps given, dtype, layout, device ? device : start.device(),     \
                      pin_memory);                                                                                    \
  }                                                                                                                   \
  Tensor name##_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps extra, OptDType dtype,            \
                              OptLayout layout, OptDevice device, OptBool pin_memory) {                               \
    return cuda::name(item_of(start), end, steps given, dtype, layout, device ? device : start.device(), pin_memory); \
  }                                                                                                                   \
  Tensor name##_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps extra, OptDType dtype,            \
                              OptLayout layout, OptDevice device, OptBool pin_memory) {                               \
    return cuda::name(start, item_of(end), steps given, dtype, layout, device ? device : end.device(), pin_memory);   \
  }
#define SCONCE_COMMA ,
SCONCE_ENDS(linspace, , )
SCONCE_ENDS(logspace, SCONCE_COMMA double base, SCONCE_COMMA base)
#undef SCONCE_ENDS
#undef SCONCE_COMMA

}  // namespace sconce::cuda
