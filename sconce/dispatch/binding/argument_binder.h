// Argument binding: which argument of a call belongs to which argument of a schema, by position, by name or by default.
// The kind of the arguments (values, values of a graph, objects of Python) does not matter here.
//
//   ArgumentBinder call(schema, args.size(), names.size(), [&](size_t k) { return names[k]; }, false);
//   for (const Argument& formal : schema.arguments) {
//     const ArgumentBinder::Given given = call.next();
//     switch (given.from) ...        // args[given.index], the keyword given.index, the default, or an error
//   }
//   if (call.left_over() > 0 || call.unused_keyword()) ...
//
// Note [Binders]
// All binders walk an ArgumentBinder, and add their conversions and the words of a refusal.
//   dispatch/binding/match.cpp: Values for an operator that is called by name: TorchScript's conversions, tried without
//     and with them, and the reason for each overload (dispatch/binding/bind.cpp).
//   runtime/bind_call.cpp: Values for a compiled function that is called from outside: conversions of PyTorch's Python
//     boundary, which copies lists, and its messages.
//   frontend/script/calls/match_schema.cpp: values of a graph, whose conversions are nodes to emit and to take back;
//     the object of a method call is bound by its name, `self`.
//   ir/resolve.cpp has nothing to bind: a node has one input for each argument, types decide alone.
//   frontend/script/construct/evaluator.cpp calls Python functions while a module is built, which have no schema: *args
//     and **kwargs are for it alone.
// Python's arguments are one more case: positional objects, names of keywords, one slot an argument.
#pragma once

#include <optional>
#include <string_view>

#include "sconce/base/function_ref.h"
#include "sconce/dispatch/schema.h"

namespace sconce {

class SCONCE_API ArgumentBinder {
 public:
  enum class From : uint8_t { position, keyword, default_value, nowhere };
  struct Given {
    From from;
    size_t index = 0;    // of the positional argument or of the keyword
    bool twice = false;  // by position, and there is a keyword of its name, too
  };
  // `name(k)` is the k-th keyword; the text behind it and the schema must live as long. With `input_is_self` the
  // keyword `input` means the argument `self`, as PyTorch documents its operators.
  ArgumentBinder(const Schema& schema, size_t positional, size_t keywords, FunctionRef<std::string_view(size_t)> name,
                 bool input_is_self);

  // Where the next argument of the schema comes from.
  Given next();
  // The next argument of the schema comes from elsewhere: the object of a method call.
  void skip() { ++argument_; }
  // Positional arguments that no argument of the schema has taken yet. take_rest() gives the first of them to the
  // argument that takes them all (view(2, 3)).
  size_t left_over() const { return positional_ - position_; }
  size_t take_rest();

  // The first keyword that was not taken: of no argument, or of one that has its value already.
  struct UnusedKeyword {
    size_t index;
    bool is_known;
  };
  std::optional<UnusedKeyword> unused_keyword() const;

 private:
  bool answers_to(const Argument& argument, std::string_view keyword) const;

  struct Keyword {
    std::string_view name;
    bool taken = false;
  };
  const Schema& schema_;
  const size_t positional_;
  const bool input_is_self_;
  size_t argument_ = 0, position_ = 0;
  std::vector<Keyword> keywords_;
};

// How many arguments of a schema can be given by position.
size_t positional_count(const Schema& schema);
// Is argument i the last of these? It may take all that are left (see left_over).
bool is_last_positional(const Schema& schema, size_t i);

}  // namespace sconce
