#include "sconce/serialization/code/function_printer.h"

#include "sconce/frontend/script/names/missing_use.h"
#include "sconce/serialization/code/printable_graph.h"

namespace sconce {
namespace {

// Of a call of an operator that was missing when its file was loaded nothing is left but the name.
void refuse_missing(const ir::Block& block, const std::string& function) {
  for (const ir::Node* node : block.nodes()) {
    if (node->is(ir::kind::RaiseException) && node->attribute(script::kMissingOperator)) {
      fail_as(ErrorKind::not_implemented, "{} calls {}, which does not exist here: the call was not kept", function,
              node->string_attribute(script::kMissingOperator));
    }
    for (const ir::Block* inner : node->blocks()) refuse_missing(*inner, function);
  }
}

}  // namespace

TaggedText FunctionPrinter::print(ir::Function& function, std::string_view name) {
  const Schema& schema = function.schema();
  if (tables_.for_file) refuse_missing(*function.graph()->block(), function.name());
  const std::shared_ptr<ir::Graph> printable = printable_graph(*function.graph());
  const ir::Graph& body = *printable;
  SCONCE_ASSERT(schema.arguments.size() == body.inputs().size());
  names_.start_function();
  std::string head(2 * level_, ' ');
  head += "def " + std::string(name) + "(";
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    const std::string variable = names_.unique(argument.name);
    texts_[body.inputs()[i]].add(variable);
    if (i != 0) head += ",\n    ";
    head += variable + ": " + tables_.type(argument.type);
    if (argument.default_value) head += "=" + tables_.default_value(*argument.default_value);
  }
  const TypePtr result = schema.returns.empty() ? none_type() : schema.returns[0].type;
  head += ") -> " + tables_.type(result) + ":\n";

  ++level_;
  try {
    graph(body);
  } catch (const Error& error) {
    fail("{}: {}", function.name(), error.what());
  }
  --level_;
  // The first line belongs to where the body begins.
  TaggedText whole;
  whole.set_range(out_.first_range());
  whole.add(head);
  whole.add(out_);
  return whole;
}

}  // namespace sconce
