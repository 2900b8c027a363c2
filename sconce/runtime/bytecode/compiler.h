// Bytecode compiler: from graph to code.
//
// Note [Generating code]
// One walk over the graph in program order. Liveness says where values die; a register is free again then, and a
// counted value is moved out by its last user or dropped. Values that a block passes on (results of an If, carried
// values of a Loop) are computed in the register where they are wanted if that is free in time ("hints"); the rest is a
// parallel move at the block's end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/bytecode/graph_code.h"
#include "sconce/runtime/bytecode/instruction_choice.h"
#include "sconce/runtime/bytecode/liveness.h"
#include "sconce/runtime/bytecode/registers.h"

namespace sconce::runtime {

// The code of a graph. `name` is for tracebacks. Throws Error for graphs that cannot run: unknown kinds, too many
// registers. `sites`, when given, is told which instructions are which node's.
std::shared_ptr<Code> generate(const ir::Graph& graph, std::string name, ir::CompilationUnit* unit, bool is_method,
                               NodeSites* sites = nullptr);

// The compiler of a function's first call: passes, then generate().
extern const GraphCompiler optimising_compiler;

class BytecodeCompiler {
 public:
  BytecodeCompiler(const ir::Graph& graph, std::string name, ir::CompilationUnit* unit, bool is_method,
                   NodeSites* sites);
  std::shared_ptr<Code> run();

 private:
  // An operand before the frame is laid out: a local, a constant or a place in the window of calls.
  using Draft = uint32_t;
  static constexpr Draft kConstants = 1u << 24, kWindow = 1u << 25;
  static Draft local(uint32_t r) { return 2 * r; }

  struct Placed {
    uint32_t r;
    bool borrowed;
  };
  struct DraftInstruction {
    Opcode op;
    Draft a, b, c;
    Instruction tail;  // x
    bool deleted = false;
  };
  struct Label {
    int64_t at = -1;
  };
  struct Move {
    const ir::Value* from;
    Draft to;
    RegisterClass to_class;
    bool whole = false;  // both words, for every class: results of a function, arguments of a call
  };

  // compiler.cpp: values, instructions, the final layout
  void find_deferred(const ir::Block* block);
  bool can_defer(const ir::Node* node) const;
  void place_arguments();
  Draft operand(const ir::Value* v);
  Draft constant(const Value& v);
  bool is_word(const ir::Value* v) const { return class_of(v->type()) != RegisterClass::value; }
  bool is_owned(const ir::Value* v) const;   // in a register that must be released
  bool dies_here(const ir::Value* v) const;  // at the current node, in a register that must be released
  Draft take(const ir::Value* v);            // operand, moved from when it dies here
  Draft take_input(size_t i);                // the same for an input that may be used twice by the node
  void free_taken();                         // registers of words and of moved values that die here
  Draft define(const ir::Value* v);          // a register for an output
  void place(const ir::Value* v, uint32_t r, bool borrowed = false);
  void drop(const ir::Value* v);
  void finish(const ir::Node* node);  // drops the values that died and were not moved
  void emit(Opcode op, Draft a = 0, Draft b = 0, Draft c = 0, int64_t x = 0);
  void emit_float(Opcode op, Draft a, Draft b, double x);
  void emit_op_call(Opcode op, Draft a, Draft b, Draft c, OpCall* call);
  void emit_call(Opcode op, Draft a, CallSite* site);
  void emit_build(Opcode op, Draft a, Draft b, BuildSite* site);
  void jump(Opcode op, Label& target, Draft a = 0, Draft b = 0, Draft c = 0);
  void bind(Label& label);
  std::optional<int64_t> constant_int(const ir::Value* v) const;
  std::optional<double> constant_float(const ir::Value* v) const;
  std::optional<bool> constant_bool(const ir::Value* v) const;
  void lay_out();

  // compile_peephole.cpp
  void fuse_loop_ends();
  void remove_deleted();

  // compile_control.cpp
  void block(const ir::Block* b);
  void node(const ir::Node* n);
  void note_site(const ir::Node* n);
  void note_results(const ir::Node* n);
  void emit_if(const ir::Node* n);
  void emit_loop(const ir::Node* n);
  void branch(const ir::Value* condition, bool when, Label& target);  // jumps when the condition has this value
  void pass_results(const ir::Block* b, std::vector<Move> moves);
  void parallel_move(std::vector<Move> moves);
  void move_one(const Move& m, Draft from, bool dies);

  // compile_numbers.cpp
  bool emit_arithmetic(const ir::Node* n);
  bool branch_on(const ir::Node* n, bool when, Label& target);
  Draft as_float(const ir::Value* v, std::vector<uint32_t>& temporaries);

  // compile_values.cpp
  bool emit_container(const ir::Node* n);
  void emit_build_node(const ir::Node* n, Opcode op);
  void emit_unpack(const ir::Node* n, Opcode op);
  void emit_tuple_index(const ir::Node* n);
  void emit_tuple_slice(const ir::Node* n);
  void emit_get_attr(const ir::Node* n);
  void emit_set_attr(const ir::Node* n);
  void emit_isinstance(const ir::Node* n);
  void emit_tolist(const ir::Node* n);
  void emit_cast(const ir::Node* n);
  void emit_uninitialized(const ir::Node* n);

  // compile_calls.cpp
  void emit_op(const ir::Node* n);
  void emit_typed_op(const ir::Node* n, Signature signature);
  void emit_function_call(const ir::Node* n);
  void emit_fork(const ir::Node* n, Opcode op);
  void emit_region(const ir::Node* n);
  void emit_enter(const ir::Node* n);
  void emit_exit(const ir::Node* n);
  void emit_raise(const ir::Node* n);
  void emit_wait(const ir::Node* n);
  // Puts arguments into the window, calls, fetches the results. `values` with null for None.
  void call_with(CallSite& site, bool dynamic, bool borrows_self, const std::vector<const ir::Value*>& values,
                 const std::vector<TypePtr>& types, const std::vector<ir::Value*>& results);

  const ir::Graph& graph_;
  ir::CompilationUnit* unit_;
  NodeSites* node_sites_;  // null when not asked for
  std::shared_ptr<Code> code_;
  Deferred deferred_;
  std::optional<Liveness> liveness_;
  Registers registers_;
  std::unordered_map<const ir::Value*, Placed> places_;
  std::unordered_map<const ir::Value*, uint32_t> hints_;
  std::vector<DraftInstruction> drafts_;
  std::vector<std::pair<size_t, Label*>> jumps_;
  std::deque<Label> labels_;
  std::vector<Value> constants_;
  std::unordered_map<std::string, Draft> constant_index_;
  uint32_t window_ = 0;
  const ir::Node* current_ = nullptr;
  std::vector<const ir::Value*> moved_;  // by the current node
  bool taken_are_free_ = false;          // free_taken was called for the current node
  bool attributes_are_stable_ = false;   // nothing in the graph can set an attribute
};

}  // namespace sconce::runtime
