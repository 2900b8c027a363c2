// Note [Stack as registers]
// The verifier has shown how many values lie on the stack before each instruction, so the value at depth d is always in
// register d: arguments come in the first registers, as they lie on the stack at entry; the result goes out in register
// 0, as RET finds it. Behind the stack stand the method's own registers, two for temporaries, and constants. All are of
// class value (Note [Registers] in runtime/bytecode.h): a place above the stack holds None or a number, so that writing
// it releases nothing.
#include "sconce/serialization/lite/lite_translate.h"

#include <cstring>
#include <map>

#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/registry.h"
#include "sconce/runtime/bytecode/liveness.h"
#include "sconce/serialization/lite/missing_text.h"

namespace sconce::lite {
namespace {

using runtime::BuildSite;
using runtime::CallSite;
using runtime::kMoves;
using runtime::OpCall;
using runtime::Operand;
using Target = runtime::Opcode;

constexpr uint32_t kMostRegisters = 32'767;  // operands are 16 bits, twice the number

class Translator {
 public:
  Translator(const Method& m, const std::vector<Operator>& operators, const Verified& verified,
             const TranslateContext& context)
      : m_(m),
        operators_(operators),
        verified_(verified),
        context_(context),
        code_(std::make_shared<runtime::Code>()) {}

  std::shared_ptr<runtime::Code> run() {
    stack_ = verified_.max_depth;
    value_temporary_ = stack_ + static_cast<uint32_t>(m_.registers);
    bool_temporary_ = value_temporary_ + 1;
    locals_ = bool_temporary_ + 1;
    starts_.assign(m_.instructions.size(), 0);
    for (at_ = 0; at_ < m_.instructions.size(); ++at_) {
      starts_[at_] = static_cast<uint32_t>(out().size());
      if (verified_.depth[at_] < 0) continue;
      depth_ = static_cast<uint32_t>(verified_.depth[at_]);
      place();
      instruction(m_.instructions[at_]);
      if (out().size() + operands_ > kMaxTranslated) {
        wrong("the method is too large: it becomes more than {} instructions", kMaxTranslated);
      }
    }
    finish();
    return std::move(code_);
  }

 private:
  template <class... Args>
  [[noreturn]] void wrong(std::string_view format, const Args&... args) const {
    fail("{}: bytecode.pkl: method '{}': instruction {}: {}: {}", context_.file, m_.name, at_,
         opcode_name(m_.instructions[at_].op), format_message(format, {ErrorArg(args)...}));
  }

  // ---- operands ----
  std::vector<runtime::Instruction>& out() { return code_->instructions; }
  static Operand on_stack(uint32_t depth) { return 2 * depth; }
  Operand top(uint32_t below = 0) const { return on_stack(depth_ - 1 - below); }
  // Where N values on top of the stack begin.
  Operand base_of(uint32_t n) const { return on_stack(depth_ - n); }
  Operand own(int32_t r) const { return 2 * (stack_ + static_cast<uint32_t>(r) - 1); }
  Operand temporary() const { return 2 * value_temporary_; }
  Operand flag() const { return 2 * bool_temporary_; }
  Operand window(uint32_t i) {
    window_ = std::max(window_, i + 2);
    return kWindow + 2 * i;
  }
  Operand constant(const Value& v) {
    const auto [found, fresh] = constant_index_.try_emplace({v.tag(), v.bits()}, constants_.size());
    if (fresh) constants_.push_back(v);
    return kConstants + 2 * static_cast<Operand>(found->second);
  }
  TypePtr type(int32_t index, TypeKind kind, std::string_view kind_name) {
    const std::string& text = m_.types[static_cast<size_t>(index)];
    TypePtr found = nullptr;
    try {
      found = context_.find_type(text);
    } catch (const Error& e) {
      wrong("{}", e.message());
    }
    if (kind != TypeKind::any && !found->is(kind)) wrong("type '{}' is no {}", text, kind_name);
    return found;
  }

