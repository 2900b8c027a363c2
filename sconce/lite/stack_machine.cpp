#include "sconce/lite/stack_machine.h"

#include <cinttypes>
#include <cstdio>

#include "sconce/base/budget.h"
#include "sconce/dispatch/argument_keys.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/lite/read_error.h"
#include "sconce/lite/selected.h"
#include "sconce/runtime/value_types.h"
#include "sconce/types/class_info.h"
#include "sconce/types/containers.h"

namespace sconce::lite {
namespace {

using namespace std::string_view_literals;

constexpr size_t kMostValues = size_t{1} << 24;  // of all calls that have not returned: 256 MiB
constexpr int64_t kInstructionsPerStep = 64;

// The old value of `to` goes, `from` becomes None.
[[gnu::noinline]] void put(Value& to, Value& from) {
  Value moved(std::move(from));
  to = std::move(moved);
}
[[gnu::noinline]] void put_copy(Value& to, const Value& from) {
  Value copy(from);
  to = std::move(copy);
}
// For values whose making may fail: made in place, they would leave something there that is no value.
[[gnu::noinline]] void place(Value& to, Value made) { to = std::move(made); }
[[gnu::noinline]] void clear(Value& v) { Value gone(std::move(v)); }

void take_steps(int64_t instructions) {
  if (Budget* budget = Budget::active()) [[unlikely]]
    budget->take_steps(static_cast<uint64_t>(1 + instructions / kInstructionsPerStep));
}
void charge_values(size_t count) { Budget::charge_memory(count, sizeof(Value)); }

// Is the constant at the top of the stack the class of an exception ("builtins.ValueError", None)? The message, which
// is there alone in old files, has no such form.
bool is_exception_class(const Value& v) {
  if (v.is_none()) return true;
  if (!v.is_string()) return false;
  const std::string& text = v.to_string_ref();
  bool is_name = true;
  for (const char c : text)
    is_name &= c == '_' || c == '.' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  return is_name && text.find('.') != text.npos && text.front() != '.' && text.back() != '.';
}

[[noreturn, gnu::cold]] void fail_key(const Value& key) {
  if (key.is_int()) refuse_as(ErrorKind::key, "%" PRId64, key.to_int());
  fail_as(ErrorKind::key, "{}", key.is_string() ? std::string_view(key.to_string_ref()) : key.type()->annotation());
}

Value& slot_of(const Value& v, int32_t index) {
  Object& object = v.to_object();
  const size_t count = object.type()->class_layout()->attributes.size();
  if (static_cast<size_t>(index) >= count)
    refuse_as(ErrorKind::index, "an object of class '%s' has %zu attributes, none at %d", object.type()->name().c_str(),
              count, index);
  return object.slots()[index];
}

class StackMachine {
 public:
  StackMachine(StackProgram& program, size_t max_depth) : program_(program), max_depth_(max_depth) {}
  StackMachine(const StackMachine&) = delete;
  ~StackMachine() {
    while (call_) drop_call();
  }

  // In a function of its own, where the machine is one pointer.
  [[gnu::noinline]] void run(StackMethod& method, std::span<Value> args) {
    enter(method, args.data(), args.size());
    while (call_) step(*call_);
  }
  Value take_result() { return std::move(result_); }
  const Activation* innermost() const { return call_; }
  std::string_view exception_class() const { return exception_class_; }

 private:
  void enter(StackMethod& m, Value* args, size_t count) {
    if (depth_ >= max_depth_) refuse("maximum depth of calls reached: %zu", max_depth_);
    if (count != m.arguments.size())
      refuse("%s() takes %zu arguments, got %zu", m.short_name().data(), m.arguments.size(), count);
    if (values_ + m.frame > kMostValues) refuse("stack overflow: calls need more than %zu registers", kMostValues);
    void* room = operator new(sizeof(Activation) + m.frame * sizeof(Value));
    call_ = new (room) Activation{call_, &m, m.code.data(), nullptr};
    Value* const values = call_->values();
    for (size_t k = 0; k < m.frame; ++k) new (values + k) Value();
    call_->top = values + m.registers;
    for (size_t k = 0; k < count; ++k) put(*call_->top++, args[k]);
    values_ += m.frame;
    ++depth_;
  }
  void drop_call() {
    Activation* const call = call_;
    const size_t frame = call->method->frame;
    for (size_t k = 0; k < frame; ++k) call->values()[k].~Value();
    call_ = call->caller;
    operator delete(call);
    values_ -= frame;
    --depth_;
  }
  // Of a call of a method, behind which its caller goes on, if there is one.
  void push_result() {
    if (!call_) return;
    put(*call_->top++, result_);
    ++call_->at;
  }

