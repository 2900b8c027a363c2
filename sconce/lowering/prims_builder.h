// Graph construction in prims: makes nodes and knows the geometry of what they give, by calling the same prim on Meta.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "sconce/base/small_vector.h"
#include "sconce/ir/graph.h"

namespace sconce::lowering {

class PrimsBuilder {
 public:
  explicit PrimsBuilder(ir::Graph& graph) : graph_(graph) {}

  // What is known of a value: a number, a list, ...; a tensor is one on Meta. Null where nothing is.
  const sconce::Value* known(const ir::Value* v) const;
  void learn(const ir::Value* v, sconce::Value known);
  // Its geometry. Only of values that are known tensors.
  const Tensor& shape(const ir::Value* v) const { return known_.at(v).to_tensor(); }
  DType dtype(const ir::Value* v) const { return shape(v).dtype(); }
  // Runs an operator on what is known of its inputs, tensors and devices on Meta. Nothing where an input is not known,
  // or the operator fails or needs elements.
  std::optional<std::vector<sconce::Value>> run(const Op& op, ListRef<ir::Value*> inputs) const;

  // New nodes stand before this one and carry its range; `device` is where new tensors are made.
  void begin(ir::Node* before, Device device);
  // Takes back the nodes that were made since begin.
  void undo();

  ir::Value* constant(const sconce::Value& v);
  // One each, so that callers need not make Values.
  ir::Value* constant(IntList v);
  ir::Value* constant(const Dims& v) { return constant(IntList(v)); }
  ir::Value* constant(DType v);
  ir::Value* constant(Device v);
  ir::Value* constant(int64_t v);
  ir::Value* constant(double v);
  ir::Value* constant(bool v);
  ir::Value* none();
  // A node that calls the prim. Throws Error (internal) when it refuses its arguments: the lowering is wrong then.
  ir::Value* call(std::string_view prim, std::initializer_list<ir::Value*> inputs);

  // A number as a tensor without dimensions.
  ir::Value* number(const Scalar& value, DType dtype);
  // Each gives the value itself where there is nothing to do.
  ir::Value* convert(ir::Value* v, DType dtype);
  ir::Value* broadcast(ir::Value* v, IntList sizes);  // by PyTorch's rule: dimensions are added in front
  ir::Value* broadcast_in_dim(ir::Value* v, IntList sizes, IntList dims);
  ir::Value* list(ListRef<ir::Value*> tensors);
  Device device() const { return device_; }

 private:
  ir::Graph& graph_;
  ir::Node* before_ = nullptr;
  Device device_;
  std::vector<ir::Node*> made_;
  std::unordered_map<const ir::Value*, sconce::Value> known_;
};

// The type of a value of this geometry on a device.
TypePtr type_of_shape(const Tensor& shape, Device device);

}  // namespace sconce::lowering
