#include "sconce/kernels/draw.h"

#include "sconce/base/weak.h"
#include "sconce/tensor/backend.h"
#ifdef SCONCE_SMALL
#include "sconce/kernels/cpu/random/random.h"
#endif

namespace sconce {

SCONCE_WEAK void draw_into(const Tensor& out, const Draw& draw, const Generator& generator) {
#ifdef SCONCE_SMALL  // as in pointwise.cpp
  rng::draw(out, draw, generator);
#else
  const Device device = out.device();
  if (device.type == DeviceType::cpu || out.is_meta()) return cpu_backend.random(out, draw, generator);
  // The CPU's checks are those of all devices: a Meta tensor of the same geometry goes through them and no further.
  Draw checked = draw;
  const auto on_meta = [](const Tensor& t) {
    return empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), DeviceType::meta);
  };
  const Tensor each = draw.each ? on_meta(*draw.each) : Tensor();
  if (draw.each) checked.each = &each;
  cpu_backend.random(on_meta(out), checked, generator);
  if (out.numel() != 0) backend_of(device).random(out, draw, generator);
#endif
}

}  // namespace sconce
