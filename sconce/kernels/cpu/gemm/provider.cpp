#include "sconce/kernels/cpu/gemm/provider.h"

#include <cstdlib>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/gemm/onednn.h"

namespace sconce {

int detail::onednn_state = -1;

void set_providers(std::string_view names) {
  bool onednn = false;
  while (!names.empty()) {
    const size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
    if (name.empty()) continue;
    SCONCE_CHECK(name == "onednn", "unknown provider '{}': expected 'onednn', or nothing", name);
    onednn = true;
  }
  SCONCE_CHECK(!onednn || !is_deterministic(),
               "provider 'onednn' cannot be used in deterministic mode: its results depend on the machine");
  if (onednn) load_onednn();
  __atomic_store_n(&detail::onednn_state, onednn ? 1 : 0, __ATOMIC_RELEASE);
}

bool detail::find_onednn_state() {
  const char* names = std::getenv("SCONCE_PROVIDERS");
  set_providers(names ? names : "");
  return __atomic_load_n(&onednn_state, __ATOMIC_ACQUIRE) != 0;
}

std::string providers() { return uses_onednn() ? "onednn" : ""; }

}  // namespace sconce