  // Above the stack are Nones, and always one: there is made what takes the place of the last values.
  void step(Activation& call) {
    Instruction& i = *call.at;
    const StackMethod& m = *call.method;
    Value* const registers = call.values() - 1;  // counted from 1
    Value* top = call.top;
    const ptrdiff_t x = i.x;
    const ptrdiff_t n = i.n;
    switch (i.op) {
      case Opcode::op:
      case Opcode::opn:
        top = call_operator(call, m.operators[static_cast<size_t>(x)]);
        break;
      case Opcode::load:
        put_copy(*top++, registers[x]);
        break;
      case Opcode::move:
        put(*top++, registers[x]);
        break;
      case Opcode::store:
        put(registers[x], *--top);
        break;
      case Opcode::storen:
        top -= n;
        for (ptrdiff_t k = 0; k < n; ++k) put(registers[x + k], top[k]);
        break;
      case Opcode::drop:
        clear(*--top);
        break;
      case Opcode::dropr:
        clear(registers[x]);
        break;
      case Opcode::loadc:
        put_copy(*top++, m.constants[static_cast<size_t>(x)]);
        break;
      case Opcode::uninitialized:
        ++top;
        break;
      case Opcode::jf: {
        const bool holds = top[-1].to_bool();
        clear(*--top);
        if (holds) break;
        return jump(call, top, x);
      }
      case Opcode::loop:
        if (next_turn(top - (n + 1), n)) break;
        top = pop(top, 3);
        [[fallthrough]];
      case Opcode::jmp:
        return jump(call, top, x);
      case Opcode::get_attr:
        put_copy(top[-1], slot_of(top[-1], i.x));
        break;
      case Opcode::set_attr:
        put(slot_of(top[-2], i.x), top[-1]);
        top = pop(top, 2);
        break;
      case Opcode::list_unpack:
        top = unpack(top, x, Tag::list);
        break;
      case Opcode::warn:
        if (n == 0) std::fprintf(stderr, "UserWarning: %s\n", top[-2].to_string_ref().c_str());
        i.n = 1;  // of each place once
        top = pop(top, 2);
        break;
      case Opcode::raise:
        raise(call);
      case Opcode::interface_call:
        return call_method(call, m.constants[static_cast<size_t>(x)].to_string_ref(), n);
      case Opcode::ret:
        put(result_, top[-1]);
        drop_call();
        return push_result();
      case Opcode::unchecked_cast:
        break;
      default:
        top = replace(top, make(m, i, top));
    }
    call.top = top;
    ++call.at;
  }

  static void jump(Activation& call, Value* top, ptrdiff_t distance) {
    if (distance <= 0) take_steps(-distance);
    call.top = top;
    call.at += distance;
  }
  static Value* pop(Value* top, ptrdiff_t count) {
    for (; count > 0; --count) clear(*--top);
    return top;
  }
  // The last `count` values by the one above them.
  static Value* replace(Value* top, ptrdiff_t count) {
    Value* const place = pop(top, count);
    put(*place, *top);
    return place + 1;
  }

  void call_method(Activation& call, const std::string& name, ptrdiff_t count) {
    Value* const args = call.top - count;
    const TypePtr type = args[0].to_object().type();
    if (StackMethod* method = program_.find(type, name)) {
      take_steps(static_cast<int64_t>(method->code.size()));
      call.top = args;
      return enter(*method, args, static_cast<size_t>(count));
    }
    if (!custom_classes) refuse("%s has no method '%s'", type->name().c_str(), name.c_str());
    take_steps(0);
    place(*call.top, custom_classes->call(type, name, {args, static_cast<size_t>(count)}));
    call.top = replace(call.top, count);
    ++call.at;
  }

  // Count, limit, condition, which end together, and what is carried. Into the body with the count instead of the
  // condition, or beyond it with all that is carried in front of them.
  static bool next_turn(Value* count, ptrdiff_t n) {
    take_steps(0);
    const int64_t turn = count[0].to_int();
    if (turn < count[1].to_int() && count[2].to_bool()) {
      new (&count[2]) Value(turn);  // no number has anything that would end
      new (&count[0]) Value(turn + 1);
      return true;
    }
    for (ptrdiff_t k = 3; k <= n; ++k) put(count[k - 3], count[k]);
    return false;
  }

