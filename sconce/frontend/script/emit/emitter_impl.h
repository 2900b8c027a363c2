// Emitter internals: its state and steps; each group is implemented in the file named above it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/emit/environment.h"
#include "sconce/frontend/script/emit/refinement.h"
#include "sconce/frontend/script/names/slice_value.h"

namespace sconce::script {

// How deep statements and expressions may nest. The parser limits parentheses and blocks; chains of calls, attributes
// and `elif` are limited here.
inline constexpr int kMaxEmitDepth = 400;
// How often the bodies of unrolled loops may be repeated in a function, and how large a type may get.
inline constexpr size_t kMaxUnrolledBodies = 20000;
inline constexpr size_t kMaxTypeSize = 100000;

struct Emitter::Impl {
  Impl(Emitter& e) : e(e), graph(e.graph()) {}

  Emitter& e;
  ir::Graph& graph;
  std::shared_ptr<Environment> environment;
  enum class Loop : uint8_t { none, loop, unrolled } loop = Loop::none;
  // Blocks that end in return or raise: statements behind that are never reached.
  std::unordered_set<ir::Block*> exited;
  // The function, and the functions nested in it, that are being emitted.
  struct FunctionState {
    TypePtr declared_return = nullptr;
    TypePtr merged_return = nullptr;
  };
  std::vector<FunctionState> functions;
  int depth = 0;
  size_t unrolled_bodies = 0;
  std::unordered_map<TypePtr, size_t> type_sizes;
  syntax::Tree made;  // nodes without source text

  // ---- emitter.cpp: functions and variables ----
  void function(const syntax::FunctionDef& def, const Schema& schema, ir::Block* block);
  ir::Block* current() const { return environment->block(); }
  bool has_exited() const { return exited.contains(current()); }
  void exit_block() { exited.insert(current()); }
  void push(ir::Block* block, Environment::Kind kind = Environment::Kind::block);
  std::shared_ptr<Environment> pop();
  ir::Node* node(const Range& at, ir::Symbol kind, ListRef<ir::Value*> inputs, ListRef<TypePtr> outputs) {
    return e.node(at, kind, inputs, outputs);
  }
  ir::Value* unchecked_cast(const Range& at, ir::Value* v, TypePtr type);
  // The number of types that it is made of; x = (x, x) doubles it.
  size_t type_size(TypePtr type);
  // Sets a variable; `annotation` is null unless the assignment declares its type.
  void set(const Range& at, const std::string& name, SugaredPtr value, TypePtr annotation = nullptr);
  void set(const Range& at, const std::string& name, ir::Value* value, TypePtr annotation = nullptr);
  // The variable's value; null when there is no such variable.
  SugaredPtr load(const Range& at, const std::string& name);
  SugaredPtr load_from(Environment& env, const Range& at, const std::string& name);
  void store(const Range& at, const std::string& storage, ir::Value* v, TypePtr type);

  // ---- statements.cpp ----
  void body(const syntax::Body& statements);
  void statement(syntax::StmtPtr s);
  void plain_statement(syntax::StmtPtr s);
  void forget_blocks(const ir::Node& node);
  void return_(const Range& at, ir::Value* v);
  void raise(const syntax::Raise& s);
  void raise_message(const Range& at, ir::Value* message, ir::Value* class_name);
  void assert_(const syntax::Assert& s);
  void delete_(const syntax::Delete& s);
  void with(const syntax::With& s);
  void break_or_continue(const Range& at, bool is_break);
  void nested_function(const syntax::FunctionDef& def);

  // ---- assign.cpp ----
  void assign(const syntax::Assign& s);
  void assign_one(const Range& at, syntax::ExprPtr target, syntax::ExprPtr annotation, syntax::ExprPtr value);
  // value -> target, evaluated already. `at`: where the value was written.
  void assign_value(const Range& at, syntax::ExprPtr target, SugaredPtr value);
  void assign_tuple(const Range& at, const std::vector<syntax::ExprPtr>& targets, const Range& targets_at,
                    SugaredPtr value);
  void assign_attribute(const Range& at, const syntax::Attribute& target, TypePtr annotation,
                        const std::function<ir::Value*(TypePtr)>& value);
  void assign_subscript(const Range& at, const syntax::Subscript& target, const Range& value_at, ir::Value* value);
  bool check_targets(const std::vector<syntax::ExprPtr>& targets, const Range& at);  // true: one is starred
  void augment(const syntax::AugAssign& s);
  ir::Value* augmented(const syntax::AugAssign& s, ir::Value* old, ir::Value* by);

