// Without int16: no conversions from and to it.
#include "sconce/lite/without/refuse.h"

namespace sconce::lite {

[[gnu::used]] constinit const auto conversions_int16 = refused_conversions<2>();

}  // namespace sconce::lite
