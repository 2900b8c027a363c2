// The C interface: gradients and optimisers.
#include "sconce/api/c_api.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/optim/clip_grad.h"
#include "sconce/optim/optimizer.h"
#include "sconce/serialization/file/file_bytes.h"
#include "sconce/serialization/tensors/tensor_files.h"

struct sconce_optimizer {
  std::unique_ptr<sconce::optim::Optimizer> optimizer;
};

namespace sconce::c_api {
namespace {

// Not GradMode's own state, which is on at first: most programs in C only want results.
thread_local bool records = false;

const Tensor& tensor_or_none(const sconce_value* tensor) {
  static const Tensor none;
  return tensor ? tensor->v.to_optional_tensor() : none;
}

sconce_optimizer* new_optimizer(const char* name, std::vector<Tensor> tensors, const char* const* options,
                                sconce_value* const* values, size_t count) {
  optim::Options given;
  const std::vector<Value> items = values_of(values, count, "values");
  for (size_t i = 0; i < count; ++i) {
    if (!options || !options[i]) invalid("options[{}] is null", i);
    given.set(options[i], items[i]);
  }
  return new sconce_optimizer{optim::make_optimizer(&need(name, "name"), std::move(tensors), given)};
}

optim::Optimizer& optimizer_of(const sconce_optimizer* handle) { return *need(handle, "optimizer").optimizer; }

}  // namespace
}  // namespace sconce::c_api

using namespace sconce;
using namespace sconce::c_api;

sconce_status sconce_tensor_set_requires_grad(const sconce_value* tensor, int on) {
  return guarded([&] { autograd::set_requires_grad(tensor_of(tensor), on != 0); });
}
sconce_status sconce_tensor_requires_grad(const sconce_value* tensor, int* out) {
  return guarded([&] { need(out, "out") = tensor_of(tensor).requires_grad(); });
}
sconce_status sconce_tensor_backward(const sconce_value* tensor, const sconce_value* gradient, int retain_graph) {
  return guarded([&] {
    autograd::backward({tensor_of(tensor)}, {tensor_or_none(gradient)}, {.retain_graph = retain_graph != 0});
  });
}
sconce_status sconce_tensor_grad(const sconce_value* tensor, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    *out = new_value(autograd::grad(tensor_of(tensor)));
  });
}
sconce_status sconce_tensor_set_grad(const sconce_value* tensor, const sconce_value* gradient) {
  return guarded([&] { autograd::set_grad(tensor_of(tensor), tensor_or_none(gradient)); });
}
sconce_status sconce_tensor_detach(const sconce_value* tensor, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    *out = new_value(shallow_copy(tensor_of(tensor)));
  });
}
void sconce_set_grad_enabled(int on) { records = on != 0; }
int sconce_grad_enabled(void) { return records; }

sconce_status sconce_set_requires_grad(sconce_module* module, int on) {
  return guarded([&] { need(module, "module").module.requires_grad_(on != 0); });
}
sconce_status sconce_clip_grad_norm(sconce_module* module, double max_norm, double* norm) {
  return guarded([&] {
    const Tensor total = optim::clip_grad_norm_(need(module, "module").module.parameters(), max_norm);
    if (norm) *norm = item_of(total).to_double();
  });
}

sconce_status sconce_optimizer_create(const char* name, sconce_module* module, const char* const* options,
                                      sconce_value* const* values, size_t option_count, sconce_optimizer** out) {
  return guarded([&] {
    need(out, "out");
    std::vector<Tensor> tensors;
    for (const Tensor& t : need(module, "module").module.parameters()) {
      if (t.requires_grad()) tensors.push_back(t);
    }
    *out = new_optimizer(name, std::move(tensors), options, values, option_count);
  });
}
sconce_status sconce_optimizer_over(const char* name, sconce_value* const* tensors, size_t count,
                                    const char* const* options, sconce_value* const* values, size_t option_count,
                                    sconce_optimizer** out) {
  return guarded([&] {
    need(out, "out");
    std::vector<Tensor> given;
    for (const Value& v : values_of(tensors, count, "tensors")) given.push_back(v.to_tensor());
    *out = new_optimizer(name, std::move(given), options, values, option_count);
  });
}
sconce_status sconce_optimizer_step(sconce_optimizer* optimizer) {
  return guarded([&] { optimizer_of(optimizer).step(); });
}
sconce_status sconce_optimizer_zero_grad(sconce_optimizer* optimizer) {
  return guarded([&] { optimizer_of(optimizer).zero_grad(); });
}
sconce_status sconce_optimizer_set_lr(sconce_optimizer* optimizer, double lr) {
  return guarded([&] {
    optim::Optimizer& o = optimizer_of(optimizer);
    for (size_t i = 0; i < o.param_groups().size(); ++i) o.set_lr(lr, i);
  });
}
sconce_status sconce_optimizer_lr(const sconce_optimizer* optimizer, double* out) {
  return guarded([&] { need(out, "out") = optimizer_of(optimizer).lr(); });
}
sconce_status sconce_optimizer_save(const sconce_optimizer* optimizer, const char* path) {
  return guarded([&] { write_pickled(&need(path, "path"), optimizer_of(optimizer).state_dict()); });
}
sconce_status sconce_optimizer_load(sconce_optimizer* optimizer, const char* path) {
  return guarded([&] { optimizer_of(optimizer).load_state_dict(read_pickled(FileBytes::map(&need(path, "path")))); });
}
void sconce_optimizer_free(sconce_optimizer* optimizer) { delete optimizer; }