  // ---- conditions.cpp ----
  Condition condition(syntax::ExprPtr e);
  Condition short_circuit(const syntax::BoolOp& b);
  Condition is_comparison(const syntax::Compare& c);
  Condition isinstance(syntax::ExprPtr object, syntax::ExprPtr types);
  Condition hasattr(const Range& at, syntax::ExprPtr object, syntax::ExprPtr name);
  Condition known_condition(const Range& at, bool value, Refinements refinements = {});
  void refine(const Range& at, const std::vector<Refinement>& refinements);
  ir::Value* if_expression(const Range& at, const Condition& c, const std::function<ir::Value*()>& if_true,
                           const std::function<ir::Value*()>& if_false, TypePtr hint = nullptr);
  // if/elif/else and assert; a branch is the code that the function emits.
  void if_statement(const Range& at, const Condition& c, const std::function<void()>& if_true,
                    const std::function<void()>& if_false);

  // ---- loops.cpp ----
  void for_loop(const Range& at, syntax::ExprPtr target, SugaredPtr iterable, const std::function<void()>& emit_body);
  void unrolled(const Range& at, syntax::ExprPtr target, SugaredPtr iterable, size_t count,
                const std::function<void()>& emit_body);
  void while_loop(const syntax::While& s);
  void for_statement(const syntax::For& s);

  // ---- comprehension.cpp ----
  ir::Value* list_comprehension(const syntax::ListComp& c, TypePtr hint);
  ir::Value* dict_comprehension(const syntax::DictComp& c, TypePtr hint);

  // ---- indexing.cpp ----
  SugaredPtr subscript(const syntax::Subscript& s, TypePtr hint);
  // A tensor with ints, slices and None applied, and the tensors that are left to index with.
  struct Indexed {
    ir::Value* tensor;
    std::vector<ir::Value*> indices;
  };
  Indexed index_tensor(const Range& at, ir::Value* tensor, const std::vector<syntax::ExprPtr>& indices);
  ir::Value* index_list(const Range& at, const std::vector<ir::Value*>& indices);
  ir::Value* slice(const Range& at, ir::Value* v, std::optional<int64_t> dim, const SliceBounds& bounds);
  SliceBounds slice_bounds(const syntax::Slice& s);
  SugaredPtr tuple_slice(const Range& at, SugaredPtr tuple, const SliceBounds& bounds);
  // A number as a tensor like `like`; a tensor as it is.
  ir::Value* to_tensor_like(const Range& at, ir::Value* v, ir::Value* like);

  // ---- expressions.cpp ----
  SugaredPtr sugared(syntax::ExprPtr x, TypePtr hint);
  SugaredPtr name(const syntax::Name& n);
  SugaredPtr attribute(const syntax::Attribute& a);
  ir::Value* constant(const syntax::Constant& c);
  ir::Value* binary(const Range& at, syntax::Operator op, ir::Value* left, ir::Value* right);
  ir::Value* binary_chain(const syntax::Binary& b);
  ir::Value* compare(const syntax::Compare& c);
  ir::Value* unary(const syntax::Unary& u);
  ir::Value* format(const syntax::Format& f);
  std::vector<ir::Value*> values(const std::vector<syntax::ExprPtr>& items, const std::vector<TypePtr>& hints);
  SugaredPtr call(const syntax::Call& c, TypePtr hint);

  // ---- containers.cpp: displays, and types that hints and unions give them ----
  ir::Value* list(const syntax::ListExpr& l, TypePtr hint);
  ir::Value* dict(const syntax::DictExpr& d, TypePtr hint);
  ir::Value* tuple(const syntax::TupleExpr& t, TypePtr hint);

  // ---- special_forms.cpp ----
  SugaredPtr special_form(const std::string& form, const syntax::Call& c, TypePtr hint);
  SugaredPtr tolist(const syntax::Call& c, const syntax::Attribute& callee, TypePtr hint);
  SugaredPtr fork(const syntax::Call& c, ir::Symbol kind);
  // dict(...) with keywords, as pairs or as items that are set one by one
  SugaredPtr dict_call(const syntax::Call& c, SugaredPtr function, TypePtr hint);
  void expect_arguments(const syntax::Call& c, const char* who, size_t least, size_t most);
};

// Guards against trees that nest too deeply for the stack.
class DepthGuard {
 public:
  DepthGuard(int& depth, const Range& at) : depth_(depth) {
    if (++depth_ > kMaxEmitDepth) {
      --depth_;
      refuse(at, "the program nests deeper than {} levels here", kMaxEmitDepth);
    }
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace sconce::script
