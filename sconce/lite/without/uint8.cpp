// Without uint8: no conversions from and to it.
#include "sconce/lite/without/refuse.h"

namespace sconce::lite {

[[gnu::used]] constinit const auto conversions_uint8 = refused_conversions<0>();

}  // namespace sconce::lite
