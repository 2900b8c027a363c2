// Options: names and values in the order in which they were set. Options of optimisers and schedules, as Python's
// keyword arguments; a group's options; the state that an optimiser keeps of a parameter.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::optim {

class SCONCE_API Options {
 public:
  using Item = std::pair<std::string, Value>;

  Options() = default;
  Options(std::initializer_list<Item> items) : items_(items) {}

  bool empty() const { return items_.empty(); }
  const std::vector<Item>& items() const { return items_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const Value* find(std::string_view name) const;  // null if there is none
  const Value& at(std::string_view name) const;    // throws Error (key)
  void set(std::string_view name, Value v);        // keeps the place of a name that is there
  void erase(std::string_view name);

  // A number: int, float, bool or a tensor of one element. Throws Error (type) for anything else.
  double number(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const;  // None is false
  // A tuple or list of two numbers ("betas").
  std::pair<double, double> pair(std::string_view name) const;
  // A list of `count` numbers, one per group, or one number for all. Throws Error (value) for another count.
  std::vector<double> numbers(std::string_view name, size_t count) const;
  const Tensor& tensor(std::string_view name) const;
  // Sets a number; one that is a tensor keeps its identity and is filled.
  void set_number(std::string_view name, double v);

  // `given` over these defaults. Throws Error (type) for a name that is not among them: "SGD.__init__() got an
  // unexpected keyword argument 'rate'".
  Options with(const Options& given, std::string_view owner) const;

 private:
  std::vector<Item> items_;
};

// A number as Options::number reads it; `name` is for errors.
double number_of(const Value& v, std::string_view name);

}  // namespace sconce::optim
