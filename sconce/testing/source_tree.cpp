#include "sconce/testing/source_tree.h"

namespace sconce::testing {

std::string source_path(std::string_view relative) { return std::string(SCONCE_SOURCE_DIR "/").append(relative); }

}  // namespace sconce::testing
