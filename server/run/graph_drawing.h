// Graph drawing: the page of `sconce ir --html` for a model's file, made by that program in a process of its own.
#pragma once

#include <string>

namespace sconce::server {

// Throws Failure when the program fails or takes more than 30 seconds.
std::string draw_graph(const std::string& sconce_program, const std::string& model_file);

}  // namespace sconce::server
