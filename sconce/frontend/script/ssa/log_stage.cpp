#include "sconce/frontend/script/ssa/log_stage.h"

#include <cstdio>

#include "sconce/ir/graph.h"

namespace sconce::script {

void log_stage(std::string_view title, const std::string& text) {
  std::fprintf(stderr, "== %.*s\n%s\n", static_cast<int>(title.size()), title.data(), text.c_str());
}

void log_stage(std::string_view title, const ir::Graph& graph, LogLevel level) {
  if (is_logged(LogTag::frontend, level)) log_stage(title, graph.to_string());
}

}  // namespace sconce::script