  // ---- instructions ----
  void emit(Target op, Operand a = 0, Operand b = 0, Operand c = 0, int64_t x = 0) {
    drafts_.push_back({a, b, c});
    runtime::Instruction i{};
    i.op = op;
    i.integer = x;
    out().push_back(i);
  }
  void emit_build(Target op, Operand a, Operand b, BuildSite& site) {
    emit(op, a, b);
    out().back().build = &site;
    operands_ += site.registers.size();
  }
  void emit_jump(Target op, size_t to, Operand a = 0, Operand b = 0) {
    jumps_.emplace_back(out().size(), to);
    emit(op, a, b);
  }
  BuildSite& site() { return code_->build_sites.emplace_back(); }
  // The n values on top, moved.
  BuildSite& site_of(uint32_t n) {
    BuildSite& s = site();
    for (uint32_t i = 0; i < n; ++i) s.registers.push_back((base_of(n) + 2 * i) | kMoves);
    return s;
  }
  void store(Operand reg, Operand from) {
    emit(Target::drop, reg);
    emit(Target::move, reg, from);
  }
  void check(Operand a, Tag tag) { emit(Target::check_tag, a, static_cast<Operand>(tag)); }
  size_t target(int32_t distance) const { return static_cast<size_t>(static_cast<int64_t>(at_) + distance); }
  // A backward jump counts a step.
  void step_to(size_t to) {
    if (to <= at_) emit(Target::step);
  }

  void instruction(const Instruction& i) {
    switch (i.op) {
      case Opcode::op:
      case Opcode::opn:
        return call(operators_[static_cast<size_t>(i.x)], i);
      case Opcode::load:
        return emit(Target::copy, on_stack(depth_), own(i.x));
      case Opcode::move:
        return emit(Target::move, on_stack(depth_), own(i.x));
      case Opcode::store:
        return store(own(i.x), top());
      case Opcode::storen:
        for (int32_t k = 0; k < i.n; ++k) store(own(i.x + k), base_of(i.n) + 2 * static_cast<Operand>(k));
        return;
      case Opcode::drop:
        return emit(Target::drop, top());
      case Opcode::dropr:
        return emit(Target::drop, own(i.x));
      case Opcode::loadc:
        return emit(Target::copy, on_stack(depth_), constant(m_.constants[static_cast<size_t>(i.x)]));
      case Opcode::jf:
        check(top(), Tag::boolean);
        step_to(target(i.x));
        return emit_jump(Target::jump_unless, target(i.x), top());
      case Opcode::jmp:
        step_to(target(i.x));
        return emit_jump(Target::jump, target(i.x));
      case Opcode::loop:
        return loop(i);
      case Opcode::ret:
        if (m_.registers > 0) emit(Target::drop_range, own(1), static_cast<Operand>(m_.registers));
        return emit(Target::ret, 1);
      case Opcode::get_attr:
        return emit(Target::get_slot, top(), top() | kMoves, 0, i.x);
      case Opcode::set_attr:
        emit(Target::set_slot, top(1), top() | kMoves, 0, i.x);
        return emit(Target::drop, top(1));
      case Opcode::interface_call:
        return interface_call(i);
      case Opcode::raise:
        return raise();
      default:
        return container(i);
    }
  }

