#include "sconce/executor/tape.h"

#include <fmt/format.h>

namespace sconce::executor {
namespace {

void collect(const Output& output, std::vector<ValueId>& found) {
  if (output.kind == Output::Kind::tensor) found.push_back(output.value);
  for (const Output& item : output.items) collect(item, found);
}

void change(Output& output, const std::function<void(ValueId&)>& f) {
  if (output.kind == Output::Kind::tensor) f(output.value);
  for (Output& item : output.items) change(item, f);
}

}  // namespace

std::string geometry_text(const Tensor& t) {
  std::string text = "[";
  for (int64_t d = 0; d < t.dim(); ++d) text += (d ? ", " : "") + std::to_string(t.sizes()[d]);
  text += "] " + std::string(dtype_name(t.dtype()));
  if (t.is_contiguous()) return text;
  text += " strides [";
  for (int64_t d = 0; d < t.dim(); ++d) text += (d ? ", " : "") + std::to_string(t.strides()[d]);
  return text + "]";
}

Tensor Tape::twin_of(const Tensor& t) {
  Tensor twin = empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), Device{DeviceType::meta});
  if (t.is_wrapped_number()) twin.set_wrapped_number();
  return twin;
}

Tensor Tape::constant(ValueId v) const {
  const TapeValue& value = values[v];
  const TapeBlock& block = blocks[value.block];
  SCONCE_ASSERT(block.kind == TapeBlock::Kind::constant);
  if (block.first == v) return block.constant;
  const int64_t offset =
      block.constant.storage_offset() * static_cast<int64_t>(block.constant.item_size()) + value.offset;
  return make_tensor_unchecked(Ref<Storage>::share(block.constant.storage()), value.twin.dtype(), value.twin.sizes(),
                               value.twin.strides(), offset / static_cast<int64_t>(value.twin.item_size()));
}

std::vector<ValueId> Tape::outputs() const {
  std::vector<ValueId> found;
  collect(output, found);
  for (const WriteBack& back : write_backs) found.push_back(back.inside);
  return found;
}

void Tape::each_output(const std::function<void(ValueId&)>& f) {
  change(output, f);
  for (WriteBack& back : write_backs) f(back.inside);
}

std::string Tape::node_text(NodeId n) const {
  const TapeNode& node = nodes[n];
  std::string text;
  for (const ValueId r : node.results) text += (text.empty() ? "%" : ", %") + (r == kNone ? "-" : std::to_string(r));
  text += (text.empty() ? "" : " = ") + node.op->qualified_name() + "(";
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (i) text += ", ";
    std::string tensors;
    bool listed = false;
    for (const TensorUse& use : node.uses) {
      if (use.arg != i) continue;
      listed |= use.item >= 0;
      tensors += fmt::format("{}%{}", tensors.empty() ? "" : ", ", use.value);
    }
    text += tensors.empty() ? node.args[i].repr() : listed ? "[" + tensors + "]" : tensors;
  }
  text += ")";
  if (!node.results.empty() && node.results[0] != kNone) text += "  " + geometry_text(twin(node.results[0]));
  return text;
}

std::string Tape::text() const {
  std::string all;
  for (NodeId n = 0; n < nodes.size(); ++n) all += node_text(n) + "\n";
  return all;
}

}  // namespace sconce::executor
