// The one copy of std::string's functions in a small library.
#include "sconce/base/text/shared_strings.h"

#ifdef SCONCE_SHARED_STRINGS
namespace std {
SCONCE_SHARED_STRINGS(template)
}  // namespace std
#endif
