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
  if (!arguments.empty() && !own_schema_.returns.empty() && own_schema_.name.ends_with('_')) {
    // f_(Tensor(a!) self, ...) -> Tensor(a!)
    const auto& alias = arguments[0].alias;
    if (alias && alias->write && own_schema_.returns[0].alias == alias) {
      info.traits |= static_cast<uint32_t>(Trait::inplace);
    }
  }
  set_text(&OpInfo::name, own_schema_.name);
  set_text(&OpInfo::overload, own_schema_.overload);
  set_text(&OpInfo::schema, text);
  for (const char* OpInfo::* field : {&OpInfo::origin, &OpInfo::body, &OpInfo::derivatives, &OpInfo::doc}) {
    if (given.*field) set_text(field, given.*field);
  }
  parsed = &own_schema_;
}

void CustomOp::set_text(const char* OpInfo::* field, std::string_view text) {
  texts_.push_back(std::make_unique<std::string>(text));
  info.*field = texts_.back()->c_str();
}

}  // namespace sconce
