// One schema against the arguments of one call in a program (Note [Binders] in dispatch/binding/argument_binder.h).
#include <fmt/format.h>

#include <algorithm>

#include "sconce/dispatch/binding/argument_binder.h"
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::script {
namespace {

// Takes back the nodes that an attempt emitted, unless it is kept.
class Attempt {
 public:
  explicit Attempt(ir::Graph& g) : graph_(g), before_(g.insert_point()->prev()) {}
  ~Attempt() {
    if (kept_) return;
    for (ir::Node* n = graph_.insert_point()->prev(); n != before_; n = graph_.insert_point()->prev()) n->destroy();
  }
  Attempt(const Attempt&) = delete;
  void keep() { kept_ = true; }

 private:
  ir::Graph& graph_;
  ir::Node* before_;
  bool kept_ = false;
};

struct Matching {
  Emitter& e;
  const Range& at;
  const Schema& schema;
  bool allow_conversions;
  TypeVariables variables;
  std::string why;

  // `f(int[2] p)` called with an int: the int, twice.
  bool repeats(const Argument& formal, TypePtr formal_type, TypePtr actual) const {
    const TypePtr list = without_none(formal_type);
    return formal.fixed_size && list->is(TypeKind::list) && list->element() == actual;
  }

  // The value to pass for an argument; null with `why`.
  ir::Value* argument(const Argument& formal, const CallArgument& actual) {
    const TypePtr formal_type = plain_type(formal.type);
    ir::Value* v = actual.value->as_value(e, actual.at);
    if (repeats(formal, formal_type, v->type())) {
      const std::vector<ir::Value*> items(static_cast<size_t>(*formal.fixed_size), v);
      v = e.list(at, v->type(), items);
    }
    std::string reason;
    if (!variables.match(formal_type, v->type(), reason)) {
      why = fmt::format("Could not match type {} to {} in argument '{}': {}.\n", v->type()->annotation(),
                        formal_type->annotation(), formal.name, reason);
      return nullptr;
    }
    const TypePtr wanted = variables.replace(formal_type);
    if (!wanted) {
      why = fmt::format("Type variables in type {} could not be inferred from actual type {}\n",
                        formal_type->annotation(), v->type()->annotation());
      return nullptr;
    }
    ir::Value* converted = convert(e, at, v, wanted, allow_conversions);
    if (fits(converted->type(), wanted, &reason)) return converted;
    why = fmt::format("Expected a value of type '{}' for argument '{}' but instead found type '{}'.\n",
                      formal_type->annotation(), formal.name, converted->type()->annotation());
    const TensorFacts* facts = converted->type()->tensor_facts();
    if (facts && facts->inferred) {
      why += fmt::format(
          "Inferred the value for argument '{}' to be of type 'Tensor' because it was not annotated with an explicit "
          "type.\n",
          formal.name);
    }
    if (v->node()->is(ir::kind::EmptyListLiteral)) {
      why +=
          "Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list of "
          "another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)\n";
    }
    why += reason;
    return nullptr;
  }

  // Is this the last positional argument, and a list that the remaining ones may fill (zeros(2, 3))?
  bool takes_rest(size_t i, TypePtr type) const {
    return is_last_positional(schema, i) && type->is(TypeKind::list) && !type->element()->is(TypeKind::variable) &&
           !schema.arguments[i].fixed_size;
  }

  ir::Value* list_of_rest(const Argument& formal, TypePtr element, ListRef<CallArgument> rest) {
    Argument item = formal;
    item.name = "<varargs>";
    item.type = element;
    std::vector<ir::Value*> items;
    for (const CallArgument& a : rest) {
      items.push_back(argument(item, a));
      if (!items.back()) return nullptr;
    }
    return e.list(at, element, items);
  }
};

}  // namespace

std::optional<MatchedSchema> try_match(Emitter& e, const Range& at, const Schema& schema, const CallArguments& args,
                                       const std::optional<CallArgument>& self, bool allow_conversions,
                                       std::string* why) {
  Attempt attempt(e.graph());
  Matching m{e, at, schema, allow_conversions, {}, {}};
  const auto fail = [&](std::string reason) -> std::optional<MatchedSchema> {
    if (why) *why = std::move(reason);
    return std::nullopt;
  };
  MatchedSchema matched;
  const bool is_operator = schema.name.find("::") != std::string::npos;
  ArgumentBinder call(
      schema, args.positional.size(), args.keywords.size(),
      [&](size_t k) { return std::string_view(args.keywords[k].name); }, is_operator);
  bool used_self = false;

  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& formal = schema.arguments[i];
    const CallArgument* actual = nullptr;
    std::optional<CallArgument> default_argument;
    if (self && formal.name == "self" && !used_self) {
      call.skip();
      actual = &*self;
      used_self = true;
    } else {
      using From = ArgumentBinder::From;
      const ArgumentBinder::Given given = call.next();
      if (given.from == From::nowhere) return fail(fmt::format("Argument {} not provided.\n", formal.name));
      if (given.from == From::position) {
        actual = &args.positional[given.index];
        const TypePtr formal_type = plain_type(formal.type);
        if (allow_conversions && m.takes_rest(i, formal_type)) {
          const TypePtr type = actual->value->as_value(e, actual->at)->type();
          if (!type->is(TypeKind::list) && !converts_to_list(type, formal_type)) {
            const ListRef<CallArgument> all(args.positional);
            const ListRef<CallArgument> rest = all.slice(given.index, all.size() - given.index);
            ir::Value* list = m.list_of_rest(formal, formal_type->element(), rest);
            if (!list) return fail(m.why);
            call.take_rest();
            matched.inputs.push_back(list);
            continue;
          }
        }
      } else if (given.from == From::keyword) {
        actual = &args.keywords[given.index];
      } else {
        // BroadcastingList2[int] = 0 of a function is repeated where it is called.
        sconce::Value value = *formal.default_value;
        if (!is_operator && formal.fixed_size && value.is_list() && !value.to_list().empty())
          value = value.to_list().get(0);
        default_argument = {{}, {}, simple(e.constant({}, std::move(value)))};
        actual = &*default_argument;
      }
    }
    ir::Value* v = m.argument(formal, *actual);
    if (!v) return fail(m.why);
    matched.inputs.push_back(v);
  }
  if (self && !used_self) return fail("Provided self argument not used in schema.\n");
  if (schema.is_vararg) {
    for (size_t k = call.take_rest(); k < args.positional.size(); ++k) {
      matched.inputs.push_back(args.positional[k].value->as_value(e, args.positional[k].at));
    }
  }
  if (call.left_over() > 0) {
    return fail(fmt::format("Expected at most {} arguments but found {} positional arguments.\n",
                            positional_count(schema) - used_self, args.positional.size()));
  }
  if (const auto unused = call.unused_keyword()) {
    const std::string& name = args.keywords[unused->index].name;
    return fail(schema.find_argument(name) ? fmt::format("Keyword argument {} specified twice.\n", name)
                                           : fmt::format("Keyword argument {} unknown.\n", name));
  }
  bool all_named = !schema.returns.empty();
  for (const Argument& r : schema.returns) {
    const TypePtr type = m.variables.replace(plain_type(r.type));
    if (!type) return fail(fmt::format("the type of the result, {}, is not known\n", r.type->annotation()));
    matched.return_types.push_back(type);
    all_named &= !r.name.empty();
  }
  if (all_named) {
    for (const Argument& r : schema.returns) matched.return_names.push_back(r.name);
  }
  attempt.keep();
  return matched;
}

}  // namespace sconce::script
