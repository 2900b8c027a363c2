#include "sconce/serialization/code/function_printer.h"

#include "sconce/serialization/code/printable_graph.h"

namespace sconce {

TaggedText FunctionPrinter::print(ir::Function& function, std::string_view name) {
  const Schema& schema = function.schema();
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
