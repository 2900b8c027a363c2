// Without int32: no conversions from and to it.
#include "sconce/lite/without/refuse.h"

namespace sconce::lite {

[[gnu::used]] constinit const auto conversions_int32 = refused_conversions<3>();

}  // namespace sconce::lite
