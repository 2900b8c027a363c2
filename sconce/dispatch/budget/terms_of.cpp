// The terms of operators of the whole library, by their records (op_terms.h).
#include <unordered_map>

#include "sconce/dispatch/budget/op_terms.h"

namespace sconce {

const OpTerms& terms_of(const Op& op) {
  // Never destroyed: programs may run until the process ends.
  static const auto& known = *[] {
    auto* map = new std::unordered_map<const Op*, OpTerms>;
    for (const FamilyTerms& family : generated_terms()) {
      for (size_t i = 0; i < family.ops.size(); ++i) {
        const TermsRecord& t = family.terms[i];
        map->emplace(&family.ops[i], OpTerms{t.work ? family.work[t.work - 1] : nullptr, t.loads, t.named});
      }
    }
    return map;
  }();
  static constexpr OpTerms kCustom{work_of_elements, false, false};
  const auto found = known.find(&op);
  return found == known.end() ? kCustom : found->second;
}

}  // namespace sconce