  void container(const Instruction& i) {
    switch (i.op) {
      case Opcode::list_construct:
        return build(Target::make_list, i.n, type(i.x, TypeKind::list, "list"));
      case Opcode::dict_construct:
        return build(Target::make_dict, i.n, type(i.x, TypeKind::dict, "dict"));
      case Opcode::tuple_construct:
        return build(Target::make_tuple, static_cast<uint32_t>(i.x), tuple_type({}));
      case Opcode::named_tuple_construct: {
        const TypePtr t = type(i.x, TypeKind::tuple, "named tuple");
        if (t->contained().size() != i.n) wrong("a {} has {} fields, not {}", t->name(), t->contained().size(), i.n);
        return build(Target::make_tuple, i.n, t);
      }
      case Opcode::create_object: {
        BuildSite& s = site();
        s.type = type(i.x, TypeKind::class_, "class");
        if (is_custom_class(s.type)) return emit_build(Target::make_object, on_stack(depth_), 0, s);
        wrong("script classes are not supported in lite archives: '{}'", m_.types[static_cast<size_t>(i.x)]);
      }
      case Opcode::isinstance: {
        BuildSite& s = site();
        for (int32_t k = 0; k < i.n; ++k) s.types.push_back(type(i.x + k, TypeKind::any, ""));
        operands_ += s.types.size();
        emit_build(Target::isinstance, flag(), top(), s);
        emit(Target::drop, top());
        return emit(Target::copy_bits, top(), flag());
      }
      case Opcode::tuple_slice:
        return slice(i);
      case Opcode::list_unpack:
        return unpack(Target::unpack_list, static_cast<uint32_t>(i.x));
      case Opcode::warn:
        emit_build(Target::warn, top(1), 0, site());
        emit(Target::drop, top());
        return emit(Target::drop, top(1));
      case Opcode::dict_index:
        emit(Target::dict_get, temporary(), top(1), top());
        emit(Target::drop, top());
        emit(Target::drop, top(1));
        return emit(Target::move, top(1), temporary());
      case Opcode::to_list:
        emit(Target::tolist_of, top(2), top(1), top());
        emit(Target::drop, top());
        return emit(Target::drop, top(1));
      case Opcode::uninitialized:
        return uninitialized();
      case Opcode::unchecked_cast:
        return;
      default:
        return promoted(i);
    }
  }

  // Operators that have an opcode of their own.
  void promoted(const Instruction& i) {
    const std::string_view name = opcode_operator(i.op);
    Operator o;
    o.op = find_op(name);
    SCONCE_CHECK(o.op, "there is no operator {}", name);
    o.schema = &o.op->schema();
    o.pushed = o.schema->arguments.size();
    call_op(o, static_cast<uint32_t>(effect_of(m_, operators_, at_).pops));
  }

  void build(Target op, uint32_t n, TypePtr t) {
    BuildSite& s = site_of(n);
    s.type = t;
    emit_build(op, base_of(n), 0, s);
  }

  void unpack(Target op, uint32_t n) {
    BuildSite& s = site();
    for (uint32_t k = 0; k < n; ++k) s.registers.push_back(top() + 2 * k);
    s.tags.assign(n, 0);
    emit_build(op, top() | kMoves, 0, s);
  }

  void slice(const Instruction& i) {
    BuildSite& s = site();
    s.type = tuple_type({});
    for (uint32_t k = 0; k < i.n; ++k) {
      emit(Target::tuple_get, on_stack(depth_ + k), top(), 0, int64_t{i.x} + k);
      s.registers.push_back(on_stack(depth_ + k) | kMoves);
    }
    emit(Target::drop, top());
    emit_build(Target::make_tuple, top(), 0, s);
  }

  // ... count, limit, condition, carried values. Into the body with the count instead of the condition, or beyond it
  // without all three.
  void loop(const Instruction& i) {
    const Operand count = base_of(static_cast<uint32_t>(i.n) + 1), limit = count + 2, condition = count + 4;
    check(count, Tag::integer);
    check(limit, Tag::integer);
    check(condition, Tag::boolean);
    emit(Target::step);
    const size_t first = out().size();
    emit(Target::jump_unless, condition);
    emit(Target::jump_le_int, limit, count);
    emit(Target::copy_bits, condition, count);
    emit(Target::add_int_imm, count, count, 0, 1);
    emit_jump(Target::jump, at_ + 1);
    inner_jumps_.emplace_back(first, out().size());
    inner_jumps_.emplace_back(first + 1, out().size());
    for (Operand k = 0; k + 2 < i.n; ++k) emit(Target::move, count + 2 * k, count + 2 * (k + 3));
    step_to(target(i.x));
    emit_jump(Target::jump, target(i.x));
  }

  void uninitialized() { emit(Target::copy_bits, on_stack(depth_), constant(Value())); }

