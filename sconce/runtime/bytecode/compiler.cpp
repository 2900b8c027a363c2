#include "sconce/runtime/bytecode/compiler.h"

#include <chrono>
#include <cstdio>

#include "sconce/base/logs.h"
#include "sconce/passes/analysis/activity.h"
#include "sconce/types/class_info.h"

namespace sconce::runtime {

using ir::kind::Constant;

namespace {

constexpr uint32_t kMostRegisters = 32'767;  // operands are 16 bits, twice the number

// True when nothing in the block can change an attribute of an object: no SetAttr, and nothing that runs other code.
bool keeps_attributes(const ir::Block* block) {
  for (const ir::Node* n : block->nodes()) {
    switch (n->kind().id()) {
      case ir::kind::SetAttr_id:
      case ir::kind::CallFunction_id:
      case ir::kind::CallMethod_id:
      case ir::kind::fork_id:
      case ir::kind::awaitable_id:
      case ir::kind::awaitable_wait_id:
      case ir::kind::Enter_id:
      case ir::kind::Exit_id:
        return false;
      default:
        break;
    }
    if (n->op() && container_of(*n->op()) == Container::wait) return false;
    for (const ir::Block* b : n->blocks()) {
      if (!keeps_attributes(b)) return false;
    }
  }
  return true;
}

// Kinds that codegen knows by themselves; the others need an operator.
bool needs_operator(const ir::Node* n) {
  switch (n->kind().id()) {
    case ir::kind::Constant_id:
    case ir::kind::If_id:
    case ir::kind::Loop_id:
    case ir::kind::ListConstruct_id:
    case ir::kind::DictConstruct_id:
    case ir::kind::TupleConstruct_id:
    case ir::kind::CreateObject_id:
    case ir::kind::TupleUnpack_id:
    case ir::kind::ListUnpack_id:
    case ir::kind::TupleIndex_id:
    case ir::kind::TupleSlice_id:
    case ir::kind::GetAttr_id:
    case ir::kind::SetAttr_id:
    case ir::kind::isinstance_id:
    case ir::kind::tolist_id:
    case ir::kind::unchecked_cast_id:
    case ir::kind::Uninitialized_id:
    case ir::kind::CallFunction_id:
    case ir::kind::CallMethod_id:
    case ir::kind::fork_id:
    case ir::kind::awaitable_id:
    case ir::kind::awaitable_wait_id:
    case ir::kind::awaitable_nowait_id:
    case ir::kind::Enter_id:
    case ir::kind::Exit_id:
    case ir::kind::RaiseException_id:
      return false;
    default:
      return !n->is(passes::differentiable_graph());
  }
}

// The operators of a graph that do not exist: "aten::frobnicate(Tensor, int)", each once.
void find_missing(const ir::Block* block, std::vector<std::string>& missing) {
  for (const ir::Node* n : block->nodes()) {
    if (needs_operator(n) && !n->op()) {
      std::string text = n->kind().text() + "(";
      for (size_t i = 0; i < n->inputs().size(); ++i) text += (i ? ", " : "") + n->input(i)->type()->to_string();
      text += ")";
      if (std::find(missing.begin(), missing.end(), text) == missing.end()) missing.push_back(std::move(text));
    }
    for (const ir::Block* b : n->blocks()) find_missing(b, missing);
  }
}

void check_operators(const ir::Graph& graph, const std::string& name) {
  std::vector<std::string> missing;
  find_missing(graph.block(), missing);
  if (missing.empty()) return;
  std::string list;
  for (const std::string& text : missing) list += (list.empty() ? "" : ", ") + text;
  fail_as(ErrorKind::not_implemented, "function '{}' needs operators that do not exist: {}", name, list);
}

// Equal constants share a register. Counted ones other than strings by identity.
std::string constant_key(const Value& v) {
  if (v.is_string()) return "s" + v.to_string_ref();
  return std::to_string(static_cast<int>(v.tag())) + ":" + std::to_string(v.bits());
}

}  // namespace

std::shared_ptr<Code> generate(const ir::Graph& graph, std::string name, ir::CompilationUnit* unit, bool is_method,
                               NodeSites* sites) {
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<Code> code = BytecodeCompiler(graph, std::move(name), unit, is_method, sites).run();
  if (is_logged(LogTag::bytecode)) {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "code of %s: %zu instructions, %u registers, %.1f us\n", code->name.c_str(),
                 code->instructions.size(), code->total, time.count() * 1e6);
    if (is_logged(LogTag::bytecode, LogLevel::debug)) std::fputs(disassemble(*code).c_str(), stderr);
  }
  return code;
}

