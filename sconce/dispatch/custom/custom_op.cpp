#include "sconce/dispatch/custom/custom_op.h"

namespace sconce {
namespace {

// Custom operators have no typed signature. Their thunk tells them apart and is never called.
void no_box(const void*, KeySet, Value*, Value*) {
  fail_as(ErrorKind::internal, "a custom operator has no typed kernel");
}

}  // namespace

bool is_custom(const Op& op) { return op.box == no_box; }

CustomOp::CustomOp(std::string_view text, const OpInfo& given)
    : Op{.info = {}, .box = no_box}, own_schema_(parse_schema(text)) {
  SCONCE_CHECK_AS(value, own_schema_.name.find("::") != std::string::npos, "schema '{}' has no namespace", text);
  const std::vector<Argument>& arguments = own_schema_.arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    SCONCE_CHECK_AS(value, own_schema_.find_argument(arguments[i].name) == i,
                    "schema '{}' has two arguments called '{}'", text, arguments[i].name);
  }
  info.traits = given.traits;
  info.dtypes = kLimitedAll;
  if (!arguments.empty() && !own_schema_.returns.empty() && own_schema_.name.ends_with('_')) {
    // f_(Tensor(a!) self, ...) -> Tensor(a!)
    const auto& alias = arguments[0].alias;
    if (alias && alias->write && own_schema_.returns[0].alias == alias) {
      info.traits |= static_cast<uint32_t>(Trait::inplace);
    }
  }
  info.name = keep(own_schema_.name);
  info.overload = keep(own_schema_.overload);
  info.schema = keep(text);
  for (const char* OpTexts::* field : {&OpTexts::origin, &OpTexts::body, &OpTexts::derivatives, &OpTexts::doc}) {
    if (given.texts.*field) set_text(field, given.texts.*field);
  }
  parsed = &own_schema_;
}

const char* CustomOp::keep(std::string_view text) {
  texts_.push_back(std::make_unique<std::string>(text));
  return texts_.back()->c_str();
}

void CustomOp::set_text(const char* OpTexts::* field, std::string_view text) { info.texts.*field = keep(text); }

}  // namespace sconce
