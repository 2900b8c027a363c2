// Dynamic: a dynamically typed Python value while modules are built. Construction is Python, not TorchScript: lists
// hold anything, and modules, classes and functions are values too.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sconce/frontend/script/names/scope.h"

namespace sconce::script {

struct Dynamic;
struct Instance;

// Sources may be hostile: values may be nested a million deep, or be items of themselves. Whatever walks over them
// takes one more of these at each level, and so ends in an Error; they end without recursion.
class Nesting {
 public:
  Nesting();
  ~Nesting();
  Nesting(const Nesting&) = delete;
};

struct SCONCE_API DynamicList {
  std::vector<Dynamic> items;
  bool is_remembered = false;  // by the evaluator
  ~DynamicList();
};
struct SCONCE_API DynamicTuple {
  std::vector<Dynamic> items;
  TypePtr named = nullptr;  // a named tuple's type
  ~DynamicTuple();
};
struct SCONCE_API DynamicDict {
  ~DynamicDict();
  std::vector<std::pair<Dynamic, Dynamic>> items;  // in order of insertion
  bool is_remembered = false;                      // by the evaluator
  Dynamic* find(const Dynamic& key);               // null when missing
  void set(Dynamic key, Dynamic value);

 private:
  // Places of the first items by their keys' hashes, once there are many. Made anew when items are gone.
  std::unordered_multimap<size_t, size_t> places_;
  size_t placed_ = 0;  // how many items it has
};
// nn.Parameter(t)
struct DynamicParameter {
  sconce::Value tensor;
};
struct SCONCE_API DynamicVariables {
  std::unordered_map<std::string, Dynamic> by_name;
  explicit DynamicVariables(std::unordered_map<std::string, Dynamic> variables);
  ~DynamicVariables();
};
// A function of a text, or a method with its instance.
struct DynamicFunction {
  const syntax::FunctionDef* def;
  Scope* scope;
  Definition* owner = nullptr;  // the class it was found in
  std::shared_ptr<Instance> self = nullptr;
  // Of a function inside of a function: the variables around it.
  std::shared_ptr<DynamicVariables> closure = nullptr;
};
// A name of the language's own: torch.zeros, math.pi, len, nn.Module.
struct DynamicName {
  std::string path;
};
// A method of ours: [1].append, "a".join, x.view, module.register_buffer.
struct DynamicMethod {
  std::shared_ptr<Dynamic> self;
  std::string name;
};
// super(): attributes of `self` from the classes after `after`.
struct DynamicSuper {
  std::shared_ptr<Instance> self;
  Definition* after;
};

// An object of the host language that means nothing in programs (host_program.h).
struct DynamicForeign {
  std::string type;     // its class, for messages
  std::string message;  // why it cannot be used; empty: the usual words
};

struct Dynamic {
  using List = std::shared_ptr<DynamicList>;
  using Tuple = std::shared_ptr<DynamicTuple>;
  using Dict = std::shared_ptr<DynamicDict>;
  std::variant<sconce::Value, List, Tuple, Dict, DynamicParameter, std::shared_ptr<Instance>, Definition*,
               DynamicFunction, DynamicName, DynamicMethod, DynamicSuper, TypePtr, DynamicForeign>
      data;

  Dynamic() = default;
  template <class T>
    requires std::constructible_from<decltype(data), T&&> && (!std::same_as<std::decay_t<T>, Dynamic>)
  Dynamic(T&& v) : data(std::forward<T>(v)) {}

  template <class T>
  T* get() {
    return std::get_if<T>(&data);
  }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  // The Value, also of a parameter; null if it is neither.
  const sconce::Value* value() const;
  bool is_none() const { return value() && value()->is_none(); }
  const std::string* string() const;
  bool is_tensor() const { return value() && value()->is_tensor(); }
  // A module or an instance of a script class; null if it is neither.
  Instance* instance() const;
  bool owns_others() const;  // a container, an instance, a function with its closure
  // Items of a list or a tuple; null if it is neither.
  const std::vector<Dynamic>* items() const;
};

// An instance of a class of a text. A module's parameters, buffers and submodules stand among its attributes.
struct SCONCE_API Instance {
  enum class Kind : uint8_t { plain, parameter, buffer, module };
  struct Attribute {
    std::string name;
    Dynamic value;
    Kind kind = Kind::plain;
  };
  Definition* cls = nullptr;
  std::vector<Attribute> attributes;
  bool is_module = false;
  std::vector<Dynamic> forward_pre_hooks, forward_hooks;
  // self.x: T = v
  struct Annotation {
    std::string name;
    syntax::ExprPtr type;
    Scope* scope;
  };
  std::vector<Annotation> annotations;
  // A module's type and object, once it was given one.
  TypePtr type = nullptr;
  sconce::Value object;

  Instance() = default;
  Instance(const Instance&) = default;
  Instance(Instance&&) = default;
  Instance& operator=(Instance&&) = default;
  ~Instance();

  Attribute* find(std::string_view name);  // null when missing
  // As self.name = value does: a parameter, a module or a buffer stays or becomes one.
  void set(const std::string& name, Dynamic value);
  void set(const std::string& name, Dynamic value, Kind kind);
  bool erase(std::string_view name);
};

Dynamic make_list(std::vector<Dynamic> items);
Dynamic make_tuple(std::vector<Dynamic> items);

// Python's name of the value's type: "int", "list", "Linear".
std::string type_name(const Dynamic& v);
// Python's str() and repr().
std::string to_text(const Dynamic& v);
// `text` with the next value for each {}, as f-strings and str.format have it. Refuses at `at` when values run out.
std::string filled(const std::string& text, const std::vector<Dynamic>& values, const Range& at);
std::string to_repr(const Dynamic& v);
bool same(const Dynamic& a, const Dynamic& b);    // is
bool equals(const Dynamic& a, const Dynamic& b);  // ==, by value

// The classes in which attributes are looked up, the class itself first. Throws CompileError for an inconsistent order.
std::vector<Definition*> lookup_order(Definition& cls);

// The type that TorchScript gives to a value by itself; null with the reason when it has none.
TypePtr infer_type(const Dynamic& v, std::string* why);
// The value as `type`. Nothing, with the reason, when it does not fit.
std::optional<sconce::Value> to_value(const Dynamic& v, TypePtr type, std::string* why);
// A Value as construction sees it: lists and dicts of its own.
Dynamic from_value(const sconce::Value& v);

}  // namespace sconce::script
