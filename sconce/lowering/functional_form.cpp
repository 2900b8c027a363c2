#include "sconce/lowering/functional_form.h"

#include <algorithm>

#include "sconce/dispatch/entry.h"
#include "sconce/passes/analysis/shape_rules.h"

namespace sconce::lowering {

std::optional<FunctionalForm> functional_form(const ir::Node& node) {
  const Op* op = node.op();
  if (!op || op->schema().is_vararg || node.outputs().size() > 1) return std::nullopt;
  const Schema& schema = op->schema();
  FunctionalForm form;
  size_t writes = 0;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    if (!schema.arguments[i].is_written()) continue;
    form.written = i;
    ++writes;
  }
  if (writes != 1 || form.written >= node.inputs().size()) return std::nullopt;
  if (!node.input(form.written)->type()->is(TypeKind::tensor)) return std::nullopt;
  form.op = functional_twin(*op);
  if (!form.op || form.op->schema().is_mutable() || form.op->schema().returns.size() != 1) return std::nullopt;
  // A view as the twin: the write changes the sizes of the tensor, not its elements.
  const Argument& result = form.op->schema().returns[0];
  if (result.alias || form.op->has(Trait::view) || !result.type->is(TypeKind::tensor)) return std::nullopt;
  const std::string_view name = form.op->info.name;
  if (name.starts_with("aten::resize") || name == "aten::set" || name.find("sparse") != name.npos) return std::nullopt;
  form.is_out = schema.arguments[form.written].keyword_only;

  // Arguments go by their names; the first may have another one.
  for (size_t i = 0; i < form.op->schema().arguments.size(); ++i) {
    const std::string& name = form.op->schema().arguments[i].name;
    std::optional<size_t> from = schema.find_argument(name);
    if (!from && i == 0 && !schema.arguments.empty()) from = 0;
    if (from && *from == form.written && form.is_out) return std::nullopt;
    if (!from || *from >= node.inputs().size()) {
      if (!form.op->schema().arguments[i].default_value) return std::nullopt;
      from = node.inputs().size();  // its default value
    }
    form.inputs.push_back(*from);
  }
  return form;
}

namespace {

// By the operator's rule.
bool always_fits(const Op& op) {
  const OpEntry* entry = op.info.entry;
  if (!entry) return false;
  const auto keeps = [](const PointwiseCase& c) {
    const bool same_dtype = c.dtype == DTypeRule::self || (c.dtype == DTypeRule::promote && c.promoting == 1);
    return same_dtype && c.result == ResultRule::common && c.masks == 0;
  };
  if (op.has(Trait::pointwise)) {
    // Of one tensor: nothing is broadcast. Numbers take part in promotion, so they must not be among those.
    size_t tensors = 0;
    for (const Argument& a : op.schema().arguments) tensors += a.type->is(TypeKind::tensor);
    return tensors == 1 && std::ranges::all_of(entry->pointwise(), keeps);
  }
  // Others do not promote, unless they take a dtype (cumsum).
  return entry->shape && std::string_view(entry->shape) == "return self.shape" && !op.schema().find_argument("dtype");
}

}  // namespace

bool result_fits(const ir::Node& made, const ir::Value* written, bool is_out) {
  if (!is_out && always_fits(*made.op())) return true;
  const TensorFacts* facts = written->type()->tensor_facts();
  if (!facts || !facts->dtype || !facts->sizes) return false;
  if (std::ranges::any_of(*facts->sizes, [](int64_t n) { return n == TensorFacts::kUnknown; })) return false;
  const std::optional<passes::MetaResult> result = passes::call_on_meta(made, {});
  return result && result->outputs[0] && result->outputs[0]->dtype == facts->dtype &&
         result->outputs[0]->sizes == facts->sizes;
}

}  // namespace sconce::lowering
