#include "sconce/passes/analysis/op_graphs.h"

namespace sconce::passes {

std::string TextPlace::message_at(const Range& at, std::string_view reason) const {
  if (!at || at.source != source) return std::string(reason);
  const bool first = at.line() == source->first_line();
  return format_message("line {}, column {}: {}", {at.line(), at.column() + (first ? first_column : 1), reason});
}

OpGraphs* op_graphs() { return op_graphs_source ? op_graphs_source() : nullptr; }

}  // namespace sconce::passes
