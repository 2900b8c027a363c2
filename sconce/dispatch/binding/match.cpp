#include "sconce/dispatch/binding/match.h"

#include <algorithm>

#include "sconce/dispatch/binding/argument_binder.h"

namespace sconce {
namespace {

std::string kind_of(const Value& v) { return v.is_none() ? "None" : v.type()->to_string(); }

bool has_variable(TypePtr type) {
  if (type->is(TypeKind::variable)) return true;
  return std::any_of(type->contained().begin(), type->contained().end(), has_variable);
}

// The types that the variables of a schema got in this call.
class Variables {
 public:
  bool unify(TypePtr formal, TypePtr actual) {
    if (formal->is(TypeKind::variable)) {
      for (const auto& [name, type] : known_) {
        if (name == formal) return is_subtype(actual, type);
      }
      known_.emplace_back(formal, actual);
      return true;
    }
    if (formal->is(TypeKind::optional)) {
      return actual->is(TypeKind::none) ||
             unify(formal->element(), actual->is(TypeKind::optional) ? actual->element() : actual);
    }
    if (formal->contained().empty()) return is_subtype(actual, plain_type(formal));
    if (formal->kind() != actual->kind() || formal->contained().size() != actual->contained().size()) return false;
    for (size_t i = 0; i < formal->contained().size(); ++i) {
      if (!unify(formal->contained()[i], actual->contained()[i])) return false;
    }
    return true;
  }