  void raise() {
    const bool has_class = depth_ >= 2 && has_exception_class(m_, at_);
    emit(Target::raise, has_class ? top(1) : top(), has_class ? top() : constant(Value()));
  }

  void raise_missing(const std::string& name) {
    emit(Target::raise, constant(missing_text(context_.file, name, context_.missing)),
         constant(Value("builtins.NotImplementedError")));
  }

  // ---- calls ----
  void call(const Operator& o, const Instruction& i) {
    switch (o.kind) {
      case Operator::Kind::tuple_unpack:
        return unpack(Target::unpack_tuple, static_cast<uint32_t>(effect_of(m_, operators_, at_).pushes));
      case Operator::Kind::uninitialized:
        return uninitialized();
      case Operator::Kind::raise:
        return raise();
      case Operator::Kind::missing:
        return raise_missing(m_.operators[static_cast<size_t>(i.x)].qualified_name());
      case Operator::Kind::upgrader:
        return call_upgrader(o);
      case Operator::Kind::op:
        break;
    }
    const bool any = o.schema->is_vararg && i.op == Opcode::opn;
    call_op(o, any ? i.n : static_cast<uint32_t>(o.pushed));
  }

  // The places of the schema's arguments: on the stack, or constants for those that were not pushed.
  std::vector<Operand> arguments(const Operator& o, uint32_t n) {
    std::vector<Operand> result;
    const size_t all = o.schema->arguments.size(), filled = all - o.pushed;
    for (size_t k = 0; k < all; ++k) {
      if (k >= o.pushed - o.out && k < o.pushed - o.out + filled) {
        result.push_back(constant(*o.schema->arguments[k].default_value));
      } else {
        const size_t pushed = k < o.pushed - o.out ? k : k - filled;
        result.push_back((base_of(n) + 2 * static_cast<Operand>(pushed)) | kMoves);
      }
    }
    return result;
  }

  void call_op(const Operator& o, uint32_t n) {
    const auto fixed = static_cast<uint32_t>(o.schema->arguments.size());
    OpCall& call = code_->op_calls.emplace_back();
    call.op = o.op;
    call.args = arguments(o, n);
    if (o.schema->is_vararg) {
      // The arguments for "..." become a tuple (Note [Variable arguments]).
      BuildSite& rest = site();
      rest.type = tuple_type({});
      for (uint32_t k = fixed; k < n; ++k) rest.registers.push_back((base_of(n) + 2 * k) | kMoves);
      emit_build(Target::make_tuple, temporary(), 0, rest);
      call.args.push_back(temporary() | kMoves);
    }
    for (uint32_t k = 0; k < o.schema->returns.size(); ++k) {
      call.results.push_back(base_of(n) + 2 * k);
      call.result_tags.push_back(0);
    }
    window_ = std::max(window_, static_cast<uint32_t>(call.args.size() + call.results.size()));
    operands_ += call.args.size() + call.results.size();
    emit(Target::call_op);
    out().back().op_call = &call;
  }

  void call_upgrader(const Operator& o) {
    const std::vector<Operand> args = arguments(o, static_cast<uint32_t>(o.pushed));
    CallSite& s = code_->call_sites.emplace_back();
    s.function = o.upgrader;
    s.args = static_cast<uint32_t>(args.size());
    for (uint32_t k = 0; k < args.size(); ++k) {
      const runtime::RegisterClass c = runtime::class_of(o.schema->arguments[k].type);
      if (const uint8_t tag = runtime::tag_of(c)) check(args[k] & ~kMoves, static_cast<Tag>(tag));
    }
    for (uint32_t k = 0; k < args.size(); ++k) {
      emit(args[k] & kMoves ? Target::move : Target::copy, window(k), args[k] & ~kMoves);
    }
    emit(Target::call, window(0));
    out().back().call = &s;
    emit(Target::move, base_of(static_cast<uint32_t>(o.pushed)), window(0));
  }

