#include "sconce/lowering/prims_builder.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::lowering {
namespace {

constexpr Device kMeta{DeviceType::meta};

// On Meta, whatever it was: prims that make tensors say the device of the result.
sconce::Value on_meta(const sconce::Value& v) { return v.is_device() ? sconce::Value(kMeta) : v; }

}  // namespace

TypePtr type_of_shape(const Tensor& shape, Device device) {
  TensorFacts facts;
  facts.dtype = shape.dtype();
  facts.sizes = shape.sizes().vec();
  facts.device = device;
  return refined_tensor_type(facts);
}

const sconce::Value* PrimsBuilder::known(const ir::Value* v) const {
  const auto at = known_.find(v);
  return at == known_.end() ? nullptr : &at->second;
}

void PrimsBuilder::learn(const ir::Value* v, sconce::Value known) { known_[v] = std::move(known); }

std::optional<std::vector<sconce::Value>> PrimsBuilder::run(const Op& op, ListRef<ir::Value*> inputs) const {
  const Schema& schema = op.schema();
  if (inputs.size() != schema.arguments.size()) return std::nullopt;
  std::vector<sconce::Value> args, returns(schema.returns.size());
  for (const ir::Value* v : inputs) {
    const sconce::Value* value = known(v);
    if (value == nullptr) return std::nullopt;
    args.push_back(on_meta(*value));
  }
  // A factory without a device makes real tensors otherwise.
  for (size_t i = 0; i < args.size(); ++i) {
    if (schema.arguments[i].name == "device" && args[i].is_none()) args[i] = kMeta;
  }
  try {
    op.call_boxed(args.data(), returns.data());
  } catch (const Error&) {
    return std::nullopt;  // the run of the graph shall show it
  }
  return returns;
}

void PrimsBuilder::begin(ir::Node* before, Device device) {
  before_ = before;
  device_ = device;
  made_.clear();
}

void PrimsBuilder::undo() {
  for (; !made_.empty(); made_.pop_back()) {
    for (const ir::Value* v : made_.back()->outputs()) known_.erase(v);
    made_.back()->destroy();
  }
}

ir::Value* PrimsBuilder::constant(const sconce::Value& v) {
  ir::Node* node = graph_.create_constant(v);
  node->set_range(before_->range())->insert_before(before_);
  made_.push_back(node);
  known_[node->output()] = v;
  return node->output();
}

ir::Value* PrimsBuilder::constant(IntList v) { return constant(sconce::Value(v)); }
ir::Value* PrimsBuilder::constant(DType v) { return constant(sconce::Value(v)); }
ir::Value* PrimsBuilder::constant(Device v) { return constant(sconce::Value(v)); }
ir::Value* PrimsBuilder::constant(int64_t v) { return constant(sconce::Value(v)); }
ir::Value* PrimsBuilder::constant(double v) { return constant(sconce::Value(v)); }
ir::Value* PrimsBuilder::constant(bool v) { return constant(sconce::Value(v)); }
ir::Value* PrimsBuilder::none() { return constant(sconce::Value()); }

ir::Value* PrimsBuilder::call(std::string_view prim, std::initializer_list<ir::Value*> inputs) {
  const Op* op = find_op(std::string("prims::") + std::string(prim));
  SCONCE_ASSERT(op != nullptr);
  const ListRef<ir::Value*> given(inputs.begin(), inputs.size());
  const auto results = run(*op, given);
  SCONCE_ASSERT(results && results->size() == 1 && (*results)[0].is_tensor());
  ir::Node* node = graph_.create(*op, given);
  node->set_range(before_->range());
  node->set_inlined(before_->inlined());
  node->insert_before(before_);
  made_.push_back(node);
  node->output()->set_type(type_of_shape((*results)[0].to_tensor(), device_));
  known_[node->output()] = (*results)[0];
  return node->output();
}

ir::Value* PrimsBuilder::number(const Scalar& value, DType dtype) {
  return call("scalar_tensor", {constant(sconce::Value(value)), constant(dtype), constant(device_)});
}

ir::Value* PrimsBuilder::convert(ir::Value* v, DType dtype) {
  return shape(v).dtype() == dtype ? v : call("convert_element_type", {v, constant(dtype)});
}

ir::Value* PrimsBuilder::broadcast(ir::Value* v, IntList sizes) {
  Dims dims;
  const size_t rank = static_cast<size_t>(shape(v).dim());
  for (size_t d = sizes.size() - rank; d < sizes.size(); ++d) dims.push_back(static_cast<int64_t>(d));
  return broadcast_in_dim(v, sizes, dims);
}

ir::Value* PrimsBuilder::broadcast_in_dim(ir::Value* v, IntList sizes, IntList dims) {
  if (shape(v).sizes() == sizes) return v;
  return call("broadcast_in_dim", {v, constant(sizes), constant(dims)});
}

ir::Value* PrimsBuilder::list(ListRef<ir::Value*> tensors) {
  ir::Node* node = graph_.create(ir::kind::ListConstruct, tensors, 1);
  node->output()->set_type(list_type(tensor_type()));
  node->set_range(before_->range())->insert_before(before_);
  made_.push_back(node);
  auto items = make_ref<List>(tensor_type());
  for (const ir::Value* v : tensors) items->append(known_.at(v));
  known_[node->output()] = sconce::Value(std::move(items));
  return node->output();
}

}  // namespace sconce::lowering