 private:
  std::vector<std::pair<TypePtr, TypePtr>> known_;
};

// A 0-dim tensor in the place of a number.
bool number_in_tensor(const Value& v, bool integral, Value& out) {
  if (!v.is_tensor()) return false;
  const Tensor& t = v.to_tensor();
  if (t.dim() != 0 || t.requires_grad() || t.is_meta()) return false;
  if (integral && !is_integral(t.dtype())) return false;
  out = Value(item_of(t));
  return true;
}

bool device_in_text(const std::string& text, Value& out) {
  try {
    out = Value(parse_device(text));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool fits(const Value& v, TypePtr type, bool convert, Value& out);

bool fits_list(const Value& v, TypePtr type, bool convert, Value& out) {
  const TypePtr element = type->element();
  if (v.is_list()) {
    const List& list = v.to_list();
    const TypePtr have = plain_type(list.element_type());
    // Tensor[] is good enough for Tensor?[]: both store tensors.
    if (have == element || (element->is(TypeKind::optional) && have == element->element() && list.is_tensors())) {
      out = v;
      return true;
    }
    if (list.empty()) {
      out = make_ref<List>(element);
      return true;
    }
    if (!convert && !is_subtype(have, element)) return false;
  } else if (!v.is_tuple() || !convert) {
    return false;
  }
  Ref<List> made = make_ref<List>(element);
  Value item;
  for (const Value& from : v.is_list() ? v.to_list().values() : v.to_tuple().items) {
    if (!fits(from, element, convert, item)) return false;
    made->append(std::move(item));
  }
  out = Value(std::move(made));
  return true;
}

bool fits_tuple(const Value& v, TypePtr type, bool convert, Value& out) {
  if (!v.is_tuple() || v.to_tuple().items.size() != type->contained().size()) return false;
  std::vector<Value> items(type->contained().size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (!fits(v.to_tuple().items[i], type->contained()[i], convert, items[i])) return false;
  }
  out = Value(make_ref<Tuple>(std::move(items), type->fields().empty() ? nullptr : type));
  return true;
}

// `type` is plain: no SymInt, ScalarType and the like.
bool fits(const Value& v, TypePtr type, bool convert, Value& out) {
  switch (type->kind()) {
    case TypeKind::any:
      out = v;
      return true;
    case TypeKind::tensor:
      if (!v.is_tensor()) return false;
      out = v;
      return true;
    case TypeKind::optional:
      if (v.is_none()) {
        out = v;
        return true;
      }
      return fits(v, type->element(), convert, out);
    case TypeKind::list:
      return fits_list(v, type, convert, out);
    case TypeKind::tuple:
      return fits_tuple(v, type, convert, out);
    case TypeKind::int_:
      if (v.is_int()) {
        out = v;
        return true;
      }
      if (!convert) return false;
      if (v.is_bool()) {
        out = Value(int64_t{v.to_bool()});
        return true;
      }
      return number_in_tensor(v, true, out);
    case TypeKind::float_:
      if (v.is_double()) {
        out = v;
        return true;
      }
      if (!convert || v.is_complex()) return false;
      if (v.is_number()) {
        out = Value(v.to_scalar().to_double());
        return true;
      }
      if (!number_in_tensor(v, false, out) || out.is_complex()) return false;
      out = Value(out.to_scalar().to_double());
      return true;
    case TypeKind::complex:
      if (v.is_complex()) {
        out = v;
        return true;
      }
      if (!convert || !(v.is_number() || number_in_tensor(v, false, out))) return false;
      out = Value(v.to_scalar().to_complex());
      return true;
    case TypeKind::number:
      if (v.is_int() || v.is_double() || v.is_complex() || (convert && v.is_bool())) {
        out = v;
        return true;
      }
      return convert && number_in_tensor(v, false, out);
    case TypeKind::device:
      if (v.is_device()) {
        out = v;
        return true;
      }
      return convert && v.is_string() && device_in_text(v.to_string_ref(), out);
    case TypeKind::union_:
      for (TypePtr member : type->contained()) {
        if (fits(v, member, false, out)) return true;
      }
      return convert && std::any_of(type->contained().begin(), type->contained().end(),
                                    [&](TypePtr member) { return fits(v, member, true, out); });
    case TypeKind::storage:
    case TypeKind::stream:
    case TypeKind::py_object:
      if (v.tag() != Tag::capsule) return false;
      out = v;
      return true;
    default:
      if (!is_subtype(v.type(), type)) return false;
      out = v;
      return true;
  }
}

// Values for an operator, by TorchScript's conversions (Note [Binders]).
class Matcher {
 public:
  Matcher(const Schema& schema, const std::vector<Value>& args, const std::vector<NamedValue>& kwargs, bool convert,
          std::string* reason)
      : schema_(schema),
        args_(args),
        kwargs_(kwargs),
        convert_(convert),
        reason_(reason),
        call_(
            schema, args.size(), kwargs.size(), [&](size_t k) { return std::string_view(kwargs[k].first); },
            schema.name.starts_with("aten::")) {}

  bool run(std::vector<Value>& bound) {
    bound.clear();
    bound.resize(schema_.arguments.size());
    for (size_t i = 0; i < schema_.arguments.size(); ++i) {
      if (!bind_one(i, bound[i])) return false;
    }
    if (call_.left_over() > 0 && !schema_.is_vararg) {
      return no("takes {} positional arguments, got {}", positional_count(schema_), args_.size());
    }
    // Note [Variable arguments]: a kernel gets what "..." stands for as one tuple behind the other arguments.
    if (schema_.is_vararg) {
      const auto rest = args_.begin() + static_cast<ptrdiff_t>(call_.take_rest());
      bound.push_back(make_ref<Tuple>(std::vector<Value>(rest, args_.end())));
    }
    if (const auto unused = call_.unused_keyword()) {
      return no(unused->is_known ? "argument '{}' is given twice" : "has no argument '{}'",
                kwargs_[unused->index].first);
    }
    return true;
  }

 private:
  template <class... A>
  bool no(std::string_view format, const A&... args) {
    if (reason_) *reason_ = format_message(format, {ErrorArg(args)...});
    return false;
  }

  bool bind_one(size_t i, Value& out) {
    const Argument& argument = schema_.arguments[i];
    const ArgumentBinder::Given given = call_.next();
    switch (given.from) {
      case ArgumentBinder::From::position:
        if (given.twice) return no("argument '{}' is given by position and by name", argument.name);
        if (collects_rest(i, args_[given.index])) return collect_rest(argument, given.index, out);
        return accept(argument, args_[given.index], out);
      case ArgumentBinder::From::keyword:
        return accept(argument, kwargs_[given.index].second, out);
      case ArgumentBinder::From::nowhere:
        return no("argument '{}' is missing", argument.name);
      case ArgumentBinder::From::default_value:
        break;
    }
    // Lists are handed out as copies: a kernel may keep or change its arguments.
    const Value& value = *argument.default_value;
    out = value.is_list() ? Value(value.to_list().copy()) : value;
    return true;
  }

  bool accept(const Argument& argument, const Value& v, Value& out) {
    if (has_variable(argument.type)) {
      if (!variables_.unify(argument.type, v.type())) return wrong_type(argument, v);
      out = v;
      return true;
    }
    const TypePtr type = plain_type(argument.type);
    if (fits(v, type, convert_, out) || fits_broadcast(argument, type, v, out)) return true;
    return wrong_type(argument, v);
  }

  bool wrong_type(const Argument& argument, const Value& v) {
    if (!reason_) return false;
    return no("argument '{}': expected {}, got {}", argument.name, argument.type->to_string(), kind_of(v));
  }

  // int[2] kernel_size=3
  bool fits_broadcast(const Argument& argument, TypePtr type, const Value& v, Value& out) {
    if (!argument.fixed_size) return false;
    if (type->is(TypeKind::optional)) type = type->element();
    Value item;
    if (!type->is(TypeKind::list) || !fits(v, type->element(), convert_, item)) return false;
    Ref<List> list = make_ref<List>(type->element());
    for (int32_t i = 0; i < *argument.fixed_size; ++i) list->append(item);
    out = Value(std::move(list));
    return true;
  }

  // zeros(2, 3), view(1, -1): the last positional argument is a list and what comes is not one.
  bool collects_rest(size_t i, const Value& first) const {
    const Argument& argument = schema_.arguments[i];
    if (!convert_ || argument.fixed_size || !argument.type->is(TypeKind::list) || has_variable(argument.type))
      return false;
    return !first.is_list() && !first.is_tuple() && is_last_positional(schema_, i);
  }
  bool collect_rest(const Argument& argument, size_t first, Value& out) {
    call_.take_rest();
    const TypePtr element = plain_type(argument.type)->element();
    Ref<List> list = make_ref<List>(element);
    Value item;
    for (size_t i = first; i < args_.size(); ++i) {
      if (!fits(args_[i], element, convert_, item)) return wrong_type(argument, args_[i]);
      list->append(std::move(item));
    }
    out = Value(std::move(list));
    return true;
  }

  const Schema& schema_;
  const std::vector<Value>& args_;
  const std::vector<NamedValue>& kwargs_;
  const bool convert_;
  std::string* const reason_;
  ArgumentBinder call_;
  Variables variables_;
};

}  // namespace

bool convert_value(const Value& v, TypePtr type, Value& out) {
  if (!has_variable(type)) return fits(v, plain_type(type), true, out);
  out = v;
  return Variables().unify(type, v.type());
}

bool match_arguments(const Schema& schema, const std::vector<Value>& args, const std::vector<NamedValue>& kwargs,
                     bool convert, std::vector<Value>& bound, std::string* reason) {
  return Matcher(schema, args, kwargs, convert, reason).run(bound);
}

}  // namespace sconce
