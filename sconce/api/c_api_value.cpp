// The C interface: values other than tensors.
#include <algorithm>
#include <cmath>

#include "sconce/api/c_api.h"

namespace sconce::c_api {

TypePtr common_type(const std::vector<Value>& items) {
  if (items.empty()) return any_type();
  const TypePtr first = items[0].type();
  const bool same = std::all_of(items.begin(), items.end(), [&](const Value& v) { return v.type() == first; });
  return same && !items[0].is_none() ? first : any_type();
}

namespace {

[[noreturn]] void wrong_kind(const Value& v, const char* wanted) {
  fail_as(ErrorKind::type, "the value is a {}, not a {}", v.type()->annotation(), wanted);
}

}  // namespace
}  // namespace sconce::c_api

using namespace sconce;
using namespace sconce::c_api;

sconce_status sconce_none(sconce_value** out) {
  return guarded([&] { need(out, "out") = new_value({}); });
}
sconce_status sconce_bool(int value, sconce_value** out) {
  return guarded([&] { need(out, "out") = new_value(Value(value != 0)); });
}
sconce_status sconce_int(int64_t value, sconce_value** out) {
  return guarded([&] { need(out, "out") = new_value(Value(value)); });
}
sconce_status sconce_float(double value, sconce_value** out) {
  return guarded([&] { need(out, "out") = new_value(Value(value)); });
}
sconce_status sconce_complex(double real, double imaginary, sconce_value** out) {
  return guarded([&] { need(out, "out") = new_value(Value(std::complex<double>(real, imaginary))); });
}
sconce_status sconce_string(const char* text, size_t bytes, sconce_value** out) {
  return guarded([&] {
    if (bytes > 0) need(text, "text");
    need(out, "out") = new_value(Value(std::string_view(bytes > 0 ? text : "", bytes)));
  });
}

sconce_status sconce_list(sconce_value* const* items, size_t count, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    std::vector<Value> values = values_of(items, count, "items");
    auto list = make_ref<List>(common_type(values));
    for (Value& v : values) list->append(std::move(v));
    *out = new_value(std::move(list));
  });
}
sconce_status sconce_tuple(sconce_value* const* items, size_t count, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    *out = new_value(make_ref<Tuple>(values_of(items, count, "items")));
  });
}
sconce_status sconce_dict(sconce_value* const* keys, sconce_value* const* values, size_t count, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    const std::vector<Value> names = values_of(keys, count, "keys"), items = values_of(values, count, "values");
    auto dict = make_ref<Dict>(common_type(names), common_type(items));
    for (size_t i = 0; i < count; ++i) dict->set(names[i], items[i]);
    *out = new_value(std::move(dict));
  });
}
sconce_status sconce_share(const sconce_value* value, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    *out = new_value(value_of(value, "value"));
  });
}
void sconce_value_free(sconce_value* value) { delete value; }

sconce_kind sconce_kind_of(const sconce_value* value) {
  if (!value) return SCONCE_NONE;
  switch (value->v.tag()) {
    case Tag::none:
      return SCONCE_NONE;
    case Tag::boolean:
      return SCONCE_BOOL;
    case Tag::integer:
      return SCONCE_INT;
    case Tag::real:
      return SCONCE_FLOAT;
    case Tag::complex:
      return SCONCE_COMPLEX;
    case Tag::string:
      return SCONCE_STRING;
    case Tag::tensor:
      return SCONCE_TENSOR;
    case Tag::list:
      return SCONCE_LIST;
    case Tag::tuple:
      return SCONCE_TUPLE;
    case Tag::dict:
      return SCONCE_DICT;
    default:
      return SCONCE_OTHER;
  }
}

