#include "sconce/lite/stack_machine.h"

#include <cinttypes>
#include <cstdio>

#include "sconce/base/budget.h"
#include "sconce/dispatch/argument_keys.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/lite/new_values.h"
#include "sconce/lite/read_error.h"
#include "sconce/lite/selected.h"
#include "sconce/runtime/value_types.h"
#include "sconce/types/class_info.h"

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

[[noreturn]] void fail_key(const Value& key) {
  if (key.is_int()) refuse_as(ErrorKind::key, "%" PRId64, key.to_int());
  throw Error(ErrorKind::key, key.is_string() ? key.to_string_ref() : key.type()->annotation());
}

Value& slot_of(const Value& v, int32_t index) {
  Object& object = v.to_object();
  const size_t count = object.type()->class_info()->attributes.size();
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

  Value run(StackMethod& method, std::span<Value> args) {
    enter(method, args.data(), args.size());
    for (;;) {
      Activation& call = *call_;
      Instruction& i = *call.at;
      if (i.op == Opcode::ret) {
        if (leave()) return std::move(result_);
      } else if (i.op == Opcode::interface_call) {
        call_method(call, i);
      } else {
        step(call, i);
      }
    }
  }
  const Activation* innermost() const { return call_; }

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
  // True where no call is left.
  bool leave() {
    put(result_, call_->top[-1]);
    drop_call();
    if (!call_) return true;
    push_result();
    return false;
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
  // Of a call of a method, behind which its caller goes on.
  void push_result() {
    put(*call_->top++, result_);
    ++call_->at;
  }

  void call_method(Activation& call, const Instruction& i) {
    const std::string& name = call.method->constants[static_cast<size_t>(i.x)].to_string_ref();
    Value* args = call.top - i.n;
    const TypePtr type = args[0].to_object().type();
    if (StackMethod* method = program_.find(type, name)) {
      take_steps(static_cast<int64_t>(method->code.size()));
      call.top = args;
      return enter(*method, args, i.n);
    }
    if (!custom_classes) refuse("%s has no method '%s'", type->to_string().c_str(), name.c_str());
    take_steps(0);
    result_ = custom_classes->call(type, name, {args, i.n});
    pop(call, i.n);
    push_result();
  }

  // All other instructions.
  void step(Activation& call, Instruction& i) {
    const StackMethod& m = *call.method;
    Value* const registers = call.values() - 1;  // counted from 1
    Value*& top = call.top;
    switch (i.op) {
      case Opcode::op:
      case Opcode::opn:
        call_operator(call, i);
        break;
      case Opcode::load:
        put_copy(*top++, registers[i.x]);
        break;
      case Opcode::move:
        put(*top++, registers[i.x]);
        break;
      case Opcode::store:
        put(registers[i.x], *--top);
        break;
      case Opcode::storen:
        top -= i.n;
        for (int32_t k = 0; k < i.n; ++k) put(registers[i.x + k], top[k]);
        break;
      case Opcode::drop:
        clear(*--top);
        break;
      case Opcode::dropr:
        clear(registers[i.x]);
        break;
      case Opcode::loadc:
        put_copy(*top++, m.constants[static_cast<size_t>(i.x)]);
        break;
      case Opcode::uninitialized:
        ++top;  // above the stack are Nones
        break;
      case Opcode::jf:
        if (!top[-1].to_bool()) return jump(call, i, 1);
        clear(*--top);
        break;
      case Opcode::jmp:
        return jump(call, i, 0);
      case Opcode::loop:
        if (!next_turn(call, i)) return jump(call, i, 0);
        break;
      case Opcode::get_attr: {
        Value found = slot_of(top[-1], i.x);
        put(top[-1], found);
        break;
      }
      case Opcode::set_attr:
        put(slot_of(top[-2], i.x), top[-1]);
        pop(call, 2);
        break;
      case Opcode::raise:
        raise(call);
      default:
        container(call, i);
    }
    ++call.at;
  }

  static void jump(Activation& call, const Instruction& i, size_t drops) {
    if (i.x <= 0) take_steps(-int64_t{i.x});
    pop(call, drops);
    call.at += i.x;
  }
  static void pop(Activation& call, size_t count) {
    for (; count > 0; --count) clear(*--call.top);
  }

  // ... count, limit, condition, carried values. Into the body with the count instead of the condition, or beyond it
  // without all three.
  static bool next_turn(Activation& call, const Instruction& i) {
    Value* const count = call.top - (i.n + 1);
    take_steps(0);
    const int64_t turn = count[0].to_int();
    if (turn < count[1].to_int() && count[2].to_bool()) {
      count[2] = Value(turn);
      count[0] = Value(turn + 1);
      return true;
    }
    for (int32_t k = 0; k + 2 < i.n; ++k) put(count[k], count[k + 3]);
    pop(call, 3);
    return false;
  }

  // Old files have the message alone, others the class of the exception on top of it.
  [[noreturn]] static void raise(Activation& call) {
    const StackMethod& m = *call.method;
    const Instruction* before = call.at - 1;
    const bool has_class = call.at != m.code.data() && before->op == Opcode::loadc &&
                           call.top - call.values() >= static_cast<ptrdiff_t>(m.registers) + 2 &&
                           is_exception_class(m.constants[static_cast<size_t>(before->x)]);
    const Value& name = call.top[-1];
    throw MethodError(ErrorKind::runtime, call.top[has_class ? -2 : -1].to_string_ref(),
                      has_class && name.is_string() ? std::string_view(name.to_string_ref()) : std::string_view());
  }

  // ---- lists, dicts, tuples, types ----
  void container(Activation& call, Instruction& i) {
    const std::span<const TypePtr> types = call.method->types;
    Value*& top = call.top;
    switch (i.op) {
      case Opcode::list_construct:
        return make_list(call, i.n, types[static_cast<size_t>(i.x)]);
      case Opcode::dict_construct:
        return make_dict(call, i.n, types[static_cast<size_t>(i.x)]);
      case Opcode::tuple_construct:
        return make_tuple(call, static_cast<size_t>(i.x), nullptr);
      case Opcode::named_tuple_construct:
        return make_tuple(call, i.n, types[static_cast<size_t>(i.x)]);
      case Opcode::create_object:
        charge_values(8);
        *top++ = Value(make_ref<Object>(types[static_cast<size_t>(i.x)]));
        return;
      case Opcode::isinstance: {
        bool is = false;
        const auto first = static_cast<size_t>(i.x);
        for (size_t k = 0; k < i.n; ++k) is |= runtime::is_instance(top[-1], types[first + k]);
        Value answer(is);
        return put(top[-1], answer);
      }
      case Opcode::tuple_slice:
        return slice(call, i);
      case Opcode::list_unpack: {
        const std::vector<Value> items = top[-1].to_list().values();
        return unpack(call, items, static_cast<size_t>(i.x), "list");
      }
      case Opcode::warn:
        if (i.n == 0) std::fprintf(stderr, "UserWarning: %s\n", top[-2].to_string_ref().c_str());
        i.n = 1;  // of each place once
        return pop(call, 2);
      case Opcode::dict_index:
        return dict_index(call);
      case Opcode::to_list: {
        Value list =
            runtime::tensor_to_list(top[-3].to_tensor(), runtime::tolist_type(top[-2].to_int(), top[-1].to_int()));
        pop(call, 2);
        return put(top[-1], list);
      }
      default:  // unchecked_cast
        return;
    }
  }

  static void make_list(Activation& call, size_t count, TypePtr type) {
    charge_values(4 + count);
    Value made = new_list(type->element());
    List& list = made.to_list();
    Value* const items = call.top - count;
    if (count > 0) list.reserve(count);
    for (size_t k = 0; k < count; ++k) list.append(std::move(items[k]));
    replace(call, count, made);
  }
  static void make_dict(Activation& call, size_t count, TypePtr type) {
    charge_values(8 + 2 * count);
    Value made = new_dict(type->contained()[0], type->contained()[1]);
    Dict& dict = made.to_dict();
    Value* const items = call.top - count;
    for (size_t k = 0; k < count; k += 2) dict.set(std::move(items[k]), std::move(items[k + 1]));
    replace(call, count, made);
  }
  static void make_tuple(Activation& call, size_t count, TypePtr type) {
    charge_values(4 + count);
    Value* const items = call.top - count;
    Value made = new_tuple(count, type && !type->fields().empty() ? type : nullptr);
    Value* const taken = made.to_tuple().items.data();
    for (size_t k = 0; k < count; ++k) put(taken[k], items[k]);
    replace(call, count, made);
  }
  // The last `count` values by one.
  static void replace(Activation& call, size_t count, Value& by) {
    pop(call, count);
    put(*call.top++, by);
  }

  static void slice(Activation& call, const Instruction& i) {
    const std::vector<Value>& items = call.top[-1].to_tuple().items;
    const size_t from = static_cast<size_t>(i.x), count = i.n;
    if (from + count > items.size())
      refuse_as(ErrorKind::index, "tuple index %zu is out of range for a tuple of %zu", from + count - 1, items.size());
    charge_values(4 + count);
    Value made = new_tuple(count);
    for (size_t k = 0; k < count; ++k) made.to_tuple().items[k] = items[from + k];
    put(call.top[-1], made);
  }
  static void unpack(Activation& call, const std::vector<Value>& items, size_t wanted, const char* what) {
    if (items.size() != wanted) refuse("Expected %zu elements in a %s but found %zu", wanted, what, items.size());
    clear(*--call.top);
    for (const Value& item : items) put_copy(*call.top++, item);
  }
  static void dict_index(Activation& call) {
    const Value* found = call.top[-2].to_dict().find(call.top[-1]);
    if (!found) fail_key(call.top[-1]);
    Value copy = *found;
    replace(call, 2, copy);
  }

  // ---- operators ----
  void call_operator(Activation& call, const Instruction& i) {
    const StackOperator& o = call.method->operators[static_cast<size_t>(i.x)];
    switch (o.kind) {
      case StackOperator::Kind::op:
        return call_op(call, o, o.is_vararg && i.op == Opcode::opn ? i.n : o.pushed);
      case StackOperator::Kind::tuple_unpack: {
        const Value tuple = call.top[-1];
        const std::vector<Value>& items = tuple.to_tuple().items;
        const size_t wanted = call.at[1].op == Opcode::storen ? call.at[1].n : 1;  // as the verifier has seen it
        return unpack(call, items, wanted, "tuple");
      }
      case StackOperator::Kind::uninitialized:
        ++call.top;
        return;
      case StackOperator::Kind::raise:
        raise(call);
      case StackOperator::Kind::missing:
        throw MethodError(ErrorKind::runtime, missing_words(program_, o.name), "builtins.NotImplementedError");
    }
  }

  // The arguments are called where they lie: defaults go between them, results behind.
  static void call_op(Activation& call, const StackOperator& o, size_t pushed) {
    Value* const args = call.top - pushed;
    if (o.is_vararg) {  // the arguments for "..." become a tuple (Note [Variable arguments])
      make_tuple(call, pushed - o.arguments, nullptr);
    } else if (pushed < o.arguments) {
      add_defaults(call, o, args);
    }
    const auto count = static_cast<size_t>(call.top - args);
    Value* const results = call.top;
    call_boxed(*o.op, args, count, results);
    for (size_t k = 0; k < count; ++k) clear(args[k]);
    for (size_t k = 0; k < o.results; ++k) put(args[k], results[k]);
    call.top = args + o.results;
  }
  static void add_defaults(Activation& call, const StackOperator& o, Value* args) {
    const size_t filled = o.arguments - o.pushed, first = o.pushed - o.out;
    for (size_t k = o.out; k-- > 0;) put(args[first + filled + k], args[first + k]);
    for (size_t k = 0; k < filled; ++k) put_copy(args[first + k], o.defaults[k]);
    call.top = args + o.arguments;
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
  Value result_;
};

// The reason, as `raise` or an operator gave it, with the lines that led there.
[[noreturn]] void fail_script(const Error& e, std::string_view exception_class, const StackMachine& machine,
                              const Places* places) {
  std::string lines;
  if (places) lines = places->traceback(machine.innermost());
  const std::string text =
      format_message("The following operation failed in the TorchScript interpreter.\n{}{}: {}{}\n",
                     {places ? ErrorArg(lines) : ErrorArg("Traceback of TorchScript (most recent call last):\n"),
                      exception_class.empty() ? "RuntimeError"sv : exception_class,
                      e.kind() == ErrorKind::key ? "KeyError: " : "", e.message()});
  throw MethodError(e.kind(), text, exception_class);
}

}  // namespace

[[gnu::noinline]] MethodError::MethodError(ErrorKind kind, std::string_view message, std::string_view name)
    : Error(kind, std::string(message)), exception_class(name) {}
MethodError::~MethodError() = default;

Value run_method(StackProgram& program, StackMethod& method, std::span<Value> args, const Places* places,
                 size_t max_depth) {
  StackMachine machine(program, max_depth);
  try {
    return machine.run(method, args);
  } catch (const MethodError& e) {
    fail_script(e, e.exception_class, machine, places);
  } catch (const Error& e) {
    fail_script(e, {}, machine, places);
  }
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
      args[i] = *a.default_value;
    }
    if (args[i].is_tensor() && a.type->is(TypeKind::tensor)) continue;
    const Value before = args[i];  // for the message
    if (runtime::convert_argument(args[i], a.type)) continue;
    misfit(m,
           "Expected a value of type '{}' for argument '{}' but instead found type '{}'.\n"
           "Position: {}\n"sv,
           {a.type->annotation(), a.name, before.type()->annotation(), i});
  }
}

}  // namespace sconce::lite
