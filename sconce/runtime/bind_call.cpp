// Arguments as a function wants them: PyTorch's rules at its Python boundary (Note [Binders] in argument_binder.h).
#include "sconce/dispatch/binding/argument_binder.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/runtime/value_ops.h"

namespace sconce::runtime {
namespace {

std::string declaration(ir::Function& f) {
  Schema schema = f.schema();
  schema.name = f.short_name();
  return schema.to_string();
}

void bind_one(ir::Function& f, const Argument& a, size_t position, Value& v) {
  const Value given = v;  // convert_argument() may change it; its text is only for the message
  if (a.fixed_size && !v.is_list() && !v.is_tuple() && a.type->is(TypeKind::list)) {
    Value item = std::move(v);
    auto list = make_ref<List>(a.type->element());
    const bool fits = convert_argument(item, a.type->element());
    for (int32_t i = 0; fits && i < *a.fixed_size; ++i) list->append(item);
    v = fits ? Value(std::move(list)) : std::move(item);
  }
  if (convert_argument(v, a.type)) return;
  const std::string found = given.type()->annotation();
  fail(
      "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'.\nPosition: {}\nValue: {}\n"
      "Declaration: {}",
      f.short_name(), a.type->annotation(), a.name, found, position, given.is_object() ? found : given.repr(),
      declaration(f));
}

}  // namespace

std::vector<Value> bind_call(ir::Function& f, std::vector<Value> args,
                             std::vector<std::pair<std::string, Value>> kwargs) {
  const Schema& schema = f.schema();
  const size_t n = schema.arguments.size();
  SCONCE_CHECK(args.size() <= n, "{}() expected at most {} argument(s) but received {} argument(s). Declaration: {}",
               f.short_name(), n, args.size() + kwargs.size(), declaration(f));
  // Most calls have a value for each argument, in order: these are bound where they are.
  if (kwargs.empty() && args.size() == n && (n == 0 || !schema.arguments.back().keyword_only)) {
    for (size_t i = 0; i < n; ++i) {
      const Argument& a = schema.arguments[i];
      if (!args[i].is_tensor() || !a.type->is(TypeKind::tensor)) bind_one(f, a, i, args[i]);
    }
    return args;
  }
  std::vector<Value> bound(n);
  ArgumentBinder call(
      schema, args.size(), kwargs.size(), [&](size_t k) { return std::string_view(kwargs[k].first); }, false);
  for (size_t i = 0; i < n; ++i) {
    const Argument& a = schema.arguments[i];
    SCONCE_CHECK(!a.keyword_only || call.left_over() == 0, "{}() takes '{}' as a keyword only. Declaration: {}",
                 f.short_name(), a.name, declaration(f));
    const ArgumentBinder::Given given = call.next();
    switch (given.from) {
      case ArgumentBinder::From::position:
        bound[i] = std::move(args[given.index]);
        bind_one(f, a, i, bound[i]);
        break;
      case ArgumentBinder::From::keyword:
        bound[i] = std::move(kwargs[given.index].second);
        bind_one(f, a, i, bound[i]);
        break;
      case ArgumentBinder::From::default_value:
        bound[i] = *a.default_value;
        // A default is shared by all calls; a list among them must not be.
        if (!convert_argument(bound[i], a.type)) bind_one(f, a, i, bound[i]);
        break;
      case ArgumentBinder::From::nowhere:
        fail("{}() is missing value for argument '{}'. Declaration: {}", f.short_name(), a.name, declaration(f));
    }
  }
  if (const auto unused = call.unused_keyword()) {
    const std::string& name = kwargs[unused->index].first;
    SCONCE_CHECK(!unused->is_known, "{}() got two values for argument '{}'. Declaration: {}", f.short_name(), name,
                 declaration(f));
    fail("Unknown keyword argument '{}' for operator '{}'. Schema: {}", name, f.short_name(), declaration(f));
  }
  return bound;
}

}  // namespace sconce::runtime