BytecodeCompiler::BytecodeCompiler(const ir::Graph& graph, std::string name, ir::CompilationUnit* unit, bool is_method,
                                   NodeSites* sites)
    : graph_(graph), unit_(unit), node_sites_(sites), code_(std::make_shared<Code>()) {
  code_->name = std::move(name);
  code_->unit = unit;
  code_->borrows_self = is_method && !graph.inputs().empty();
}

std::shared_ptr<Code> BytecodeCompiler::run() {
  check_operators(graph_, code_->name);
  attributes_are_stable_ = keeps_attributes(graph_.block());
  find_deferred(graph_.block());
  liveness_.emplace(graph_, deferred_);
  place_arguments();
  block(graph_.block());
  std::vector<Move> results;
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    while (registers_.count() <= i) registers_.take(RegisterClass::value);
    results.push_back({graph_.outputs()[i], local(static_cast<uint32_t>(i)), RegisterClass::value, true});
  }
  pass_results(graph_.block(), std::move(results));
  code_->results = static_cast<uint32_t>(graph_.outputs().size());
  emit(Opcode::ret, code_->results);
  fuse_loop_ends();
  lay_out();
  return code_;
}

// Comparisons whose only use is the condition of an If or Loop that follows.
void BytecodeCompiler::find_deferred(const ir::Block* block) {
  for (const ir::Node* n : block->nodes()) {
    if (can_defer(n)) deferred_.insert(n);
    for (const ir::Block* b : n->blocks()) find_deferred(b);
  }
}

bool BytecodeCompiler::can_defer(const ir::Node* n) const {
  if (!n->op() || n->outputs().size() != 1 || n->output()->uses().size() != 1) return false;
  const ir::Use use = n->output()->uses()[0];
  if (use.user->block() != n->block() && use.user != n->block()->return_node()) return false;
  const std::optional<Arithmetic> a = arithmetic_of(*n->op());
  const Container c = container_of(*n->op());
  const bool is_condition =
      use.offset == 0 && (use.user->is(ir::kind::If) || (use.user == n->block()->return_node() && n->block()->owner() &&
                                                         n->block()->owner()->is(ir::kind::Loop)));
  if (c == Container::is || c == Container::is_not) {
    return use.user->is(ir::kind::If) && is_none(n->input(1)) && !is_word(n->input(0));
  }
  if (!a) return false;
  for (const ir::Value* v : n->inputs()) {
    if (!is_word(v)) return false;
  }
  if (is_condition) return is_comparison(*a) || *a == Arithmetic::logical_not;
  // i % 3 == 0: the remainder goes with the comparison.
  if (*a == Arithmetic::mod && use.offset == 0 && use.user->op() && can_defer(use.user)) {
    const std::optional<Arithmetic> outer = arithmetic_of(*use.user->op());
    const std::optional<int64_t> divisor = constant_int(n->input(1)), wanted = constant_int(use.user->input(1));
    return outer && (*outer == Arithmetic::eq || *outer == Arithmetic::ne) && divisor && wanted && *divisor > 0 &&
           *divisor <= INT16_MAX && *wanted >= INT16_MIN && *wanted <= INT16_MAX;
  }
  return false;
}

void BytecodeCompiler::place_arguments() {
  const std::vector<ir::Value*>& inputs = graph_.inputs();
  code_->args = static_cast<uint32_t>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool borrowed = i == 0 && code_->borrows_self;
    const RegisterClass c = borrowed ? RegisterClass::borrowed : class_of(inputs[i]->type());
    code_->arg_tags.push_back(tag_of(c));
    code_->arg_types.push_back(inputs[i]->type());
    place(inputs[i], registers_.take(c), borrowed);
  }
}

