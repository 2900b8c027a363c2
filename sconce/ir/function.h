// Function: a qualified name, a schema and a graph. CompilationUnit: the functions and named types of a program.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sconce/dispatch/schema.h"
#include "sconce/ir/graph.h"

namespace sconce::ir {

class CompilationUnit;

// The part of the runtime in a function (bytecode, plans). Made on the first call, by the first caller.
struct Executable {
  virtual ~Executable() = default;
};

class SCONCE_API Function {
 public:
  // `define`, when given, fills schema and graph when they are first needed (a function is compiled when it is called).
  using Define = std::function<void(Function&)>;
  Function(CompilationUnit* unit, std::string name, Define define = {});
  ~Function();
  Function(const Function&) = delete;

  CompilationUnit& unit() const { return *unit_; }
  const std::string& name() const { return name_; }  // "__torch__.m.MLP.forward"
  std::string_view short_name() const;               // "forward"
  TypePtr self_type() const { return self_type_; }   // of a method; null for a function
  void set_self_type(TypePtr type) { self_type_ = type; }

  // Compiles when that has not happened. Throws CompileError; also when it is being compiled already: "function 'f' is
  // called recursively". Not thread-safe before the unit is finished (CompilationUnit::define_all).
  void ensure_defined();
  bool is_defined() const { return state_ == State::defined; }
  bool is_compiling() const { return state_ == State::compiling; }
  // A signature may be known before the body is compiled (all annotated, or declared by an interface).
  const Schema& schema();
  void set_schema(Schema schema) { schema_ = std::move(schema), has_schema_ = true; }
  bool has_schema() const { return has_schema_; }
  // The graph as the frontend made it; passes for running work on copies. Throws Error when it has none and never will.
  const std::shared_ptr<Graph>& graph();
  void set_graph(std::shared_ptr<Graph> graph) { graph_ = std::move(graph); }
  // For functions that come as code: why there is no graph ("was loaded from lite bytecode").
  void set_no_graph(std::string why) { no_graph_ = std::move(why); }
  bool has_graph() const { return no_graph_.empty(); }

  // The runtime's part. `make` runs once, under a lock.
  Executable& executable(const std::function<std::unique_ptr<Executable>(Function&)>& make);
  void drop_executable();  // after the graph was changed; no thread may be running it

 private:
  enum class State : uint8_t { declared, compiling, defined };
  CompilationUnit* unit_;
  std::string name_;
  Define define_;
  State state_;
  TypePtr self_type_ = nullptr;
  bool has_schema_ = false;
  Schema schema_;
  std::shared_ptr<Graph> graph_;
  std::string no_graph_;
  std::mutex mutex_;
  std::atomic<Executable*> executable_{nullptr};
};

class SCONCE_API CompilationUnit {
 public:
  CompilationUnit();
  ~CompilationUnit();
  CompilationUnit(const CompilationUnit&) = delete;

  // Throws Error when the name is taken.
  Function& add_function(std::string name, Function::Define define = {});
  Function* find_function(std::string_view name) const;  // null when there is none
  std::vector<Function*> functions() const;              // in order of definition; methods too
  void remove_function(std::string_view name);

  // Named types: classes, interfaces, enums, named tuples. Those without an owner are the unit's from now on, and go
  // with it and with the last value of theirs (Note [Lifetime of types]). Throws Error when the name is taken.
  void add_type(TypePtr type);
  // For a unit that is never destroyed: types that are added live forever, and values need not count their owners.
  void keep_types_forever() { scope_ = nullptr; }
  TypePtr find_type(std::string_view name) const;
  const std::vector<TypePtr>& types() const { return types_; }
  // `name`, or the same with ___torch_mangle_N before the last part when it is taken, as PyTorch does.
  std::string unique_name(std::string_view name);

  // Compiles every function. After this the unit is read-only and may be shared by threads.
  void define_all();

 private:
  std::vector<std::unique_ptr<Function>> functions_;
  std::unordered_map<std::string, Function*> by_name_;
  std::vector<TypePtr> types_;
  std::unordered_map<std::string, TypePtr> types_by_name_;
  Ref<TypeScope> scope_;  // null: types live forever
  size_t mangle_ = 0;
};

// The method of a class; null when it has none.
SCONCE_API Function* find_method(TypePtr class_type, std::string_view name);

}  // namespace sconce::ir
