#include "sconce/serialization/lite/lite_verifier.h"

#include <algorithm>

namespace sconce::lite {
namespace {

// Is the constant at the top of the stack the class of an exception ("builtins.ValueError", None)? The message, which
// is there alone in old files, has no such form.
bool is_exception_class(const Value& v) {
  if (v.is_none()) return true;
  if (!v.is_string()) return false;
  const std::string& text = v.to_string_ref();
  const bool is_name =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
  return is_name && text.find('.') != text.npos && text.front() != '.' && text.back() != '.';
}

// A tuple's items are always stored at once, or it has one.
int64_t unpacked(const Method& m, size_t at) {
  const bool stored = at + 1 < m.instructions.size() && m.instructions[at + 1].op == Opcode::storen;
  return stored ? m.instructions[at + 1].n : 1;
}

Effect effect_of_op(const Method& m, const Operator& o, size_t at) {
  switch (o.kind) {
    case Operator::Kind::tuple_unpack:
      return {1, unpacked(m, at)};
    case Operator::Kind::uninitialized:
      return {0, 1};
    case Operator::Kind::raise:
      return {1, 0};
    case Operator::Kind::missing:
      return {0, 0};
    default:
      break;
  }
  const int64_t pops = o.schema->is_vararg && m.instructions[at].op == Opcode::opn ? m.instructions[at].n
                                                                                   : static_cast<int64_t>(o.pushed);
  return {pops, static_cast<int64_t>(o.schema->returns.size())};
}

class Verifier {
 public:
  Verifier(const Method& method, const std::vector<Operator>& operators, const std::string& file)
      : m_(method), operators_(operators), file_(file) {}

  Verified run() {
    const size_t n = m_.instructions.size();
    if (n == 0) fail("{}: bytecode.pkl: method '{}' has no instructions", file_, m_.name);
    if (m_.returns.size() != 1) {
      fail("{}: bytecode.pkl: method '{}' has {} results, not one", file_, m_.name, m_.returns.size());
    }
    for (at_ = 0; at_ < n; ++at_) check_operands();
    result_.depth.assign(n, -1);
    result_.max_depth = static_cast<uint32_t>(std::max<size_t>(m_.arguments.size(), 1));
    reach(0, static_cast<int64_t>(m_.arguments.size()));
    while (!work_.empty()) {
      at_ = work_.back();
      work_.pop_back();
      step();
    }
    return std::move(result_);
  }

 private:
  template <class... Args>
  [[noreturn]] void wrong(std::string_view format, const Args&... args) const {
    fail("{}: bytecode.pkl: method '{}': instruction {}: {}: {}", file_, m_.name, at_,
         opcode_name(m_.instructions[at_].op), format_message(format, {ErrorArg(args)...}));
  }

  void in_range(std::string_view what, int64_t index, int64_t count, size_t size) const {
    if (index < 0 || count < 0 || index + count > static_cast<int64_t>(size)) {
      wrong("there is no {} {}: the method has {}", what, count > 1 ? index + count - 1 : index, size);
    }
  }
  // Registers are counted from 1.
  void register_exists(int64_t index, int64_t count) const {
    if (index < 1 || index + count - 1 > m_.registers) {
      wrong("there is no register {}: the method has {}", index < 1 ? index : index + count - 1, m_.registers);
    }
  }
  void can_jump(int64_t distance) const {
    const int64_t to = static_cast<int64_t>(at_) + distance;
    if (to < 0 || to >= static_cast<int64_t>(m_.instructions.size())) {
      wrong("it jumps to {}, which is no instruction: there are {}", to, m_.instructions.size());
    }
  }

  void check_operands() {
    const Instruction& i = m_.instructions[at_];
    switch (opcode_operands(i.op)[0]) {
      case 'r':
        register_exists(i.x, 1);
        break;
      case 'R':
        register_exists(i.x, i.n);
        break;
      case 'c':
        in_range("constant", i.x, 1, m_.constants.size());
        break;
      case 'o':
        in_range("operator", i.x, 1, operators_.size());
        break;
      case 't':
        in_range("type", i.x, 1, m_.types.size());
        break;
      case 'T':
        in_range("type", i.x, i.n, m_.types.size());
        break;
      case 'j':
        can_jump(i.x);
        break;
      case 's':
        if (i.x < 0 || i.x > kMaxSlot) wrong("slot {} is not in 0 to {}", i.x, kMaxSlot);
        break;
      case 'n':
        if (i.x < 0 || i.x > kMaxStack) wrong("the count {} is not in 0 to {}", i.x, kMaxStack);
        break;
      default:
        break;
    }
    check_special(i);
  }

