// Classes of packed weights in archives, for libraries of quantised models (selected.h).
#pragma once

#include "sconce/lite/selected.h"

namespace sconce::lite {

extern const CustomClasses packed_classes;

}  // namespace sconce::lite
