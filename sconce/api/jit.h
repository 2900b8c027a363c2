// JIT interface: C++ programs compile and load scripts here, and call functions and modules.
//
//   auto unit = sconce::jit::compile("def f(x: int) -> int:\n    return x + 1\n");
//   int64_t y = unit.function("f")(41).to_int();
//
//   auto unit = sconce::jit::compile(text_with("class MLP(nn.Module): ..."));
//   auto mlp = unit.module("MLP", 64);
//   Tensor y = mlp(x).to_tensor();
//
// Handles are cheap to copy and share what they refer to; each keeps its program alive. After compile() a program may
// be called by many threads. Everything throws Error: CompileError for a refused text, runtime::ScriptError for an
// exception in a script, both with the place in the source.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sconce/api/convert.h"
#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/types/value.h"

namespace sconce {
struct Schema;
class FileBytes;
namespace ir {
class Function;
class CompilationUnit;
}  // namespace ir
}  // namespace sconce

namespace sconce::jit {

using NamedValues = std::vector<std::pair<std::string, Value>>;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using ExtraFiles = std::vector<std::pair<std::string, std::string>>;  // name, content
using UnitPtr = std::shared_ptr<ir::CompilationUnit>;

namespace detail {

// A Value over what somebody else owns for as long: nothing is counted.
class BorrowedValue {
 public:
  BorrowedValue(const Value& v) { std::memcpy(&value_, static_cast<const void*>(&v), sizeof v); }
  BorrowedValue(const Tensor& t) { new (&value_) Value(Tensor(Ref<TensorImpl>::adopt(t.impl()))); }
  template <class T>
    requires std::is_arithmetic_v<T>
  BorrowedValue(T v) {
    new (&value_) Value(to_value(v));
  }

 private:
  alignas(Value) char value_[sizeof(Value)];
};

// Types of arguments that can be borrowed.
template <class T>
inline constexpr bool is_borrowed = std::is_same_v<T, Tensor> || std::is_same_v<T, Value> || std::is_arithmetic_v<T>;

}  // namespace detail

// A function, or a method together with its object.
class SCONCE_API Function {
 public:
  Function(UnitPtr unit, ir::Function* function, Value self = {});

  std::string name() const;            // "f", "forward"
  std::string qualified_name() const;  // "__torch__.f", "__torch__.MLP.forward"
  const Schema& schema() const;        // of a method: with `self`
  std::string graph() const;           // as text, before optimisation
  std::string code() const;            // as Python, as archives hold it

  // Arguments are converted to the declared types as PyTorch does it. Several results are a tuple.
  template <class... T>
  Value operator()(T&&... args) const {
    if constexpr ((detail::is_borrowed<std::remove_cvref_t<T>> && ...)) {
      const detail::BorrowedValue given[] = {self_, args...};
      if (Value result; call_again(given, 1 + sizeof...(T), result)) return result;
    }
    return call({to_value(std::forward<T>(args))...});
  }
  Value call(std::vector<Value> args, NamedValues kwargs = {}) const;

  ir::Function& function() const { return *function_; }
  const UnitPtr& unit() const { return unit_; }
  const Value& self() const { return self_; }  // None of a function

 private:
  // Runs the call by the plan of the call before, if there is one and it is for these arguments, of which the first is
  // the object.
  bool call_again(const detail::BorrowedValue* args, size_t count, Value& result) const;

  UnitPtr unit_;
  ir::Function* function_;
  Value self_;  // None of a function
};

// An instance of a class.
class SCONCE_API Object {
 public:
  Object(UnitPtr unit, Value object);

  std::string type_name() const;  // "__torch__.Counter"
  const Value& value() const { return object_; }
  const UnitPtr& unit() const { return unit_; }
  bool has_attr(std::string_view name) const;
  // Attributes and constants. Throws Error naming class and attribute.
  Value attr(std::string_view name) const;
  template <class T>
  T attr(std::string_view name) const {
    return from_value<T>(attr(name));
  }
  // The value must have the attribute's type.
  void set_attr(std::string_view name, Value v) const;
  std::vector<std::string> attribute_names() const;

  std::vector<std::string> method_names() const;
  bool has_method(std::string_view name) const;
  Function method(std::string_view name) const;  // throws Error when there is none
  template <class... T>
  Value call_method(std::string_view name, T&&... args) const {
    return method(name)(std::forward<T>(args)...);
  }

 protected:
  UnitPtr unit_;
  Value object_;
};

// A module. Lists of tensors and submodules are in PyTorch's order, with dotted names ("layers.0.weight"); shared ones
// are listed once.
class SCONCE_API Module : public Object {
 public:
  using Object::Object;

  // Hooks and forward.
  template <class... T>
  Value operator()(T&&... args) const {
    if constexpr ((detail::is_borrowed<std::remove_cvref_t<T>> && ...)) {
      const detail::BorrowedValue given[] = {object_, args...};
      if (Value result; call_again(given, 1 + sizeof...(T), result)) return result;
    }
    return call({to_value(std::forward<T>(args))...});
  }
  Value call(std::vector<Value> args, NamedValues kwargs = {}) const;
  // forward alone.
  template <class... T>
  Value forward(T&&... args) const {
    return call_forward({to_value(std::forward<T>(args))...}, {});
  }
  Function get_method(std::string_view name) const { return method(name); }
  std::string code() const { return method("forward").code(); }

