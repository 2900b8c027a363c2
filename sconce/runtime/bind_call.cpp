// Arguments as a function wants them: PyTorch's rules at its Python boundary (Note [Binders] in argument_binder.h).
#include "sconce/dispatch/binding/argument_binder.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/runtime/value_ops.h"

namespace sconce::runtime {
namespace {

bool convert(Value& v, TypePtr type);

bool convert_list(Value& v, TypePtr element) {
  std::vector<Value> items;
  if (v.is_list())
    items = v.to_list().values();
  else if (v.is_tuple())
    items = v.to_tuple().items;
  else
    return false;
  auto out = make_ref<List>(element);
  out->reserve(items.size());
  for (Value& item : items) {
    if (!convert(item, element)) return false;
    out->append(std::move(item));
  }
  v = std::move(out);
  return true;
}

bool convert_dict(Value& v, TypePtr key, TypePtr value) {
  if (!v.is_dict()) return false;
  auto out = make_ref<Dict>(key, value);
  for (auto& [k, item] : v.to_dict().items()) {
    if (!convert(k, key) || !convert(item, value)) return false;
    out->set(std::move(k), std::move(item));
  }
  v = std::move(out);
  return true;
}

bool convert_tuple(Value& v, TypePtr type) {
  if (!v.is_tuple()) return false;
  std::vector<Value> items = v.to_tuple().items;
  if (items.size() != type->contained().size()) return false;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!convert(items[i], type->contained()[i])) return false;
  }
  v = make_ref<Tuple>(std::move(items), type->fields().empty() ? nullptr : type);
  return true;
}

bool is_one_number(const Value& v) { return v.is_tensor() && v.to_tensor().numel() == 1; }

// True when `v` has the type now. Lists, dicts and tuples are copied.
bool convert(Value& v, TypePtr type) {
  type = plain_type(type);
  switch (type->kind()) {
    case TypeKind::int_:
      if (v.is_bool()) v = static_cast<int64_t>(v.to_bool());
      if (is_one_number(v)) {
        const Scalar s = item_of(v.to_tensor());
        if (s.is_integral() || s.is_bool()) v = s.to_int();
      }
      return v.is_int();
    case TypeKind::float_:
      if (v.is_bool()) v = static_cast<double>(v.to_bool());
      if (v.is_int()) v = static_cast<double>(v.to_int());
      if (is_one_number(v)) v = item_of(v.to_tensor()).to_double();
      return v.is_double();
    case TypeKind::complex:
      if (v.is_bool() || v.is_int() || v.is_double()) v = v.to_complex();
      return v.is_complex();
    case TypeKind::number:
      if (is_one_number(v)) v = Value(item_of(v.to_tensor()));
      return v.is_number();
    case TypeKind::device:
      if (v.is_string()) v = parse_device(v.to_string_ref());
      return v.is_device();
    case TypeKind::list:
      return convert_list(v, type->element());
    case TypeKind::dict:
      return convert_dict(v, type->contained()[0], type->contained()[1]);
    case TypeKind::tuple:
      return convert_tuple(v, type);
    case TypeKind::optional:
      return v.is_none() || convert(v, type->element());
    case TypeKind::union_:
      for (TypePtr member : type->contained()) {
        if (is_instance(v, member)) return true;
      }
      for (TypePtr member : type->contained()) {
        Value copy = v;
        if (convert(copy, member)) {
          v = std::move(copy);
          return true;
        }
      }
      return false;
    default:
      return is_instance(v, type);
  }
}

std::string declaration(ir::Function& f) {
  Schema schema = f.schema();
  schema.name = f.short_name();
  return schema.to_string();
}

void bind_one(ir::Function& f, const Argument& a, size_t position, Value& v) {
  const Value given = v;  // convert() may change it; its text is only for the message
  if (a.fixed_size && !v.is_list() && !v.is_tuple() && a.type->is(TypeKind::list)) {
    Value item = std::move(v);
    auto list = make_ref<List>(a.type->element());
    const bool fits = convert(item, a.type->element());
    for (int32_t i = 0; fits && i < *a.fixed_size; ++i) list->append(item);
    v = fits ? Value(std::move(list)) : std::move(item);
  }
  if (convert(v, a.type)) return;
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
        if (!convert(bound[i], a.type)) bind_one(f, a, i, bound[i]);
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
