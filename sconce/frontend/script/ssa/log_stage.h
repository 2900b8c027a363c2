// Stage log: SCONCE_LOGS=frontend prints each function after every stage of the front end, "+frontend" after every step
// of SSA construction as well. docs/front-end.md reads such a log.
#pragma once

#include <string>
#include <string_view>

#include "sconce/base/logs.h"

namespace sconce::ir {
class Graph;
}

namespace sconce::script {

// Prints a title and the text, then an empty line, to standard error.
void log_stage(std::string_view title, const std::string& text);
// The same with a graph, if the level is switched on.
void log_stage(std::string_view title, const ir::Graph& graph, LogLevel level = LogLevel::info);

}  // namespace sconce::script
