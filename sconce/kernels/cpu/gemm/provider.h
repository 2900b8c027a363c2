// Provider choice: libraries that may compute products and convolutions instead of the built-in kernels, which are as
// fast on the machines that were measured. They are loaded when they are asked for; the build needs none of them.
#pragma once

#include <string>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

// Which libraries are asked first, separated by commas: "" (none) or "onednn" (libdnnl.so.3, or .2 from 2.6 on). The
// built-in kernels compute what a library does not serve. The environment variable SCONCE_PROVIDERS gives the names at
// the start of the program; none if it is not set. Throws Error for unknown names and for a library that does not load.
// Not to be called while another thread computes.
SCONCE_API void set_providers(std::string_view names);
SCONCE_API std::string providers();

namespace detail {
extern int onednn_state;  // -1 until asked, else whether it is used
bool find_onednn_state();
}  // namespace detail

inline bool uses_onednn() {
  const int state = __atomic_load_n(&detail::onednn_state, __ATOMIC_RELAXED);
  return state >= 0 ? state != 0 : detail::find_onednn_state();
}

}  // namespace sconce