  void interface_call(const Instruction& i) {
    CallSite& s = code_->call_sites.emplace_back();
    s.method = m_.constants[static_cast<size_t>(i.x)].to_string_ref();
    s.args = i.n;
    for (uint32_t k = 0; k < i.n; ++k) emit(Target::move, window(k), base_of(i.n) + 2 * k);
    emit(Target::call_method, window(0));
    out().back().call = &s;
    emit(Target::move, base_of(i.n), window(0));
  }

  // ---- the end ----
  void place() {
    if (!context_.find_place || m_.debug_handles.empty()) return;
    DebugPlace p = context_.find_place(m_.debug_handles[at_]);
    code_->sites.push_back({static_cast<uint32_t>(out().size()), std::move(p.range), std::move(p.inlined)});
  }

  Operand final(Operand o) const {
    if (o == runtime::kNowhere) return o;
    if (o >= kWindow) return o - kWindow + 2 * code_->frame;
    if (o >= kConstants) return o - kConstants + 2 * locals_;
    return o;
  }

  void finish() {
    runtime::Code& code = *code_;
    code.name = std::string(m_.short_name());
    code.unit = context_.unit;
    code.args = static_cast<uint32_t>(m_.arguments.size());
    code.results = 1;
    code.locals = locals_;
    code.frame = locals_ + static_cast<uint32_t>(constants_.size());
    code.total = code.frame + window_;
    if (code.total > kMostRegisters) {
      fail("{}: bytecode.pkl: method '{}' is too large: it needs {} registers, {} are possible", context_.file, m_.name,
           code.total, kMostRegisters);
    }
    for (uint32_t r = 0; r < bool_temporary_; ++r) code.owned.push_back(r);
    code.initial.resize(bool_temporary_ - code.args);
    code.initial.emplace_back(false);
    for (Value& v : constants_) code.initial.push_back(std::move(v));
    code.arg_tags.assign(code.args, 0);
    code.arg_types.assign(code.args, any_type());
    for (OpCall& call : code.op_calls) {
      for (Operand& o : call.args) o = final(o);
      for (Operand& o : call.results) o = final(o);
    }
    for (size_t k = 0; k < code.instructions.size(); ++k) {
      runtime::Instruction& i = code.instructions[k];
      const char* kinds = runtime::opcode_info(i.op).operands;
      const auto field = [&](Operand v, char kind) {
        return static_cast<uint16_t>(kind == 'r' || kind == 'm' ? final(v) : v);
      };
      i.a = field(drafts_[k].a, kinds[0]);
      i.b = field(drafts_[k].b, kinds[1]);
      i.c = field(drafts_[k].c, kinds[2]);
    }
    for (const auto& [from, to] : jumps_) code.instructions[from].target = code.instructions.data() + starts_[to];
    for (const auto& [from, to] : inner_jumps_) code.instructions[from].target = code.instructions.data() + to;
  }

  struct Draft {
    Operand a, b, c;
  };
  // Operands before the frame is laid out.
  static constexpr Operand kConstants = 1u << 24, kWindow = 1u << 28;

  const Method& m_;
  const std::vector<Operator>& operators_;
  const Verified& verified_;
  const TranslateContext& context_;
  std::shared_ptr<runtime::Code> code_;
  uint32_t stack_ = 0, value_temporary_ = 0, bool_temporary_ = 0, locals_ = 0, window_ = 0;
  std::vector<Draft> drafts_;
  std::vector<uint32_t> starts_;                        // our instruction of each of the file's
  std::vector<std::pair<size_t, size_t>> jumps_;        // ours, to one of the file's
  std::vector<std::pair<size_t, size_t>> inner_jumps_;  // ours, to ours
  std::vector<Value> constants_;
  std::map<std::pair<Tag, uint64_t>, size_t> constant_index_;
  size_t operands_ = 0;
  size_t at_ = 0;
  uint32_t depth_ = 0;
};

}  // namespace

std::shared_ptr<runtime::Code> translate(const Method& method, const std::vector<Operator>& operators,
                                         const Verified& verified, const TranslateContext& context) {
  return Translator(method, operators, verified, context).run();
}

}  // namespace sconce::lite
