#include "sconce/optim/options.h"

#include <algorithm>

#include "sconce/tensor/element.h"

namespace sconce::optim {

double number_of(const Value& v, std::string_view name) {
  if (v.is_double()) return v.to_double();
  if (v.is_int()) return static_cast<double>(v.to_int());
  if (v.is_bool()) return v.to_bool();
  if (v.is_tensor()) {
    SCONCE_CHECK_AS(value, v.to_tensor().numel() == 1, "Tensor {} must be 1-element", name);
    return item_of(v.to_tensor()).to_double();
  }
  fail_as(ErrorKind::type, "'{}' must be a number, not {}", name, v.type()->annotation());
}

const Value* Options::find(std::string_view name) const {
  for (const Item& item : items_) {
    if (item.first == name) return &item.second;
  }
  return nullptr;
}

const Value& Options::at(std::string_view name) const {
  const Value* v = find(name);
  SCONCE_CHECK_AS(key, v, "'{}'", name);
  return *v;
}

void Options::set(std::string_view name, Value v) {
  for (Item& item : items_) {
    if (item.first == name) {
      item.second = std::move(v);
      return;
    }
  }
  items_.emplace_back(std::string(name), std::move(v));
}

void Options::erase(std::string_view name) {
  std::erase_if(items_, [&](const Item& item) { return item.first == name; });
}

double Options::number(std::string_view name) const { return number_of(at(name), name); }

int64_t Options::integer(std::string_view name) const {
  const Value& v = at(name);
  SCONCE_CHECK_AS(type, v.is_int() || v.is_bool(), "'{}' must be an int, not {}", name, v.repr());
  return v.is_int() ? v.to_int() : v.to_bool();
}

bool Options::flag(std::string_view name) const {
  const Value& v = at(name);
  return !v.is_none() && number_of(v, name) != 0;
}

std::pair<double, double> Options::pair(std::string_view name) const {
  const Value& v = at(name);
  std::vector<Value> items;
  if (v.is_tuple()) items = v.to_tuple().items;
  if (v.is_list()) items = v.to_list().values();
  SCONCE_CHECK_AS(value, items.size() == 2, "'{}' must be two numbers, got {}", name, v.repr());
  return {number_of(items[0], name), number_of(items[1], name)};
}

std::vector<double> Options::numbers(std::string_view name, size_t count) const {
  const Value& v = at(name);
  if (!v.is_list() && !v.is_tuple()) return std::vector<double>(count, number_of(v, name));
  const std::vector<Value> items = v.is_list() ? v.to_list().values() : v.to_tuple().items;
  SCONCE_CHECK_AS(value, items.size() == count,
                  "{} must have the same length as optimizer.param_groups. {} has {} values, param_groups has {}.",
                  name, name, items.size(), count);
  std::vector<double> result;
  for (const Value& item : items) result.push_back(number_of(item, name));
  return result;
}

const Tensor& Options::tensor(std::string_view name) const { return at(name).to_tensor(); }

void Options::set_number(std::string_view name, double v) {
  const Value* before = find(name);
  if (!before || !before->is_tensor()) return set(name, v);
  const Tensor& t = before->to_tensor();
  SCONCE_CHECK_AS(value, t.numel() == 1, "Tensor {} must be 1-element", name);
  store_scalar(t.data(), t.dtype(), v);
  t.bump_version();
}

Options Options::with(const Options& given, std::string_view owner) const {
  Options result = *this;
  for (const Item& item : given.items_) {
    SCONCE_CHECK_AS(type, result.has(item.first), "{}.__init__() got an unexpected keyword argument '{}'", owner,
                    item.first);
    result.set(item.first, item.second);
  }
  return result;
}

}  // namespace sconce::optim
