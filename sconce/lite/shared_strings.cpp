#include "sconce/base/shared_strings.h"

#ifdef SCONCE_SHARED_STRINGS
namespace std {
SCONCE_SHARED_STRINGS(template)
}  // namespace std
#endif