  void check_special(const Instruction& i) {
    if (i.op == Opcode::loop && i.n < 2) wrong("N is {}, a loop keeps at least two values", i.n);
    if (i.op == Opcode::dict_construct && i.n % 2) wrong("{} values are no pairs of keys and values", i.n);
    if (i.op == Opcode::format && i.x < 1) wrong("a format without its text");
    if (i.op == Opcode::tuple_slice && i.n > kMaxStack) wrong("the count {} is not in 0 to {}", i.n, kMaxStack);
    if (i.op == Opcode::interface_call) {
      if (!m_.constants[static_cast<size_t>(i.x)].is_string()) wrong("constant {} is no method's name", i.x);
      if (i.n < 1) wrong("a call without the object");
    }
    if (i.op != Opcode::op && i.op != Opcode::opn) return;
    const Operator& o = operators_[static_cast<size_t>(i.x)];
    if (!o.schema) return;
    if (o.schema->is_vararg && i.op == Opcode::opn && i.n < o.schema->arguments.size()) {
      wrong("{} takes at least {} arguments, got {}", o.op->qualified_name(), o.schema->arguments.size(), i.n);
    }
    if (!o.schema->is_vararg && i.op == Opcode::opn && i.n != o.pushed) {
      wrong("{} takes {} arguments here, got {}", o.op->qualified_name(), o.pushed, i.n);
    }
  }

  void reach(int64_t at, int64_t depth) {
    if (at >= static_cast<int64_t>(m_.instructions.size())) wrong("the code ends without RET");
    int32_t& known = result_.depth[static_cast<size_t>(at)];
    if (known < 0) {
      known = static_cast<int32_t>(depth);
      work_.push_back(static_cast<size_t>(at));
    } else if (known != depth) {
      wrong("it leaves {} values on the stack for instruction {}, which others reach with {}", depth, at, known);
    }
  }

  void need(int64_t values, int64_t depth) const {
    if (depth < values) wrong("it takes {} values from a stack of {}", values, depth);
  }

  void step() {
    const Instruction& i = m_.instructions[at_];
    const auto at = static_cast<int64_t>(at_);
    const int64_t depth = result_.depth[at_];
    if (i.op == Opcode::loop) {
      need(i.n + 1, depth);
      reach(at + 1, depth);
      return reach(at + i.x, depth - 3);
    }
    const Effect e = effect_of(m_, operators_, at_);
    need(e.pops, depth);
    const int64_t after = depth - e.pops + e.pushes;
    // A slice takes its items apart first.
    const int64_t most = i.op == Opcode::tuple_slice ? depth + i.n : after;
    if (most > kMaxStack) wrong("more than {} values are on the stack", kMaxStack);
    result_.max_depth = std::max(result_.max_depth, static_cast<uint32_t>(most));
    if (ends(i)) return;
    switch (i.op) {
      case Opcode::ret:
        if (depth != 1) wrong("it returns one value, the stack has {}", depth);
        return;
      case Opcode::jmp:
        return reach(at + i.x, after);
      case Opcode::jf:
        reach(at + 1, after);
        return reach(at + i.x, after);
      default:
        return reach(at + 1, after);
    }
  }

  bool ends(const Instruction& i) const {
    if (i.op == Opcode::raise) return true;
    if (i.op != Opcode::op && i.op != Opcode::opn) return false;
    const Operator::Kind kind = operators_[static_cast<size_t>(i.x)].kind;
    return kind == Operator::Kind::raise || kind == Operator::Kind::missing;
  }

  const Method& m_;
  const std::vector<Operator>& operators_;
  const std::string& file_;
  Verified result_;
  std::vector<size_t> work_;
  size_t at_ = 0;
};

}  // namespace

Effect effect_of(const Method& m, const std::vector<Operator>& operators, size_t at) {
  const Instruction& i = m.instructions[at];
  if (i.op == Opcode::op || i.op == Opcode::opn) return effect_of_op(m, operators[static_cast<size_t>(i.x)], at);
  return effect_in_table(i);  // of a loop nothing: the verifier knows its two
}

bool has_exception_class(const Method& m, size_t at) {
  if (at < 1 || m.instructions[at - 1].op != Opcode::loadc) return false;
  return is_exception_class(m.constants[static_cast<size_t>(m.instructions[at - 1].x)]);
}

Verified verify(const Method& method, const std::vector<Operator>& operators, const std::string& file) {
  return Verifier(method, operators, file).run();
}

}  // namespace sconce::lite