void BytecodeCompiler::place(const ir::Value* v, uint32_t r, bool borrowed) { places_[v] = {r, borrowed}; }

BytecodeCompiler::Draft BytecodeCompiler::constant(const Value& v) {
  const auto [at, is_new] =
      constant_index_.emplace(constant_key(v), kConstants + 2 * static_cast<Draft>(constants_.size()));
  if (is_new) constants_.push_back(v);
  return at->second;
}

BytecodeCompiler::Draft BytecodeCompiler::operand(const ir::Value* v) {
  const ir::Value* r = root(v);
  if (r->node()->is(Constant)) {
    const std::optional<Value> c = constant_value(r);
    SCONCE_CHECK(c.has_value(), "a constant of type {} cannot be used as a value", r->type()->to_string());
    // A constant that a cast narrowed may have another tag than its type says.
    return constant(*c);
  }
  const auto found = places_.find(r);
  SCONCE_ASSERT(found != places_.end());
  return local(found->second.r);
}

bool BytecodeCompiler::is_owned(const ir::Value* v) const {
  const auto found = places_.find(root(v));
  return found != places_.end() && !found->second.borrowed &&
         registers_.class_at(found->second.r) == RegisterClass::value;
}

bool BytecodeCompiler::dies_here(const ir::Value* v) const {
  const Liveness::Values& dead = liveness_->deaths(current_);
  return is_owned(v) && std::find(dead.begin(), dead.end(), root(v)) != dead.end();
}

BytecodeCompiler::Draft BytecodeCompiler::take(const ir::Value* v) {
  if (!dies_here(v)) return operand(v);
  moved_.push_back(root(v));
  return operand(v) | kMoves;
}

BytecodeCompiler::Draft BytecodeCompiler::take_input(size_t i) {
  const std::vector<ir::Value*>& inputs = current_->inputs();
  for (size_t later = i + 1; later < inputs.size(); ++later) {
    if (root(inputs[later]) == root(inputs[i])) return operand(inputs[i]);
  }
  return take(inputs[i]);
}

void BytecodeCompiler::free_taken() {
  for (const ir::Value* v : liveness_->deaths(current_)) {
    const auto found = places_.find(v);
    if (found == places_.end()) continue;
    const bool moved = std::find(moved_.begin(), moved_.end(), v) != moved_.end();
    if (moved || !is_owned(v)) registers_.free(found->second.r);
  }
  taken_are_free_ = true;
}

BytecodeCompiler::Draft BytecodeCompiler::define(const ir::Value* v) {
  const RegisterClass c = class_of(v->type());
  const auto hint = hints_.find(v);
  if (hint != hints_.end() && registers_.class_at(hint->second) == c && registers_.is_free(hint->second)) {
    registers_.take_this(hint->second);
    place(v, hint->second);
  } else {
    place(v, registers_.take(c));
  }
  return local(places_[v].r);
}

void BytecodeCompiler::drop(const ir::Value* v) {
  const auto found = places_.find(v);
  if (found == places_.end()) return;
  if (is_owned(v)) emit(Opcode::drop, local(found->second.r));
  registers_.free(found->second.r);
}

void BytecodeCompiler::finish(const ir::Node* n) {
  if (!taken_are_free_) free_taken();
  for (const ir::Value* v : liveness_->deaths(n)) {
    const bool moved = std::find(moved_.begin(), moved_.end(), v) != moved_.end();
    if (!moved && (v->node() == n || is_owned(v))) drop(v);
  }
  moved_.clear();
  taken_are_free_ = false;
}

