#include "sconce/lite/stack_code.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

#include "sconce/base/text/find_text.h"
#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/registry.h"
#include "sconce/lite/op_shape.h"
#include "sconce/lite/read_error.h"
#include "sconce/lite/selected.h"
#include "sconce/serialization/lite/lite_verifier.h"
#include "sconce/types/containers.h"

namespace sconce::lite {
namespace {

constexpr size_t kMostMethods = 10'000;    // a limit against hostile files
constexpr size_t kMostComplaints = 1'000;  // that are looked at

constexpr char kSpecial[][21] = {"prim::TupleUnpack", "prim::Uninitialized", "prim::RaiseException"};
// Opcodes that are operators.
constexpr size_t kPromoted = 0
#define SCONCE_LITE_OPCODE(name, text, operands, effect, op) +(op[0] != 0)
    SCONCE_LITE_OPCODES(SCONCE_LITE_OPCODE)
#undef SCONCE_LITE_OPCODE
    ;

// Reads the tables of one method after the other, and verifies them.
class ProgramReader {
 public:
  ProgramReader(const std::string& file, int archive_version, ArchiveTypes& types, StackProgram& program)
      : file_(file), archive_version_(archive_version), types_(types), program_(program) {}

  void read(const Value& pickle) {
    const Values items = tuple(pickle);
    const int64_t version = !items.empty() && items[0].is_int() ? items[0].to_int() : 3;  // the first ones did not say
    if (version < kOldestBytecode || version > kNewestBytecode) {
      wrong("bytecode of version %" PRId64 " cannot be read, versions %d to %d can", version,
            static_cast<int>(kOldestBytecode), static_cast<int>(kNewestBytecode));
    }
    counts_arguments_ = version > 5;
    if (items.size() - 1 > kMostMethods) wrong("there are more than %zu methods", kMostMethods);
    program_.methods = program_.room.take<StackMethod>(items.size() - 1);
    const Value* item = &items[0];
    for (StackMethod& m : program_.methods) read_method(*++item, m);
    if (!complaints_.empty())
      fail(ErrorKind::not_implemented, "{}: bytecode.pkl: operators that it needs are missing: {}",
           {file_, complaints_});
    what_ = "instruction";
    in_code_ = true;
    for (StackMethod& m : program_.methods) verify(m);
  }

 private:
  using Values = std::span<const Value>;
  static constexpr size_t kNone = SIZE_MAX;

