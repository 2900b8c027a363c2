// Without int8: no conversions from and to it.
#include "sconce/lite/without/refuse.h"

namespace sconce::lite {

[[gnu::used]] constinit const auto conversions_int8 = refused_conversions<1>();

}  // namespace sconce::lite