  // Old files have the message alone, others the class of the exception on top of it.
  [[noreturn]] void raise(Activation& call) {
    const StackMethod& m = *call.method;
    const Instruction* before = call.at - 1;
    const Value* message = call.top - 1;
    const auto registers = static_cast<ptrdiff_t>(m.registers);
    if (call.at != m.code.data() && before->op == Opcode::loadc && message - call.values() > registers) {
      const Value& name = m.constants[static_cast<size_t>(before->x)];
      if (is_exception_class(name)) {
        --message;
        if (name.is_string()) exception_class_ = name.to_string_ref();
      }
    }
    fail("{}", message->to_string_ref());
  }

  // ---- lists, dicts, tuples, types ----
  // Makes the value at `top`; returns of how many of the last ones, which it may move from.
  static ptrdiff_t make(const StackMethod& m, const Instruction& i, Value* top) {
    const auto type = [&](size_t k) { return m.types[static_cast<size_t>(i.x) + k]; };
    switch (i.op) {
      case Opcode::list_construct:
        charge_values(size_t{4} + i.n);
        place(*top, list_of(type(0)->element(), {top - i.n, i.n}));
        return i.n;
      case Opcode::dict_construct:
        charge_values(8 + size_t{2} * i.n);
        place(*top, dict_of(type(0)->contained()[0], type(0)->contained()[1], {top - i.n, i.n}));
        return i.n;
      case Opcode::named_tuple_construct:
        make_tuple(top, i.n, type(0));
        return i.n;
      case Opcode::tuple_construct:
        make_tuple(top, i.x, nullptr);
        return i.x;
      case Opcode::create_object:
        charge_values(8);
        place(*top, make_ref<Object>(type(0)));
        return 0;
      case Opcode::isinstance: {
        bool is = false;
        for (size_t k = 0; k < i.n; ++k) is |= runtime::is_instance(top[-1], type(k));
        new (top) Value(is);
        return 1;
      }
      case Opcode::tuple_slice:
        slice(top, static_cast<size_t>(i.x), i.n);
        return 1;
      case Opcode::dict_index: {
        const Value* found = top[-2].to_dict().find(top[-1]);
        if (!found) fail_key(top[-1]);
        put_copy(*top, *found);
        return 2;
      }
      default:  // to_list
        place(*top,
              runtime::tensor_to_list(top[-3].to_tensor(), runtime::tolist_type(top[-2].to_int(), top[-1].to_int())));
        return 3;
    }
  }

  static void make_tuple(Value* top, ptrdiff_t count, TypePtr type) {
    charge_values(4 + static_cast<size_t>(count));
    place(*top, new_tuple(static_cast<size_t>(count), type && !type->fields().empty() ? type : nullptr));
    Value* const items = top->to_tuple().items.data();
    for (ptrdiff_t k = 0; k < count; ++k) put(items[k], top[k - count]);
  }

  static void slice(Value* top, size_t from, size_t count) {
    const std::vector<Value>& items = top[-1].to_tuple().items;
    if (from + count > items.size())
      refuse_as(ErrorKind::index, "tuple index %zu is out of range for a tuple of %zu", from + count - 1, items.size());
    charge_values(4 + count);
    place(*top, new_tuple(count));
    Value* const made = top->to_tuple().items.data();
    for (size_t k = 0; k < count; ++k) put_copy(made[k], items[from + k]);
  }

  // A list or tuple, whose items take its place.
  Value* unpack(Value* top, ptrdiff_t wanted, Tag tag) {
    put(result_, *--top);
    const auto found =
        static_cast<ptrdiff_t>(tag == Tag::list ? result_.to_list().size() : result_.to_tuple().items.size());
    if (found != wanted) refuse("Expected %td elements in a %s but found %td", wanted, tag_name(tag).data(), found);
    copy_items(result_, top);
    clear(result_);
    return top + wanted;
  }

