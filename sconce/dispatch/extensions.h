// Extensions that ship with Sconce: extensions/<namespace> is the library sconce_<namespace>.so beside libsconce.so.
// The registry loads one when an operator of its namespace is looked for and nobody has defined any.
#pragma once

#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

// "torchvision::nms": loads the extension of that namespace, unless this thread is doing so. Is it there now? False,
// too, for names without a namespace and namespaces that no file is for. Throws Error when the library cannot be
// loaded.
bool load_extension_of(std::string_view operator_name);

}  // namespace sconce
