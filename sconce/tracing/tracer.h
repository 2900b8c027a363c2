// Tracer: records the operators that a function calls, as a graph.
//
//   const Trace made = trace([](std::vector<Value> in) { return Value(relu(in[0].to_tensor())); }, {x});
//   made.graph:  graph(%0 : Float(2, strides=[1], requires_grad=0, device=cpu)): %1 : Float(...) = aten::relu(%0) ...
//
// Note [Tracing]
// While a thread traces, its calls have Key::tracer. The kernel for that key is one for all operators: it adds a node
// with the operator of the call, calls the operator below the key, unrecorded, and remembers which value of the graph
// each tensor of the result is. A tensor that no recorded call made is a constant. Numbers have no identity, so they
// are constants, too, unless the caller says where one came from: sizes are tensors while tracing (size_of), and a
// front end that takes a tensor for a number names its value for the argument before the call (stash).
// What a module calls lies in a block of its own, between enter_module and leave_module; in the end these blocks are
// methods of the module's class (scopes.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sconce/ir/function.h"
#include "sconce/ir/graph.h"

namespace sconce::tracing {

// What the language of the program tells, beside the calls of operators. All may be empty.
struct Host {
  std::function<Range()> place;                       // where the program is
  std::function<std::string(const Tensor& t)> name;   // what the program calls a tensor; empty: nothing
  std::function<void(const std::string& text)> warn;  // of what a trace does not keep
};

struct TraceOptions {
  std::vector<std::string> argument_names;  // of the inputs; fewer than inputs: they have none
  bool strict = true;                       // lists as results are warned of, dicts refused
  Host host;
};

class SCONCE_API Tracer {
 public:
  explicit Tracer(const TraceOptions& options);
  ~Tracer();
  Tracer(const Tracer&) = delete;

  // The one of this thread that is recording; null when there is none, and inside of a recorded operator.
  static Tracer* current();

  ir::Graph& graph() { return *graph_; }
  const std::shared_ptr<ir::Graph>& shared_graph() { return graph_; }

  // The value that stands for it: of a recorded call, of an input, or a new constant. Throws Error for a tensor outside
  // that requires grad, and for objects that are no part of the traced module.
  ir::Value* value_of(const sconce::Value& v);
  // From now on `v` is `value`; lists, tuples and dicts are taken apart.
  void set_value(const sconce::Value& v, ir::Value* value);
  // The value of a result. Throws Error for one that does not depend on what was recorded.
  ir::Value* result(const sconce::Value& v);
  // An input of the graph. The tensors in it may be replaced: one that is there twice is two inputs.
  sconce::Value add_input(const sconce::Value& v, ir::Value* value);
  // The module whose method is recorded, with its parameters, buffers and submodules.
  void add_self(const sconce::Value& object);

  // A size as a tensor without dimensions that the graph computes.
  Tensor size_of(const Tensor& t, int64_t dim);
  Tensor numel_of(const Tensor& t);

  // The next recorded call with an argument of this name takes the number in `t` from the graph; `type`: int, float or
  // number. Of a list of integers, the element at `index`.
  void stash(const std::string& argument, const Tensor& t, TypePtr type);
  void stash(const std::string& argument, size_t size, size_t index, const Tensor& t);
  void clear_stash();

  // Calls of a module ("__module.layers.0") begin and end.
  void enter_module(const std::string& path);
  void leave_module();

  // The kernel of Key::tracer.
  void record(const Op& op, KeySet keys, sconce::Value* args, sconce::Value* returns);
  // A call of a function of a program, or of a method, whose object is the first argument: recorded as a call.
  sconce::Value record_call(ir::Function& f, const std::vector<sconce::Value>& args,
                            const std::function<sconce::Value()>& run);

  void warn(const std::string& text) const;

 private:
  void add_attributes(const sconce::Value& object, const std::string& path);
  ir::Node* insert(ir::Node* node, bool with_place);
  ir::Value* insert_after_maker(const char* op, ir::Value* of, TypePtr type);
  ir::Value* constant(sconce::Value v);
  ir::Value* none();
  ir::Value* list_of(TypePtr element, const std::vector<ir::Value*>& items);
  ir::Value* known(const void* identity);
  ir::Value* argument(const Argument& a, const sconce::Value& v);
  ir::Value* list_argument(const Argument& a, TypePtr type, const sconce::Value& v);
  ir::Value* stashed(const Argument& a);
  void set_results(ir::Node* node, const Op& op, const sconce::Value* returns, bool differentiated);
  Tensor number_tensor(int64_t v, ir::Value* number);

  struct Known {
    sconce::Value kept;  // so that its address stays its own
    ir::Value* value;
  };
  std::shared_ptr<ir::Graph> graph_;
  std::unordered_map<const void*, Known> known_;
  std::map<std::string, ir::Value*, std::less<>> numbers_;
  std::map<std::string, std::vector<ir::Value*>, std::less<>> lists_;
  std::vector<std::string> scopes_;
  std::string scope_;  // "__module.a/__module.a.b"
  bool strict_;
  Host host_;
};

// CallHook: another recorder of this thread's calls than Tracer, for graphs that need other rules (capture of Python
// functions). While a HookScope lives, every call of an operator goes to it.
struct SCONCE_API CallHook {
  virtual ~CallHook();
  // The kernel of Key::tracer: runs the call and fills `returns`.
  virtual void call(const Op& op, KeySet keys, sconce::Value* args, sconce::Value* returns) = 0;
};
class SCONCE_API HookScope {
 public:
  explicit HookScope(CallHook& hook);
  ~HookScope();
  HookScope(const HookScope&) = delete;
  static bool is_active();  // in this thread, and not paused

 private:
  CallHook* outer_;
  bool was_on_;
};

// Nothing is recorded in a scope.
class SCONCE_API Paused {
 public:
  Paused();
  ~Paused();
  Paused(const Paused&) = delete;

 private:
  Tracer* tracer_;
  CallHook* hook_;
};

using TracedFunction = std::function<Value(std::vector<Value> inputs)>;

struct Trace {
  std::shared_ptr<ir::Graph> graph;
  Value result;
};
// Runs `f` once and gives what it called. With `self`, an instance of a class of modules: the graph of a method; the
// methods of the modules inside become functions of `unit` and part of their classes. Throws Error as `f` does, or if
// the thread is tracing.
SCONCE_API Trace trace(const TracedFunction& f, std::vector<Value> inputs, const TraceOptions& options = {},
                       const Value& self = {}, ir::CompilationUnit* unit = nullptr);

// Makes the graph a function of the unit; with `self_type`, a method of that class. The function runs without what is
// known of the tensors that it was traced with, since others may come; traced_graph() has it, for readers. Null for
// functions that were not traced.
SCONCE_API ir::Function& define_traced(ir::CompilationUnit& unit, std::string name, std::shared_ptr<ir::Graph> graph,
                                       TypePtr self_type = nullptr);
SCONCE_API std::shared_ptr<ir::Graph> traced_graph(ir::Function& f);

}  // namespace sconce::tracing
