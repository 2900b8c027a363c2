// Extension loading: extensions/<namespace> is the library sconce_<namespace>.so beside libsconce.so. The registry
// loads it when an operator of its namespace is looked up and none is defined.
#pragma once

#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

// Loads the extension of an operator's namespace ("torchvision::nms"), unless this thread is doing so already. Returns
// whether it is loaded now; false for names without a namespace and for namespaces without a library. Throws Error when
// the library cannot be loaded.
bool load_extension_of(std::string_view operator_name);

}  // namespace sconce