  // ---- operators ----
  Value* call_operator(Activation& call, const StackOperator& o) {
    Value* const top = call.top;
    switch (o.kind) {
      case StackOperator::Kind::op:
        return call_op(o, top, o.is_vararg && call.at->op == Opcode::opn ? call.at->n : o.pushed);
      case StackOperator::Kind::tuple_unpack:  // as many as the verifier has seen
        return unpack(top, call.at[1].op == Opcode::storen ? call.at[1].n : 1, Tag::tuple);
      case StackOperator::Kind::uninitialized:
        return top + 1;
      case StackOperator::Kind::raise:
        raise(call);
      case StackOperator::Kind::missing:
        exception_class_ = "builtins.NotImplementedError"sv;
        fail("{}", missing_words(program_, o.name));
    }
    return top;
  }

  // The arguments are called where they lie: defaults go between them, results behind.
  static Value* call_op(const StackOperator& o, Value* top, ptrdiff_t pushed) {
    Value* const args = top - pushed;
    if (o.is_vararg) {  // the arguments for "..." become a tuple (Note [Variable arguments])
      const ptrdiff_t further = pushed - o.arguments;
      make_tuple(top, further, nullptr);
      top = replace(top, further);
    } else if (pushed < o.arguments) {
      add_defaults(o, args);
      top = args + o.arguments;
    }
    call_boxed(*o.op, args, static_cast<size_t>(top - args), top);
    pop(top, top - args);
    for (size_t k = 0; k < o.results; ++k) put(args[k], top[k]);
    return args + o.results;
  }
  static void add_defaults(const StackOperator& o, Value* args) {
    const size_t filled = o.arguments - o.pushed, first = o.pushed - o.out;
    for (size_t k = o.out; k-- > 0;) put(args[first + filled + k], args[first + k]);
    for (size_t k = 0; k < filled; ++k) put_copy(args[first + k], o.defaults[k]);
  }
  static void call_boxed(const Op& op, Value* args, size_t count, Value* results) {
    const KeySet keys = active_keys(argument_keys(op, args, count));
    const char* kernel = kernel_for(op, keys);
    if (is_boxed(kernel)) return boxed_kernel(kernel)(op, keys, args, results);
    op.box(kernel, keys, args, results);
  }

  StackProgram& program_;
  const size_t max_depth_;
  Activation* call_ = nullptr;  // the innermost
  size_t depth_ = 0, values_ = 0;
  Value result_;                      // of a call; what is unpacked
  std::string_view exception_class_;  // of `raise`, a constant of the program
};

}  // namespace

MethodError::MethodError(const Error& reason, std::string_view lines, std::string_view name)
    : Error(reason.kind(),
            format_message("The following operation failed in the TorchScript interpreter.\n{}{}: {}{}\n",
                           {lines, name.empty() ? "RuntimeError"sv : name,
                            reason.kind() == ErrorKind::key ? "KeyError: " : "", reason.message()})) {
  exception_class += name;
}
MethodError::~MethodError() = default;

Value run_method(StackProgram& program, StackMethod& method, std::span<Value> args, const Places* places,
                 size_t max_depth) {
  StackMachine machine(program, max_depth);
  try {
    machine.run(method, args);
  } catch (const Error& e) {
    const std::string lines = places ? places->traceback(machine.innermost()) : std::string();
    throw MethodError(e, places ? lines : "Traceback of TorchScript (most recent call last):\n"sv,
                      machine.exception_class());
  }
  return machine.take_result();
}

[[noreturn, gnu::cold]] static void misfit(const StackMethod& m, std::string_view why,
                                           std::initializer_list<ErrorArg> args) {
  fail(ErrorKind::runtime, "{}() {}Declaration: {}", {m.short_name(), format_message(why, args), m.signature(0)});
}

void bind_arguments(const StackMethod& m, std::vector<Value>& args) {
  const size_t given = args.size(), n = m.arguments.size();
  if (given > n) misfit(m, "expected at most {} argument(s) but received {} argument(s). "sv, {n, given});
  while (args.size() < n) args.push_back(Value());
  for (size_t i = 0; i < n; ++i) {
    const StackArgument& a = m.arguments[i];
    if (i >= given) {
      if (!a.default_value) misfit(m, "is missing value for argument '{}'. "sv, {a.name});
      put_copy(args[i], *a.default_value);
    }
    if (args[i].is_tensor() && a.type->is(TypeKind::tensor)) continue;
    if (runtime::convert_argument(args[i], a.type)) continue;
    misfit(m,
           "Expected a value of type '{}' for argument '{}' but instead found type '{}'.\n"
           "Position: {}\n"sv,
           {a.type->annotation(), a.name, args[i].type()->annotation(), i});
  }
}

}  // namespace sconce::lite
