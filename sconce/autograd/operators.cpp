// Operators that ask for or change what autograd knows of a tensor, and those that run backward from a program.
#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/op.h"
#include "sconce/generated/environment_kernels.h"
#include "sconce/generated/view_kernels.h"

namespace sconce {
namespace {

autograd::BackwardOptions options(std::optional<bool> retain_graph, bool create_graph) {
  autograd::BackwardOptions out;
  out.retain_graph = retain_graph;
  out.create_graph = create_graph;
  return out;
}

// Tensor[], or Tensor?[]? where None means none at all; None inside is undefined.
std::vector<Tensor> tensors_of(const Value& v) {
  std::vector<Tensor> out;
  if (v.is_none()) return out;
  const List& list = v.to_list();
  for (size_t i = 0; i < list.size(); ++i) out.push_back(list.get(i).to_optional_tensor());
  return out;
}

std::optional<bool> optional_bool(const Value& v) {
  return v.is_none() ? std::nullopt : std::optional<bool>(v.to_bool());
}

}  // namespace

namespace any_device {

void requires_grad_(const Tensor& self, bool requires_grad) { autograd::set_requires_grad(self, requires_grad); }
bool is_leaf(const Tensor& self) { return autograd::is_leaf(self); }
int64_t output_nr(const Tensor& self) { return autograd::output_number(self); }
void retain_grad(const Tensor& self) { autograd::retain_grad(self); }
bool retains_grad(const Tensor& self) { return autograd::retains_grad(self); }
Tensor prim_grad(const Tensor& a) { return autograd::grad(a); }
void detach_(const Tensor& self) { autograd::detach_in_place(self); }

void backward(const Tensor& self, const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) {
  autograd::backward({self}, {gradient}, options(retain_graph, create_graph));
}
void _backward(const Tensor& self, TensorList inputs, const Tensor& gradient, std::optional<bool> retain_graph,
               bool create_graph) {
  autograd::backward({self}, {gradient}, options(retain_graph, create_graph), {inputs.begin(), inputs.end()});
}

}  // namespace any_device

namespace boxed {

// backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors, bool? retain_graph, bool create_graph) -> ()
void backward_tensors(const Op&, KeySet, Value* args, Value*) {
  autograd::backward(tensors_of(args[0]), tensors_of(args[1]), options(optional_bool(args[2]), args[3].to_bool()));
}

// grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs, bool? retain_graph, bool create_graph,
//      bool allow_unused) -> Tensor?[]
void grad_of_tensors(const Op&, KeySet, Value* args, Value* returns) {
  autograd::GradOptions how;
  how.retain_graph = optional_bool(args[3]);
  how.create_graph = args[4].to_bool();
  how.allow_unused = args[5].to_bool();
  auto out = make_ref<List>(optional_type(tensor_type()));
  for (Tensor& t : autograd::grad(tensors_of(args[0]), tensors_of(args[1]), tensors_of(args[2]), how)) {
    out->append(t.defined() ? Value(std::move(t)) : Value());
  }
  returns[0] = Value(std::move(out));
}

}  // namespace boxed
}  // namespace sconce