sconce_status sconce_get_bool(const sconce_value* value, int* out) {
  return guarded([&] {
    const Value& v = value_of(value, "value");
    if (!v.is_bool()) wrong_kind(v, "bool");
    need(out, "out") = v.to_bool();
  });
}
sconce_status sconce_get_int(const sconce_value* value, int64_t* out) {
  return guarded([&] {
    const Value& v = value_of(value, "value");
    if (!v.is_int()) wrong_kind(v, "int");
    need(out, "out") = v.to_int();
  });
}
sconce_status sconce_get_float(const sconce_value* value, double* out) {
  return guarded([&] {
    const Value& v = value_of(value, "value");
    if (!v.is_double() && !v.is_int()) wrong_kind(v, "float");
    need(out, "out") = v.is_int() ? static_cast<double>(v.to_int()) : v.to_double();
  });
}
sconce_status sconce_get_complex(const sconce_value* value, double* real, double* imaginary) {
  return guarded([&] {
    const Value& v = value_of(value, "value");
    if (!v.is_complex() && !v.is_double() && !v.is_int()) wrong_kind(v, "complex");
    const std::complex<double> c = v.to_complex();
    need(real, "real");
    need(imaginary, "imaginary") = c.imag();
    *real = c.real();
  });
}
sconce_status sconce_get_string(const sconce_value* value, const char** out, size_t* bytes) {
  return guarded([&] {
    const Value& v = value_of(value, "value");
    if (!v.is_string()) wrong_kind(v, "str");
    const std::string& text = v.to_string_ref();
    need(out, "out") = text.c_str();
    if (bytes) *bytes = text.size();
  });
}

sconce_status sconce_get_length(const sconce_value* value, size_t* out) {
  return guarded([&] {
    const Value& v = value_of(value, "value");
    need(out, "out");
    if (v.is_list())
      *out = v.to_list().size();
    else if (v.is_tuple())
      *out = v.to_tuple().items.size();
    else if (v.is_dict())
      *out = v.to_dict().size();
    else
      wrong_kind(v, "list, tuple or dict");
  });
}
sconce_status sconce_get_item(const sconce_value* list_or_tuple, size_t index, sconce_value** out) {
  return guarded([&] {
    const Value& v = value_of(list_or_tuple, "list_or_tuple");
    need(out, "out");
    if (!v.is_list() && !v.is_tuple()) wrong_kind(v, "list or tuple");
    const size_t size = v.is_list() ? v.to_list().size() : v.to_tuple().items.size();
    if (index >= size) fail_as(ErrorKind::index, "there is no item {}; the value has {}", index, size);
    *out = new_value(v.is_list() ? v.to_list().get(index) : v.to_tuple().items[index]);
  });
}
sconce_status sconce_get_entry(const sconce_value* dict, size_t index, sconce_value** key, sconce_value** value) {
  return guarded([&] {
    const Value& v = value_of(dict, "dict");
    if (!v.is_dict()) wrong_kind(v, "dict");
    const std::vector<std::pair<Value, Value>> entries = v.to_dict().items();
    if (index >= entries.size()) {
      fail_as(ErrorKind::index, "there is no entry {}; the dict has {}", index, entries.size());
    }
    std::unique_ptr<sconce_value> new_key(key ? new_value(entries[index].first) : nullptr);
    if (value) *value = new_value(entries[index].second);
    if (key) *key = new_key.release();
  });
}

namespace {

void find_entry(const sconce_value* dict, const Value& key, sconce_value** out) {
  const Value& v = value_of(dict, "dict");
  need(out, "out");
  if (!v.is_dict()) wrong_kind(v, "dict");
  const Value* found = v.to_dict().find(key);
  if (!found) fail_as(ErrorKind::key, "the dict has no key {}", key.repr());
  *out = new_value(*found);
}

}  // namespace

sconce_status sconce_find(const sconce_value* dict, const sconce_value* key, sconce_value** out) {
  return guarded([&] { find_entry(dict, value_of(key, "key"), out); });
}
sconce_status sconce_find_text(const sconce_value* dict, const char* key, sconce_value** out) {
  return guarded([&] { find_entry(dict, Value(std::string_view(&need(key, "key"))), out); });
}

sconce_status sconce_repr(const sconce_value* value, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    *out = new_value(Value(value_of(value, "value").repr()));
  });
}