  // Says where: which method, and which row of a table, or instruction.
  [[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] void wrong(const char* what, ...) const {
    va_list args;
    va_start(args, what);
    char text[512], at[80] = "";
    std::vsnprintf(text, sizeof text, what, args);
    va_end(args);
    if (at_ != kNone)
      std::snprintf(at, sizeof at, ": %s %zu%s%s", what_, at_, in_code_ ? ": " : "",
                    in_code_ ? opcode_name(method_->code[at_].op).data() : "");
    const char* const name = method_ ? method_->name.data() : nullptr;
    refuse("%s: bytecode.pkl%s%s%s%s: %s", file_.c_str(), name ? ": method '" : "", name ? name : "", name ? "'" : "",
           at, text);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void wrong_kind(const Value& v, const char* wanted) const {
    wrong("%s is %s, not %s", at_ == kNone ? what_ : "a part", tag_name(v.tag()).data(), wanted);
  }

  // ---- tables ----
  Values tuple(const Value& v, size_t size = kNone) const {
    if (!v.is_tuple()) wrong_kind(v, "a tuple");
    const Values items = v.to_tuple().items;
    if (size != kNone && items.size() != size) wrong("%s has %zu items, not %zu", what_, items.size(), size);
    return items;
  }
  const std::string& text(const Value& v) const {
    if (!v.is_string()) wrong_kind(v, "a text");
    return v.to_string_ref();
  }
  int64_t number(const Value& v, int64_t low, int64_t high) const {
    if (!v.is_int()) wrong_kind(v, "an int");
    if (v.to_int() < low || v.to_int() > high)
      wrong("%s is %" PRId64 ", not in %" PRId64 " to %" PRId64, what_, v.to_int(), low, high);
    return v.to_int();
  }
  // The next field of the table, a pair (name, value), which must be called so.
  const Value& field(const char* name) {
    what_ = name;
    if (table_.empty()) wrong("there is no '%s'", name);
    const Values pair = tuple(table_[0], 2);
    if (const std::string& found = text(pair[0]); found != name)
      wrong("there is '%s' in place of '%s'", found.c_str(), name);
    table_ = table_.subspan(1);
    return pair[1];
  }
  Values rows(const char* name) { return tuple(field(name)); }
  // Of a type of the method's schema, or, without the argument's name, of one that an instruction names.
  TypePtr parse(const std::string& said, const char* argument) const {
    try {
      return types_.parse(said, argument != nullptr);
    } catch (const Error& e) {
      if (argument) wrong("argument '%s': %s", argument, e.what());
      wrong("%s", e.what());
    }
  }
  const Value& keep(const Value& v) {
    program_.kept.to_list().append(v);
    return v;
  }

  // Not inlined: in the frame that holds this object members are far.
  [[gnu::noinline]] void read_method(const Value& v, StackMethod& m) {
    in_code_ = false;
    at_ = kNone;
    method_ = &m;
    what_ = "a method";
    const Values parts = tuple(v, 3);
    m.name = text(keep(parts[0]));
    const size_t dot = m.name.rfind('.');
    if (dot == m.name.npos) wrong("its name names no class");
    m.self = types_.find_class(m.name.substr(0, dot));
    if (program_.find(m.self, m.short_name()) != &m) wrong("it is there twice");
    table_ = tuple(parts[1]);
    const Values code = rows("instructions");
    const Values operators = rows("operators");
    m.operators = program_.room.take<StackOperator>(operators.size() + kPromoted);
    operators_ = 0;
    for (at_ = 0; at_ < operators.size(); ++at_) read_operator(operators[at_]);
    what_ = "instructions";
    m.code = program_.room.take<Instruction>(code.size());
    for (at_ = 0; at_ < code.size(); ++at_) read_instruction(code[at_], m.code[at_], operators.size());
    at_ = kNone;
    m.operators = m.operators.first(operators_);
    m.constants = tuple(keep(field("constants")));
    type_texts_ = rows("types");
    m.types = program_.room.take<TypePtr>(type_texts_.size());
    m.registers = static_cast<uint32_t>(number(field("register_size"), 0, kMaxRegisters));
    table_ = tuple(keep(parts[2]), 2);
    const Values results = table_.last(1);
    m.arguments = read_arguments(rows("arguments"));
    table_ = results;
    const std::span<StackArgument> returns = read_arguments(rows("returns"));
    if (returns.size() != 1) wrong("it has %zu results, not one", returns.size());
    m.result = returns[0].type;
    if (m.code.empty()) wrong("it has no instructions");
    what_ = "instruction";
    in_code_ = true;
    for (at_ = 0; at_ < m.code.size(); ++at_) check_operands(m, m.code[at_]);
  }

  std::span<StackArgument> read_arguments(Values rows) {
    if (rows.size() > static_cast<size_t>(kMaxArguments))
      wrong("there are %zu arguments, at most %d are possible", rows.size(), static_cast<int>(kMaxArguments));
    const std::span<StackArgument> arguments = program_.room.take<StackArgument>(rows.size());
    const Value* row = rows.data();
    for (StackArgument& a : arguments) {
      table_ = tuple(*row++, 3);
      a.name = text(field("name"));
      a.type = parse(text(field("type")), a.name.data());
      const Value& value = field("default_value");
      // None is both no default and the default None; only an optional argument can have that.
      if (!value.is_none() || a.type->is(TypeKind::optional)) a.default_value = &value;
    }
    return arguments;
  }

  void read_instruction(const Value& v, Instruction& i, size_t promoted_from) {
    const Values parts = tuple(v, 3);
    const std::string& name = text(parts[0]);
    const std::optional<Opcode> op = opcode_by_name(name);
    if (!op) wrong("there is no opcode '%s' in the bytecode of lite archives", name.c_str());
    i.op = *op;
    i.x = static_cast<int32_t>(number(parts[1], INT32_MIN, INT32_MAX));
    i.n = static_cast<uint16_t>(number(parts[2], 0, UINT16_MAX));
    // Operators that have an opcode of their own are called as all others.
    const std::string_view called = opcode_operator(i.op);
    if (called.empty() || i.op == Opcode::dict_index) return;
    size_t known = promoted_from;
    while (known < operators_ && method_->operators[known].name != called.data()) ++known;
    if (known == operators_) find_operator(called.data(), "", find_op(called), -1);
    if (i.op == Opcode::format) {
      at_most(i.x, kMaxStack);
      i.n = static_cast<uint16_t>(i.x);
      i.op = Opcode::opn;
    } else {
      i.op = Opcode::op;
    }
    i.x = static_cast<int32_t>(known);
  }

  // ---- operators ----
  // Until version 5 every argument is pushed, and nothing says how many.
  void read_operator(const Value& v) {
    const Values parts = tuple(v, counts_arguments_ ? 3 : 2);
    const std::string &name = text(parts[0]), &overload = text(parts[1]);
    find_operator(name.c_str(), overload.c_str(), find_op(name, overload),
                  counts_arguments_ ? number(parts[2], -1, kMaxArguments) : -1);
  }

  // All that is wrong with operators is told at once, each once.
  void find_operator(const char* name, const char* overload, const Op* op, int64_t pushed) {
    StackOperator& o = method_->operators[operators_++];
    o.name = name;
    o.op = op;
    for (size_t i = 0; i < std::size(kSpecial); ++i) {
      if (std::string_view(name) != kSpecial[i]) continue;
      o.kind = static_cast<StackOperator::Kind>(i + 1);
      return;
    }
    char text[256], whole[512];
    const char* const why = misfit(o, pushed, text);
    if (!why) return;
    const bool is_missing = !op && missing_words;
    std::snprintf(whole, sizeof whole, is_missing ? "%s%s%s" : "%s%s%s (%s)", name, *overload ? "." : "", overload,
                  why);
    if (is_missing) {
      o.kind = StackOperator::Kind::missing;
      o.name = keep(Value(whole)).to_string_ref().c_str();
    } else if (++complaint_count_ <= kMostComplaints && !has_text(complaints_, whole)) {
      if (!complaints_.empty()) complaints_.append(", ");
      complaints_.append(whole);
    }
  }

  // Why the operator cannot be called so, or null; `text` is room for it.
  const char* misfit(StackOperator& o, int64_t pushed, char (&text)[256]) {
    if (!o.op) return "does not exist";
    if (is_hidden(*o.op)) return kHidden;
    const OpShape shape(*o.op);
    if (shape.is_varret) return "has any number of results";
    if (archive_version_ <= selected_upgraded[o.op - selected_ops.data()]) {
      std::snprintf(text, sizeof text, "meant something else in archives of version %d, which only the front end knows",
                    archive_version_);
      return text;
    }
    o.is_vararg = shape.is_vararg;
    o.arguments = shape.arguments;
    o.results = shape.returns;
    o.out = shape.out;
    o.pushed = pushed < 0 || o.is_vararg ? shape.arguments : static_cast<uint16_t>(pushed);
    if (o.pushed > o.arguments || o.pushed < o.out) {
      std::snprintf(text, sizeof text, "takes %d arguments, not %d", o.arguments, o.pushed);
      return text;
    }
    const size_t left_out = size_t{o.arguments} - o.pushed;
    if (left_out == 0) return nullptr;
    std::vector<Value>& defaults = keep(new_tuple(left_out)).to_tuple().items;
    o.defaults = defaults.data();
    OpArguments a(*o.op);
    for (int i = o.out; i < o.pushed; ++i) a.next();
    for (Value& v : defaults) {
      a.next();
      if (a.default_text.empty()) {
        std::snprintf(text, sizeof text, "has no default for '%.*s'", static_cast<int>(a.name.size()), a.name.data());
        return text;
      }
      v = a.default_value();
    }
    return nullptr;
  }

  // ---- the verifier ----
  void at_most(int64_t count, int64_t most) const {
    if (count < 0 || count > most) wrong("the count %" PRId64 " is not in 0 to %" PRId64, count, most);
  }

  void check_operands(StackMethod& m, const Instruction& i) {
    int64_t first = i.x, count = 1;
    size_t size = 0;
    const char* what = nullptr;
    switch (opcode_operands(i.op)[0]) {
      case 'R':
        count = i.n;
        [[fallthrough]];
      case 'r':  // counted from 1
        --first;
        size = m.registers;
        what = "register";
        break;
      case 'c':
        size = m.constants.size();
        what = "constant";
        break;
      case 'o':
        size = m.operators.size();
        what = "operator";
        break;
      case 'T':
        count = i.n;
        [[fallthrough]];
      case 't':
        size = m.types.size();
        what = "type";
        break;
      case 'j':
        first += static_cast<int64_t>(at_);
        size = m.code.size();
        what = "instruction";
        break;
      case 's':
        at_most(i.x, kMaxSlot);
        break;
      case 'n':
        at_most(i.x, kMaxStack);
        break;
      default:
        break;
    }
    if (what && (first < 0 || first + count > static_cast<int64_t>(size)))
      wrong("there is no %s %" PRId64 ": the method has %zu", what, count > 1 ? first + count - 1 : first, size);
    check_special(m, i);
  }

  void check_special(StackMethod& m, const Instruction& i) {
    switch (i.op) {
      case Opcode::loop:
        if (i.n < 2) wrong("N is %d, a loop keeps at least two values", i.n);
        return;
      case Opcode::list_construct:
        need_type(m, i.x, TypeKind::list);
        return;
      case Opcode::dict_construct:
        if (i.n % 2) wrong("%d values are no pairs of keys and values", i.n);
        need_type(m, i.x, TypeKind::dict);
        return;
      case Opcode::named_tuple_construct: {
        const TypePtr type = need_type(m, i.x, TypeKind::tuple);
        if (type->contained().size() != i.n) wrong("a %s has not %d fields", type->name().c_str(), i.n);
        return;
      }
      case Opcode::create_object: {
        const TypePtr type = need_type(m, i.x, TypeKind::class_);
        if (!is_custom_class(type))
          wrong("script classes are not supported in lite archives: '%s'", type->name().c_str());
        return;
      }
      case Opcode::isinstance:
        for (int32_t k = 0; k < i.n; ++k) need_type(m, i.x + k, TypeKind::any);
        return;
      case Opcode::tuple_slice:
        return at_most(i.n, kMaxStack);
      case Opcode::interface_call:
        if (!m.constants[static_cast<size_t>(i.x)].is_string()) wrong("constant %d is no method's name", i.x);
        if (i.n < 1) wrong("a call without the object");
        return;
      case Opcode::op:
      case Opcode::opn:
        return check_count(m, i);
      default:
        return;
    }
  }
  void check_count(const StackMethod& m, const Instruction& i) const {
    const StackOperator& o = m.operators[static_cast<size_t>(i.x)];
    if (i.op != Opcode::opn || o.kind != StackOperator::Kind::op || !o.op) return;
    if (o.is_vararg ? i.n < o.arguments : i.n != o.pushed)
      wrong("%s takes %s%d arguments here, got %d", o.op->info.name, o.is_vararg ? "at least " : "", o.pushed, i.n);
  }
  TypePtr need_type(StackMethod& m, int32_t index, TypeKind kind) {
    TypePtr& type = m.types[static_cast<size_t>(index)];
    if (!type) {
      type = parse(text(type_texts_[static_cast<size_t>(index)]), nullptr);
    }
    if (kind != TypeKind::any && !type->is(kind)) wrong("'%s' is no type for it", type->annotation().c_str());
    return type;
  }

  // Abstract interpretation, which follows how many values are on the stack.
  void verify(StackMethod& m) {
    method_ = &m;
    Room room;
    const std::span<int32_t> both = room.take<int32_t>(2 * m.code.size());
    depths_ = both.data();
    work_ = depths_ + m.code.size();
    works_ = 0;
    most_ = 1;
    at_ = 0;
    reach(m, 0, static_cast<int64_t>(m.arguments.size()));
    while (works_ > 0) {
      at_ = static_cast<size_t>(work_[--works_]);
      step(m);
    }
    m.frame = m.registers + static_cast<uint32_t>(most_) + 1;  // for what is made before others go
  }

  void reach(const StackMethod& m, size_t at, int64_t depth) {
    if (at >= m.code.size()) wrong("the code ends without RET");
    int32_t& known = depths_[at];
    if (known == 0) {
      known = static_cast<int32_t>(depth) + 1;
      work_[works_++] = static_cast<int32_t>(at);
    } else if (known != depth + 1) {
      wrong("it leaves %" PRId64 " values on the stack for instruction %zu, which others reach with %d", depth, at,
            known - 1);
    }
    most_ = std::max(most_, depth);
  }

  void step(StackMethod& m) {
    const Instruction& i = m.code[at_];
    const int64_t depth = depths_[at_] - 1;
    if (i.op == Opcode::ret && depth != 1) wrong("it returns one value, the stack has %" PRId64, depth);
    int64_t pops = 0, pushes = 0, most = 0;  // `most` beside the values below those that it takes
    bool ends = i.op == Opcode::ret || i.op == Opcode::raise;
    if (i.op == Opcode::op || i.op == Opcode::opn) {
      call_effect(m, i, pops, pushes, most, ends);
    } else {
      const Effect e = effect_in_table(i);
      pops = i.op == Opcode::loop ? i.n + 1 : e.pops;
      pushes = i.op == Opcode::loop ? pops : e.pushes;
    }
    if (depth < pops) wrong("it takes %" PRId64 " values from a stack of %" PRId64, pops, depth);
    const int64_t after = depth - pops + pushes;
    most_ = std::max(most_, depth - pops + std::max(most, pushes));
    if (most_ > kMaxStack) wrong("more than %d values are on the stack", static_cast<int>(kMaxStack));
    if (ends) return;
    const size_t target = at_ + static_cast<size_t>(int64_t{i.x});
    if (i.op == Opcode::jmp) return reach(m, target, after);
    if (i.op == Opcode::jf) reach(m, target, after);
    if (i.op == Opcode::loop) reach(m, target, after - 3);
    reach(m, at_ + 1, after);
  }

  void call_effect(const StackMethod& m, const Instruction& i, int64_t& pops, int64_t& pushes, int64_t& most,
                   bool& ends) const {
    const StackOperator& o = m.operators[static_cast<size_t>(i.x)];
    switch (o.kind) {
      case StackOperator::Kind::op:
        pops = o.is_vararg && i.op == Opcode::opn ? i.n : o.pushed;
        pushes = o.results;
        most = std::max<int64_t>(pops, o.arguments + 1) + o.results;  // one more: the tuple of further arguments
        return;
      case StackOperator::Kind::tuple_unpack: {  // its items are always stored at once, or it has one
        pops = 1;
        const bool stored = at_ + 1 < m.code.size() && m.code[at_ + 1].op == Opcode::storen;
        pushes = stored ? m.code[at_ + 1].n : 1;
        return;
      }
      case StackOperator::Kind::uninitialized:
        pushes = 1;
        return;
      case StackOperator::Kind::raise:
        pops = 1;
        [[fallthrough]];
      case StackOperator::Kind::missing:
        ends = true;
        return;
    }
  }

  const std::string& file_;
  const int archive_version_;
  ArchiveTypes& types_;
  StackProgram& program_;
  bool counts_arguments_ = false;
  StackMethod* method_ = nullptr;    // that is read or verified
  const char* what_ = "the pickle";  // that is read of it: a field, or a table
  size_t at_ = kNone;                // the row of the table,
  bool in_code_ = false;             // or an instruction
  Values table_;                     // fields that are not read yet
  Values type_texts_;
  std::string complaints_;
  size_t complaint_count_ = 0;
  size_t operators_ = 0;  // of the method, so far
  // Of the verifier: the depth of the stack before each instruction and one more, 0 where it is not reached;
  // instructions to look at, each of which is there once.
  int32_t *depths_ = nullptr, *work_ = nullptr;
  size_t works_ = 0;
  int64_t most_ = 0;
};

}  // namespace

struct Room::Block {
  Block* before;
  std::max_align_t things[1];
};

Room::~Room() {
  while (last_) {
    Block* const block = last_;
    last_ = block->before;
    operator delete(block);
  }
}

void* Room::zeros(size_t bytes) {
  auto* block = static_cast<Block*>(operator new(sizeof(Block) + bytes));
  block->before = last_;
  last_ = block;
  return std::memset(block->things, 0, bytes);
}

std::string StackMethod::signature(size_t from) const {
  std::string out;
  out.append(short_name());
  const char* before = "(";
  for (size_t i = from; i < arguments.size(); ++i) {
    const StackArgument& a = arguments[i];
    out.append(before).append(a.type->to_string()).append(" ").append(a.name);
    if (a.default_value) out.append("=...");
    before = ", ";
  }
  out.append(arguments.size() > from ? ") -> " : "() -> ");
  out.append(result->to_string());
  return out;
}

StackMethod* StackProgram::find(TypePtr self, std::string_view short_name) {
  for (StackMethod& m : methods) {
    if (m.self == self && m.short_name() == short_name) return &m;
  }
  return nullptr;
}

void read_program(const Value& pickle, const std::string& file, int archive_version, ArchiveTypes& types,
                  StackProgram& program) {
  ProgramReader(file, archive_version, types, program).read(pickle);
}

}  // namespace sconce::lite
