// Without complex64: no conversions from and to it.
#include "sconce/lite/without/refuse.h"

namespace sconce::lite {

[[gnu::used]] constinit const auto conversions_complex64 = refused_conversions<9>();

}  // namespace sconce::lite
