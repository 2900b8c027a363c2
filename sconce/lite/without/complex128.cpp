// Without complex128: no conversions from and to it.
#include "sconce/lite/without/refuse.h"

namespace sconce::lite {

[[gnu::used]] constinit const auto conversions_complex128 = refused_conversions<10>();

}  // namespace sconce::lite