void BytecodeCompiler::emit(Opcode op, Draft a, Draft b, Draft c, int64_t x) {
  Instruction tail{};
  tail.integer = x;
  drafts_.push_back({op, a, b, c, tail, false});
}
void BytecodeCompiler::emit_float(Opcode op, Draft a, Draft b, double x) {
  Instruction tail{};
  tail.real = x;
  drafts_.push_back({op, a, b, 0, tail, false});
}
void BytecodeCompiler::emit_op_call(Opcode op, Draft a, Draft b, Draft c, OpCall* call) {
  Instruction tail{};
  tail.op_call = call;
  drafts_.push_back({op, a, b, c, tail, false});
}
void BytecodeCompiler::emit_call(Opcode op, Draft a, CallSite* site) {
  Instruction tail{};
  tail.call = site;
  drafts_.push_back({op, a, 0, 0, tail, false});
}
void BytecodeCompiler::emit_build(Opcode op, Draft a, Draft b, BuildSite* site) {
  Instruction tail{};
  tail.build = site;
  drafts_.push_back({op, a, b, 0, tail, false});
}
void BytecodeCompiler::jump(Opcode op, Label& target, Draft a, Draft b, Draft c) {
  jumps_.emplace_back(drafts_.size(), &target);
  emit(op, a, b, c);
}
void BytecodeCompiler::bind(Label& label) { label.at = static_cast<int64_t>(drafts_.size()); }

std::optional<int64_t> BytecodeCompiler::constant_int(const ir::Value* v) const {
  const std::optional<Value> c = constant_value(v);
  return c && c->is_int() ? std::optional(c->to_int()) : std::nullopt;
}
std::optional<double> BytecodeCompiler::constant_float(const ir::Value* v) const {
  const std::optional<Value> c = constant_value(v);
  return c && c->is_double() ? std::optional(c->to_double()) : std::nullopt;
}
std::optional<bool> BytecodeCompiler::constant_bool(const ir::Value* v) const {
  const std::optional<Value> c = constant_value(v);
  return c && c->is_bool() ? std::optional(c->to_bool()) : std::nullopt;
}

// Locals, then constants, then the window; jumps become addresses.
void BytecodeCompiler::lay_out() {
  Code& code = *code_;
  code.locals = std::max(registers_.count(), code.args);
  code.frame = code.locals + static_cast<uint32_t>(constants_.size());
  for (const OpCall& call : code.op_calls) {
    window_ = std::max(window_, static_cast<uint32_t>(call.args.size() + call.results.size()));
  }
  code.total = code.frame + window_;
  SCONCE_CHECK(code.total <= kMostRegisters, "function '{}' is too large: it needs {} registers, {} are possible",
               code.name, code.total, kMostRegisters);
  const auto final = [&](Draft d) -> Operand {
    if (d == kNowhere) return d;
    if (d >= kWindow) return d - kWindow + 2 * code.frame;
    if (d >= kConstants) return d - kConstants + 2 * code.locals;
    return d;
  };
  for (uint32_t r = 0; r < code.locals; ++r) {
    if (registers_.class_at(r) == RegisterClass::value) code.owned.push_back(r);
  }
  for (uint32_t r = code.args; r < code.locals; ++r) {
    switch (registers_.class_at(r)) {
      case RegisterClass::value:
      case RegisterClass::borrowed:
        code.initial.emplace_back();
        break;
      case RegisterClass::int_:
        code.initial.emplace_back(int64_t{0});
        break;
      case RegisterClass::float_:
        code.initial.emplace_back(0.0);
        break;
      case RegisterClass::bool_:
        code.initial.emplace_back(false);
        break;
    }
  }
  for (Value& v : constants_) code.initial.push_back(std::move(v));
  for (OpCall& call : code.op_calls) {
    for (Operand& o : call.args) o = final(o);
    for (Operand& o : call.results) o = final(o);
  }
  for (BuildSite& site : code.build_sites) {
    for (Operand& o : site.registers) o = final(o);
    for (Operand& o : site.results) o = final(o);
  }
  code.instructions.reserve(drafts_.size());
  for (const DraftInstruction& d : drafts_) {
    const char* kinds = opcode_info(d.op).operands;
    const auto field = [&](Draft v, char kind) {
      return static_cast<uint16_t>(kind == 'r' || kind == 'm' ? final(v) : v);
    };
    Instruction i = d.tail;
    i.op = d.op;
    i.a = field(d.a, kinds[0]);
    i.b = field(d.b, kinds[1]);
    i.c = field(d.c, kinds[2]);
    code.instructions.push_back(i);
  }
  for (const auto& [at, label] : jumps_) {
    SCONCE_ASSERT(label->at >= 0);
    code.instructions[at].target = code.instructions.data() + label->at;
  }
}

}  // namespace sconce::runtime