  // Without `recurse`, only the module's own.
  std::vector<Tensor> parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  NamedTensors named_parameters(bool recurse = true) const;
  NamedTensors named_buffers(bool recurse = true) const;
  std::vector<std::pair<std::string, Module>> named_children() const;
  std::vector<std::pair<std::string, Module>> named_modules() const;  // itself first, as ""
  Module submodule(std::string_view path) const;                      // "layers.0"

  bool is_training() const;
  const Module& train(bool on = true) const;  // of everything below, too
  const Module& eval() const { return train(false); }
  // Parameters of a module that was built from text require grad, as nn.Parameter does; those of a file, as it says.
  const Module& requires_grad_(bool on = true) const;
  // Clears the gradients of parameters; without set_to_none they become zeros.
  void zero_grad(bool set_to_none = true) const;
  // Converts parameters and buffers that are floating point (dtype), or all of them (device), where they are.
  // Parameters stay the same tensors with other data, unless the device is meta.
  const Module& to(DType dtype) const;
  const Module& to(Device device) const;

  // Parameters and buffers under all of their names: shared ones are there more than once.
  NamedTensors state_dict() const;
  // Copies values into the tensors of the same names. With `strict`, names that are missing or unexpected are an Error;
  // sizes that differ always are.
  void load_state_dict(const NamedTensors& state, bool strict = true) const;

  // A copy with its own tensors, lists and objects. Parts that are shared within the module are shared within the copy.
  Module clone() const;
  Module deepcopy() const { return clone(); }

  // Writes a TorchScript archive (.pt) with everything that the module needs, which load() and PyTorch's torch.jit.load
  // read. The file is written whole or not at all; the same module gives the same bytes. Throws Error with the path.
  void save(const std::string& path, const ExtraFiles& extra_files = {}) const;
  // The same with bytecode (.ptl), for PyTorch's lite interpreter. Throws Error (not_implemented) for code that
  // it cannot run.
  void save_lite(const std::string& path, const ExtraFiles& extra_files = {}) const;

 private:
  Value call_forward(std::vector<Value> args, NamedValues kwargs) const;
  bool call_again(const detail::BorrowedValue* args, size_t count, Value& result) const;
};

struct CompileOptions {
  std::string name = "<string>";  // of the text, in messages
  int first_line = 1;
};

class SCONCE_API CompilationUnit {
 public:
  explicit CompilationUnit(std::string_view source, const CompileOptions& options = {});
  CompilationUnit(CompilationUnit&&) noexcept;
  ~CompilationUnit();

  bool has_function(std::string_view name) const;
  Function function(std::string_view name) const;  // throws Error when there is none
  std::vector<std::string> function_names() const;
  // More text, which sees the names defined before.
  void define(std::string_view source, const CompileOptions& options = {});

  // A new instance of a module class of the text (or of the library: "torch.nn.Linear"): runs its __init__
  // and compiles it.
  template <class... T>
  Module module(std::string_view class_name, T&&... args) {
    return build(class_name, {to_value(std::forward<T>(args))...}, {});
  }
  Module build(std::string_view class_name, const std::vector<Value>& args, const NamedValues& kwargs = {});
  // A new instance of a script class.
  template <class... T>
  Object object(std::string_view class_name, T&&... args) const {
    return create(class_name, {to_value(std::forward<T>(args))...});
  }
  Object create(std::string_view class_name, std::vector<Value> args, NamedValues kwargs = {}) const;
  // A member of an enum of the text: enum_member("Color", "RED").
  Value enum_member(std::string_view class_name, std::string_view member) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Compiles every function and class of a text; classes of modules are compiled when instances are built.
SCONCE_API CompilationUnit compile(std::string_view source, const CompileOptions& options = {});

// The module in a file that holds a program: a TorchScript archive (.pt, as torch.jit.save writes it), one for the lite
// interpreter (.ptl), an exported program (.pt2). The content decides which it is. Its tensors lie in the mapped file.
// `extra_files`, when given, gets those of the archive. Throws Error with the path and what is wrong.
SCONCE_API Module load(const std::string& path, ExtraFiles* extra_files = nullptr);
// With more to say. A file whose code calls operators that do not exist is loaded, since it may never come to them: a
// call of one throws Error, which names all that are missing.
struct LoadSettings {
  bool strict = false;  // throws Error instead, for a program or an exported program with any such call
  ExtraFiles* extra_files = nullptr;
  std::vector<std::string>* missing_operators = nullptr;  // when given, gets their names
  // Code that the file runs while it is loaded (__setstate__) may call every operator, not only those that copy, view,
  // pack or make tensors.
  bool trust = false;
  // Whether tensors lie in the mapped file. Without, it is read: for files that others may change while they are used
  // (see FileBytes).
  bool mmap = true;
  // In place of what loading may use by default (64 MiB and 4 bytes for each byte of the file, ...: load_budget.h).
  Limits limits = {};
};
SCONCE_API Module load(const std::string& path, const LoadSettings& settings);
SCONCE_API Module load(const std::shared_ptr<const FileBytes>& file, const LoadSettings& settings);
// From memory, which is copied.
SCONCE_API Module load(std::span<const std::byte> bytes, ExtraFiles* extra_files = nullptr);
SCONCE_API Module load(const std::shared_ptr<const FileBytes>& file, ExtraFiles* extra_files = nullptr);

// module.save(path)
SCONCE_API void save(const Module& module, const std::string& path, const ExtraFiles& extra_files = {});

}  // namespace sconce::jit
