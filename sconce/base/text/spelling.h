// Spelling correction: finds the known names that a misspelt one may have meant, by edit distance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/base/list_ref.h"

namespace sconce {

// Candidates among `known`, nearest first, at most three. A third of the letters may be wrong; names of one or two
// letters are near to nothing.
SCONCE_API std::vector<std::string> similar_names(std::string_view wrong, ListRef<std::string> known);
// "'softmax', 'softmin' or 'hardmax'"; empty when nothing is near.
SCONCE_API std::string similar_names_text(std::string_view wrong, ListRef<std::string> known);

}  // namespace sconce
