// SugaredValue: a compile-time value, the meaning of an expression. Most are a value of the graph (SimpleValue); the
// rest exist at compile time only: functions, `torch` and its parts, classes, modules, `range(n)`, ...
//
// Each kind overrides the operations that it supports; the others are refused with its kind in the message. Methods
// emit nodes at the insert point of `e.graph()`. They throw CompileError.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/ir/function.h"
#include "sconce/syntax/tree.h"

namespace sconce::script {

class Emitter;
class SugaredValue;
using SugaredPtr = std::shared_ptr<SugaredValue>;

// An argument of a call, evaluated. `name` is empty for a positional one.
struct CallArgument {
  Range at;
  std::string name;
  SugaredPtr value;
};
struct CallArguments {
  std::vector<CallArgument> positional;  // starred ones are expanded already
  std::vector<CallArgument> keywords;
};

class SugaredValue : public std::enable_shared_from_this<SugaredValue> {
 public:
  virtual ~SugaredValue();
  // Its kind, for messages: "value", "module", "function", "python value of type 'int'".
  virtual std::string kind() const = 0;
  // The type of the value that it is or would be; null when it is none.
  virtual TypePtr type() const { return nullptr; }

  // As a value of the graph. Functions, modules, ... cannot be: "<kind> cannot be used as a value".
  virtual ir::Value* as_value(Emitter& e, const Range& at);
  // x.name
  virtual SugaredPtr attr(Emitter& e, const Range& at, const std::string& name);
  virtual bool has_attr(Emitter& e, const Range& at, const std::string& name);
  // x.name = value
  virtual void set_attr(Emitter& e, const Range& at, const std::string& name, ir::Value* value);
  // x(...). `hint` is the type that the context expects of the result; may be null.
  virtual SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint);
  // x[index], one index; slices of tensors, lists and tuples are the emitter's.
  virtual SugaredPtr subscript(Emitter& e, const Range& at, SugaredPtr index, TypePtr hint);
  // a, b = x; *x in a call. `count`: how many are wanted, if known.
  virtual std::vector<SugaredPtr> unpack(Emitter& e, const Range& at, std::optional<size_t> count);

  // for i in x: the iterable (`self` for most, keys for a dict). Throws "'int' object is not iterable".
  virtual SugaredPtr iterate(Emitter& e, const Range& at);
  // Of the iterable: the number of items, when it is known while compiling and the loop must be unrolled (tuples,
  // module containers); else nothing and length() is its value in the graph.
  virtual std::optional<size_t> static_length() const { return std::nullopt; }
  virtual ir::Value* length(Emitter& e, const Range& at);
  // Item `index` (an int value of the graph; a constant when unrolled) of the iterable.
  virtual SugaredPtr item(Emitter& e, const Range& at, ir::Value* index, TypePtr hint);
  // len(x)
  virtual ir::Value* len(Emitter& e, const Range& at) { return length(e, at); }
};

// A value of the graph. Attributes: properties and methods of tensors, fields of named tuples, attributes, methods and
// properties of class instances and modules, .value and .name of enums, ...
class SimpleValue : public SugaredValue {
 public:
  explicit SimpleValue(ir::Value* v) : value(v) {}
  std::string kind() const override;
  TypePtr type() const override { return value->type(); }
  ir::Value* as_value(Emitter&, const Range&) override { return value; }
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override;
  bool has_attr(Emitter& e, const Range& at, const std::string& name) override;
  void set_attr(Emitter& e, const Range& at, const std::string& name, ir::Value* v) override;
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;
  SugaredPtr subscript(Emitter& e, const Range& at, SugaredPtr index, TypePtr hint) override;
  std::vector<SugaredPtr> unpack(Emitter& e, const Range& at, std::optional<size_t> count) override;
  SugaredPtr iterate(Emitter& e, const Range& at) override;
  std::optional<size_t> static_length() const override;  // of tuples
  ir::Value* length(Emitter& e, const Range& at) override;
  SugaredPtr item(Emitter& e, const Range& at, ir::Value* index, TypePtr hint) override;
  ir::Value* len(Emitter& e, const Range& at) override;

  ir::Value* const value;
};
inline SugaredPtr simple(ir::Value* v) { return std::make_shared<SimpleValue>(v); }

// An operator by name (torch.add, math.sqrt, len): overloads are chosen when it is called. `self` is set for x.add.
class BuiltinFunction : public SugaredValue {
 public:
  explicit BuiltinFunction(ir::Symbol name, std::optional<CallArgument> self = {})
      : name(name), self(std::move(self)) {}
  std::string kind() const override { return "builtin"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;
  const ir::Symbol name;
  const std::optional<CallArgument> self;
};

// A function of the program or of the script library. With `overloads` (@torch.jit._overload) the first that fits.
class FunctionValue : public SugaredValue {
 public:
  explicit FunctionValue(std::vector<ir::Function*> overloads) : overloads(std::move(overloads)) {}
  std::string kind() const override { return "function"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;
  ir::Value* as_value(Emitter& e, const Range& at) override;  // a constant of type Function
  const std::vector<ir::Function*> overloads;
};

// A method bound to its object.
class MethodValue : public SugaredValue {
 public:
  MethodValue(ir::Value* self, std::vector<std::string> names) : self(self), names(std::move(names)) {}
  std::string kind() const override { return "method"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;
  ir::Value* const self;
  const std::vector<std::string> names;  // several for an overloaded method
};

}  // namespace sconce::script
