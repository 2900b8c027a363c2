#include "sconce/optim/step_count.h"

#include "sconce/generated/creation.h"
#include "sconce/tensor/element.h"

namespace sconce::optim {

Tensor number_tensor(double v) {
  return scalar_tensor_of(v, default_dtype() == DType::float64 ? DType::float64 : DType::float32);
}

void set_number(const Tensor& t, double v) {
  store_scalar(t.data(), t.dtype(), v);
  t.bump_version();
}

double count_step(State& state) {
  const Tensor& step = state.tensor("step");
  set_number(step, item_of(step).to_double() + 1);
  return item_of(step).to_double();
}

void begin_step(State& state, const Tensor& parameter, const Names& zeros) {
  if (state.empty()) {
    state.set("step", number_tensor(0));
    for (const std::string_view name : zeros) state.set(name, zeros_like(parameter));
  }
  count_step(state);
}

void fix_step(State& state) {
  const Value* step = state.find("step");
  if (step && !step->is_tensor()) state.set("step", number_tensor(number_of(*step, "step")));
}

}  // namespace sconce::optim
