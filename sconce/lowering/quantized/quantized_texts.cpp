#include "sconce/lowering/quantized/quantized_texts.h"

#include <unordered_map>

#include "sconce/dispatch/registry.h"

namespace sconce::lowering {
namespace {

constexpr QuantizedText kTexts[] = {
#include "sconce/generated/quantized_texts.inc"
};

}  // namespace

const QuantizedText* quantized_text(const Op& op) {
  static const auto& all = *[] {
    auto* made = new std::unordered_map<const Op*, const QuantizedText*>;
    for (const QuantizedText& each : kTexts) {
      const size_t dot = each.name.find('.');
      const std::string overload(dot == each.name.npos ? "" : each.name.substr(dot + 1));
      if (const Op* found = find_op(std::string(each.name.substr(0, dot)), overload)) made->emplace(found, &each);
    }
    return made;
  }();
  const auto found = all.find(&op);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace sconce::lowering
