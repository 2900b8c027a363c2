// IR printer: parts of the text of Graph::to_string.
#pragma once

#include <string>

#include "sconce/ir/graph.h"

namespace sconce::ir {

// The attributes of a node in brackets: [value=1], [name="weight"]. Empty when there is none; graphs are left out.
SCONCE_API std::string attributes_text(const Node& node);

}  // namespace sconce::ir
