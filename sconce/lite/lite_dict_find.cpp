// Dict: how keys are found, in little code. sconce/types/dict_find.cpp has the quick way.
#include "sconce/types/value.h"

namespace sconce {

size_t Dict::locate(const Value& key, size_t hash) const {
  const bool is_linear = index_.size == 0;
  for (size_t step = 0;; ++step) {
    const size_t at = is_linear ? step : index()[(hash + step) & (index_.size - 1)];
    if (at == (is_linear ? entries_.size : kEmpty)) return kNowhere;
    const Entry& e = entries()[at];
    if (e.hash == hash && e.live && e.key.is_same_key(key)) return at;
  }
}

const Value* Dict::find(const Value& key) const {
  const size_t at = locate(key, key.key_hash());
  return at == kNowhere ? nullptr : &entries()[at].value;
}

}  // namespace sconce
