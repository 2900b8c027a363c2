#include "sconce/dispatch/binding/argument_binder.h"

#include <algorithm>

namespace sconce {

ArgumentBinder::ArgumentBinder(const Schema& schema, size_t positional, size_t keywords,
                               FunctionRef<std::string_view(size_t)> name, bool input_is_self)
    : schema_(schema), positional_(positional), input_is_self_(input_is_self) {
  keywords_.reserve(keywords);
  for (size_t k = 0; k < keywords; ++k) keywords_.push_back({name(k)});
}

bool ArgumentBinder::answers_to(const Argument& argument, std::string_view keyword) const {
  return keyword == argument.name || (input_is_self_ && keyword == "input" && argument.name == "self");
}

ArgumentBinder::Given ArgumentBinder::next() {
  const Argument& argument = schema_.arguments[argument_++];
  const auto keyword =
      std::find_if(keywords_.begin(), keywords_.end(), [&](const Keyword& k) { return answers_to(argument, k.name); });
  const bool named = keyword != keywords_.end();
  if (!argument.keyword_only && position_ < positional_) return {From::position, position_++, named};
  if (named) {
    keyword->taken = true;
    return {From::keyword, static_cast<size_t>(keyword - keywords_.begin())};
  }
  return {argument.default_value ? From::default_value : From::nowhere};
}

size_t ArgumentBinder::take_rest() {
  const size_t first = position_;
  position_ = positional_;
  return first;
}

std::optional<ArgumentBinder::UnusedKeyword> ArgumentBinder::unused_keyword() const {
  for (size_t k = 0; k < keywords_.size(); ++k) {
    if (keywords_[k].taken) continue;
    return UnusedKeyword{k, std::any_of(schema_.arguments.begin(), schema_.arguments.end(),
                                        [&](const Argument& a) { return answers_to(a, keywords_[k].name); })};
  }
  return std::nullopt;
}

size_t positional_count(const Schema& schema) {
  return static_cast<size_t>(std::count_if(schema.arguments.begin(), schema.arguments.end(),
                                           [](const Argument& a) { return !a.keyword_only; }));
}

bool is_last_positional(const Schema& schema, size_t i) {
  return !schema.arguments[i].keyword_only &&
         (i + 1 == schema.arguments.size() || schema.arguments[i + 1].keyword_only);
}

}  // namespace sconce
