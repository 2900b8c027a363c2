#include "sconce/executor/recorder.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/probe.h"
#include "sconce/ir/effects.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/bytecode/slots.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/memory/write_count.h"

namespace sconce::executor {
namespace {

using runtime::Opcode;

thread_local constinit Recorder* current = nullptr;

void set_recording(bool on) {
  const uint16_t bit = KeySet(Key::functionalize).bits();
  thread_modes.include = static_cast<uint16_t>(on ? thread_modes.include | bit : thread_modes.include & ~bit);
}

// Calls in a scope are not recorded.
class Paused {
 public:
  Paused() : was_on_(thread_modes.include & KeySet(Key::functionalize).bits()) { set_recording(false); }
  ~Paused() { set_recording(was_on_); }
  Paused(const Paused&) = delete;

 private:
  bool was_on_;
};

// As the interpreter would: an error has no more words than there.
void run_below(const Op& op, KeySet keys, Value* args, Value* returns) {
  const KeySet below = keys & KeySet::below(Key::functionalize);
  const char* kernel = kernel_for(op, below);
  if (is_boxed(kernel)) return boxed_kernel(kernel)(op, below, args, returns);
  op.box(kernel, below, args, returns);
}

void kernel(const Op& op, KeySet keys, Value* args, Value* returns) {
  if (current) return current->record(op, keys, args, returns);
  run_below(op, keys, args, returns);
}

bool is_tensor_type(TypePtr type) {
  if (type->is(TypeKind::optional) || type->is(TypeKind::list)) return is_tensor_type(type->element());
  return type->is(TypeKind::tensor);
}

bool makes_tensors(const Schema& schema) {
  return std::any_of(schema.returns.begin(), schema.returns.end(),
                     [](const Argument& r) { return is_tensor_type(r.type); });
}

// Numbers that a call draws, or a state of the program that it reads.
bool is_nondeterministic(const Op& op) {
  const Schema& schema = op.schema();
  return op.has(Trait::random) || (schema.arguments.empty() && !schema.is_vararg && !makes_tensors(schema) &&
                                   !schema.returns.empty() && !ir::is_mutable(schema.returns[0].type));
}

// The operator that copies what a view operator shows with another sign; null for other operators.
const Op* copy_of_sign_view(const Op& op) {
  static const Op *const conj = find_op("aten::_conj", ""), *const negative = find_op("aten::_neg_view", ""),
                         *const conj_copy = find_op("aten::_conj_physical", ""), *const neg = find_op("aten::neg", "");
  return &op == conj ? conj_copy : &op == negative ? neg : nullptr;
}

bool is_clone(const Op& op) {
  static const Op* const clone = find_op("aten::clone", "");
  return &op == clone;
}

// Plain but for its math bits.
bool is_plain_memory(const Tensor& t) { return is_plain(has_math_bits(t) ? without_math_bits(t) : t); }

bool holds_already(const Value& object, size_t slot, const Value& v) {
  const Value& known = object.to_object().slot(slot);
  return v.is_tensor() && known.is_tensor() && known.to_tensor().is_same(v.to_tensor());
}

void for_each_tensor(const Value& v, const std::function<void(const Tensor&)>& f) {
  if (v.is_tensor()) return f(v.to_tensor());
  if (v.is_list()) {
    if (v.to_list().is_tensors()) {
      for (const Tensor& t : v.to_list().tensors()) {
        if (t.defined()) f(t);
      }
    } else if (!v.to_list().is_ints() && !v.to_list().is_doubles() && !v.to_list().is_bools()) {
      for (const Value& item : v.to_list().values()) for_each_tensor(item, f);
    }
  } else if (v.is_tuple()) {
    for (const Value& item : v.to_tuple().items) for_each_tensor(item, f);
  } else if (v.is_dict()) {
    v.to_dict().for_each([&](const Value& key, const Value& item) {
      for_each_tensor(key, f);
      for_each_tensor(item, f);
    });
  }
}

}  // namespace

Recorder::Recorder(std::span<const Value> args) {
  static const bool kernel_is_set = (set_fallback(Key::functionalize, kernel), true);
  static_cast<void>(kernel_is_set);
  SCONCE_ASSERT(!current);
  constexpr size_t kUsual = 128;  // nodes; more cost what growing costs
  tape_.nodes.reserve(kUsual);
  tape_.values.reserve(2 * kUsual);
  known_.reserve(2 * kUsual);
  tape_.records = records_gradients();
  for (const Value& v : args) learn_outside(v, true);
  current = this;
  set_recording(true);
}

Recorder::~Recorder() {
  if (current == this) {
    set_recording(false);
    current = nullptr;
  }
}

bool Recorder::is_active() { return current != nullptr; }

void Recorder::give_up(std::string why) {
  if (failed_) return;
  failed_ = true;
  why_ = std::move(why);
  set_recording(false);
}

void Recorder::meet_gradients() {
  met_gradients_ = !failed_;
  give_up("records gradients");
}

// ---- what is outside ----

void Recorder::learn_outside(const Value& v, bool is_input) {
  switch (v.tag()) {
    case Tag::tensor: {
      const Tensor& t = v.to_tensor();
      if (!is_input) {
        outside_tensors_.emplace(t.impl(), t);
        return;
      }
      if (has_math_bits(t)) give_up("is given a conjugate or negative view");
      if (const auto found = known_.find(t.impl()); found != known_.end()) {
        tape_.inputs.push_back(found->second);
        return;
      }
      const auto block = static_cast<BlockId>(tape_.blocks.size());
      const ValueId value = add_value(t, block, 0);
      tape_.blocks.push_back({TapeBlock::Kind::input, value, kNone, {}});
      tape_.inputs.push_back(value);
      return;
    }
    case Tag::list:
      outside_.insert(v.counted());
      for (const Value& item : v.to_list().values()) learn_outside(item, is_input);
      return;
    case Tag::tuple:
      outside_.insert(v.counted());
      for (const Value& item : v.to_tuple().items) learn_outside(item, is_input);
      return;
    case Tag::dict:
      outside_.insert(v.counted());
      v.to_dict().for_each([&](const Value& key, const Value& item) {
        learn_outside(key, is_input);
        learn_outside(item, is_input);
      });
      return;
    case Tag::object:
      outside_.insert(v.counted());
      return;
    default:
      return;
  }
}

bool Recorder::is_outside(const Value& v) const { return v.tag() > Tag::tensor && outside_.count(v.counted()) != 0; }

void Recorder::learn_attribute(const Value& object, size_t slot) {
  if (!object.is_object() || !is_outside(object)) return;
  Object& o = object.to_object();
  if (!guards_.add(o, slot)) return give_up("reads an attribute that cannot be guarded");
  const Value& v = o.slot(slot);
  const bool was_known = is_outside(v);
  if (!was_known) learn_outside(v, false);
}

void Recorder::enter(const runtime::Code& code) {
  if (failed_ || !entered_.insert(&code).second) return;
  for (const Value& v : code.initial) learn_outside(v, false);
}

void Recorder::before(const runtime::Code& code, size_t instruction, const Value* registers) {
  if (failed_) return;
  site_ = {&code, instruction};
  const runtime::Instruction& i = code.instructions[instruction];
  auto* base = reinterpret_cast<runtime::Slot*>(const_cast<Value*>(registers));
  const auto at = [&](uint32_t operand) -> const Value& {
    return runtime::value_of(runtime::slot_at(base, operand & ~runtime::kMoves));
  };
  switch (i.op) {
    case Opcode::get_attr_word:
    case Opcode::get_attr:
    case Opcode::borrow_attr:
    case Opcode::get_slot:
      return learn_attribute(at(i.b), static_cast<size_t>(i.integer));
    case Opcode::set_attr:
      // The tensor that is there already, as behind self.n += 1.
      if (is_outside(at(i.a)) && !holds_already(at(i.a), static_cast<size_t>(i.integer), at(i.b)))
        give_up("writes an attribute");
      return;
    case Opcode::set_attr_word:
    case Opcode::set_slot:
      if (is_outside(at(i.a))) give_up("writes an attribute");
      return;
    case Opcode::list_set_int:
    case Opcode::list_set_float:
    case Opcode::list_set_tensor:
    case Opcode::list_set_value:
    case Opcode::list_append_int:
    case Opcode::list_append_float:
    case Opcode::list_append_tensor:
    case Opcode::list_append_value:
    case Opcode::dict_set:
      if (is_outside(at(i.a))) give_up("changes a container that it was given");
      return;
    case Opcode::tolist:
    case Opcode::tolist_of:
      return give_up("makes a list of elements");
    case Opcode::fork:
    case Opcode::make_await:
    case Opcode::wait:
    case Opcode::make_done:
      return give_up("starts a task");
    case Opcode::enter:
    case Opcode::leave:
      return give_up("enters a context");
    case Opcode::warn:
      return give_up("warns");
    default:
      return;
  }
}

// ---- calls ----

ValueId Recorder::add_value(const Tensor& t, BlockId block, int64_t offset) {
  const auto id = static_cast<ValueId>(tape_.values.size());
  const Paused unrecorded;
  tape_.values.push_back({Tape::twin_of(t), block, offset, t.device()});
  if (const Device device = t.device(); device.type != DeviceType::cpu) {
    if (tape_.device.type == DeviceType::cpu) tape_.device = device;
    if (!(tape_.device == device)) give_up("works on several devices");
  }
  known_[t.impl()] = id;
  if (has_math_bits(t))
    signed_.insert(t.impl());
  else if (!signed_.empty())
    signed_.erase(t.impl());
  return id;
}

// Is it memory that a view with math bits shows, or perhaps does?
bool Recorder::is_shown(ValueId v) const {
  if (shown_.empty()) return false;
  const BlockId block = tape_.block_of(v);
  if (shown_.count(block) != 0 || copies_.count(block) != 0) return true;
  // Inputs may share memory with each other.
  const auto is_outside = [&](BlockId b) { return tape_.blocks[b].kind != TapeBlock::Kind::made; };
  return is_outside(block) && std::any_of(shown_.begin(), shown_.end(), is_outside);
}

ValueId Recorder::value_of(const Tensor& t) {
  if (const auto found = known_.find(t.impl()); found != known_.end()) return found->second;
  if (outside_tensors_.count(t.impl()) == 0) return kNone;
  const auto block = static_cast<BlockId>(tape_.blocks.size());
  const ValueId value = add_value(t, block, 0);
  tape_.blocks.push_back({TapeBlock::Kind::constant, value, kNone, t});
  return value;
}

bool Recorder::take_arguments(TapeNode& node, const Value* args) {
  const Schema& schema = node.op->schema();
  const auto use = [&](const Tensor& t, size_t arg, int32_t item) {
    if (!is_plain_memory(t) || (has_math_bits(t) && signed_.count(t.impl()) == 0)) {
      give_up(node.op->qualified_name() + " has a tensor of a special kind");
      return false;
    }
    if (tape_.records && t.requires_grad()) {
      meet_gradients();
      return false;
    }
    const ValueId value = value_of(t);
    if (value == kNone) {
      give_up(node.op->qualified_name() + " has a tensor of unknown origin");
      return false;
    }
    node.uses.push_back({static_cast<uint32_t>(arg), item, value});
    if (schema.arguments[arg].is_written()) {
      if (is_shown(value)) {
        give_up(node.op->qualified_name() + " writes to memory of a conjugate or negative view");
        return false;
      }
      node.writes.push_back(value);
    }
    return true;
  };
  node.args.reserve(schema.arguments.size());
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Value& v = args[i];
    Value kept;
    if (v.is_tensor()) {
      if (!use(v.to_tensor(), i, -1)) return false;
    } else if (v.is_list()) {
      // A copy: the program may change its list afterwards.
      kept = Value(v.to_list().copy());
      List& list = kept.to_list();
      if (list.is_tensors()) {
        const std::vector<Tensor> tensors(list.tensors().begin(), list.tensors().end());
        auto empty = make_ref<List>(optional_type(tensor_type()));
        for (size_t k = 0; k < tensors.size(); ++k) {
          empty->append(Value());
          if (tensors[k].defined() && !use(tensors[k], i, static_cast<int32_t>(k))) return false;
        }
        kept = Value(std::move(empty));
      }
      if (schema.arguments[i].is_written() && node.writes.empty()) {
        give_up(node.op->qualified_name() + " changes a list");
        return false;
      }
    } else if (v.is_dict() || v.is_object() || v.is_tuple() || v.tag() >= Tag::future) {
      give_up(node.op->qualified_name() + " has an argument that cannot be repeated");
      return false;
    } else {
      kept = v;
    }
    node.args.push_back(std::move(kept));
  }
  return true;
}

bool Recorder::runs_on_meta(const Op& op, const Value* args, std::vector<Value>& results) {
  const size_t count = op.schema().arguments.size();
  std::vector<Value> twins(args, args + count);
  for (size_t i = 0; i < count; ++i) {
    if (twins[i].is_tensor()) {
      twins[i] = Value(Tape::twin_of(twins[i].to_tensor()));
    } else if (twins[i].is_list() && twins[i].to_list().is_tensors()) {
      twins[i] = Value(twins[i].to_list().copy());
      for (Tensor& t : twins[i].to_list().tensor_items()) {
        if (t.defined()) t = Tape::twin_of(t);
      }
    }
  }
  results.resize(op.schema().returns.size());
  try {
    op.call_boxed(twins.data(), results.data());
  } catch (const Error&) {
    return false;
  }
  return true;
}

bool Recorder::take_results(TapeNode& node, const Value* returns, const std::vector<Tensor>& given) {
  const auto node_id = static_cast<NodeId>(tape_.nodes.size());
  const size_t first_value = tape_.values.size();
  std::vector<Tensor> made;
  const auto take = [&](const Tensor& t) -> bool {
    if (!t.defined()) {
      node.results.push_back(kNone);
      return true;
    }
    if (!is_plain_memory(t)) return false;
    // The argument itself, perhaps written.
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].is_same(t)) {
        node.results.push_back(node.uses[i].value);
        return true;
      }
    }
    BlockId block = kNone;
    int64_t offset = 0;
    const auto distance = [&](const Tensor& from) {
      return static_cast<const char*>(t.data()) - static_cast<const char*>(from.data());
    };
    for (size_t i = 0; i < given.size() && block == kNone; ++i) {
      if (given[i].storage() != t.storage()) continue;
      const TapeValue& base = tape_.values[node.uses[i].value];
      block = base.block;
      offset = base.offset + distance(given[i]);
    }
    for (size_t i = 0; i < made.size() && block == kNone; ++i) {
      if (made[i].storage() != t.storage()) continue;
      const TapeValue& base = tape_.values[known_.at(made[i].impl())];
      block = base.block;
      offset = base.offset + distance(made[i]);
    }
    if (block == kNone) {
      block = static_cast<BlockId>(tape_.blocks.size());
      tape_.blocks.push_back({TapeBlock::Kind::made, static_cast<ValueId>(tape_.values.size()), node_id, {}});
    }
    node.results.push_back(add_value(t, block, offset));
    made.push_back(t);
    return true;
  };
  const auto& types = node.op->schema().returns;
  for (size_t i = 0; i < types.size(); ++i) {
    const Value& v = returns[i];
    if (v.is_list() && is_tensor_type(types[i].type)) {
      const TensorList list = v.to_list().tensors();
      node.result_sizes.push_back(static_cast<uint32_t>(list.size()));
      for (const Tensor& t : list) {
        if (!take(t)) return false;
      }
    } else if (v.is_tensor() || (v.is_none() && is_tensor_type(types[i].type))) {
      node.result_sizes.push_back(kNone);
      if (!take(v.to_optional_tensor())) return false;
    } else {
      return false;  // a number beside tensors: it might depend on elements
    }
  }
  static_cast<void>(first_value);
  return true;
}

// A number that a program keeps as a tensor: a plan may rely on its elements, and is dropped when they are written.
bool Recorder::is_small_constant(ValueId v) const {
  constexpr int64_t kMostElements = 64;
  return tape_.is_constant(v) && tape_.twin(v).numel() <= kMostElements && changed_.count(tape_.block_of(v)) == 0;
}

void Recorder::learn_fixed(const TapeNode& node) {
  fixed_.resize(tape_.values.size());
  // What a run writes outside has other elements in the next run.
  for (const ValueId w : node.writes) {
    if (tape_.blocks[tape_.block_of(w)].kind != TapeBlock::Kind::made) changed_.insert(tape_.block_of(w));
  }
  const bool fixed = !node.op->has(Trait::random) &&
                     std::all_of(node.uses.begin(), node.uses.end(),
                                 [&](const TensorUse& u) { return fixed_[u.value] || is_small_constant(u.value); });
  for (const TensorUse& u : node.uses) {
    if (fixed && !fixed_[u.value]) tape_.read.push_back(tape_.block_of(u.value));
  }
  for (const ValueId r : node.results) {
    if (r != kNone) fixed_[r] = fixed;
  }
  // Whatever lies in memory that was written with other elements is fixed no longer.
  for (const ValueId w : node.writes) {
    for (ValueId v = 0; !fixed && v < fixed_.size(); ++v) {
      if (tape_.block_of(v) == tape_.block_of(w)) fixed_[v] = false;
    }
  }
}

bool Recorder::is_fixed(const Tensor& t) {
  const ValueId v = value_of(t);
  if (v == kNone) return false;
  if (v < fixed_.size() && fixed_[v]) return true;
  if (!is_small_constant(v)) return false;
  tape_.read.push_back(tape_.block_of(v));
  return true;
}

namespace {

// Whether two arguments that are no tensors are the same to the bit; false also where that is not simple to say.
bool same_argument(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  if (a.tag() < Tag::tensor) return a.is_none() || a.bits() == b.bits();
  if (!a.is_list() || !a.to_list().is_ints() || !b.to_list().is_ints()) return false;
  return a.to_list().ints() == b.to_list().ints();
}

}  // namespace

// The last call of the operator, if it had the same numbers, and tensors of the same geometry: layers of a network are
// alike. Its results then have the geometry that a call on Meta would give.
const TapeNode* Recorder::same_call(const TapeNode& node) const {
  const auto found = last_call_.find(node.op);
  if (found == last_call_.end() || !node.writes.empty()) return nullptr;
  const TapeNode& last = tape_.nodes[found->second];
  if (!last.writes.empty() || last.uses.size() != node.uses.size() || last.args.size() != node.args.size())
    return nullptr;
  for (size_t i = 0; i < node.uses.size(); ++i) {
    const TensorUse &a = node.uses[i], &b = last.uses[i];
    const Tensor &x = tape_.twin(a.value), &y = tape_.twin(b.value);
    if (a.arg != b.arg || a.item >= 0 || b.item >= 0 || !same_geometry(x, y) ||
        x.is_wrapped_number() != y.is_wrapped_number())
      return nullptr;
    for (size_t k = 0; k < i; ++k) {  // tensors that occur twice
      if ((node.uses[k].value == a.value) != (last.uses[k].value == b.value)) return nullptr;
    }
  }
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (!same_argument(node.args[i], last.args[i])) return nullptr;
  }
  return &last;
}

// Asks Meta what the call gives, or takes what the same call gave before.
bool Recorder::probe_or_repeat(TapeNode& node, std::vector<Value>& expected, const TapeNode*& same) {
  same = same_call(node);
  if (!same) return probe(tape_, node, expected);
  if (!same->pointwise) return true;
  node.pointwise = std::make_unique<PointwiseCall>(*same->pointwise);
  for (ValueId& input : node.pointwise->inputs) {
    const auto use =
        std::find_if(same->uses.begin(), same->uses.end(), [&](const TensorUse& u) { return u.value == input; });
    if (use == same->uses.end()) return probe(tape_, node, expected);
    input = node.uses[static_cast<size_t>(use - same->uses.begin())].value;
  }
  return true;
}

bool Recorder::record_call(TapeNode& node, KeySet keys, Value* args, Value* returns) {
  const Op& op = *node.op;
  if (op.schema().returns.size() > kMostReturns) {
    give_up(op.qualified_name() + " has many results");
    return false;
  }
  if (const Op* copy = copy_of_sign_view(op)) return record_sign_view(node, *copy, keys, args, returns);
  if (!take_arguments(node, args)) return false;
  if (is_clone(op) && has_math_bits(args[0].to_tensor()) && args[0].to_tensor().is_dense() && args[1].is_none()) {
    // The copy on the tape is a clone already.
    const ValueId value = node.uses[0].value;
    run_below(op, keys, args, returns);
    known_[returns[0].to_tensor().impl()] = value;
    signed_.erase(returns[0].to_tensor().impl());
    return true;
  }
  std::vector<Tensor> given;
  given.reserve(node.uses.size());
  for (const TensorUse& use : node.uses) {
    given.push_back(use.item < 0 ? args[use.arg].to_tensor()
                                 : args[use.arg].to_list().tensors()[static_cast<size_t>(use.item)]);
  }
  std::vector<Value> expected;
  const TapeNode* same = nullptr;  // expected instead
  if (op.has(Trait::random)) {
    tape_.draws = true;
  } else if (!node.uses.empty() && !probe_or_repeat(node, expected, same)) {
    give_up(op.qualified_name() + " reads elements, or does not know Meta tensors");
    return false;
  }
  const auto writes = [&] {
    uint64_t all = 0;
    for (size_t i = 0; i < given.size(); ++i) {
      if (op.schema().arguments[node.uses[i].arg].is_written()) all += write_count(given[i]);
    }
    return all;
  };
  const uint64_t before = writes();
  run_below(op, keys, args, returns);
  if (writes() == before) node.writes.clear();  // as dropout_ outside of training
  for (size_t i = 0; i < given.size(); ++i) {
    if (!same_geometry(given[i], tape_.twin(node.uses[i].value))) {
      give_up(op.qualified_name() + " changes the sizes of an argument");
      return true;
    }
  }
  if (!take_results(node, returns, given)) {
    give_up(op.qualified_name() + " gives something else than ordinary tensors");
    return true;
  }
  // What only hands on its argument is nothing to repeat.
  const bool hands_on =
      node.writes.empty() && !node.uses.empty() &&
      std::all_of(node.results.begin(), node.results.end(), [&](ValueId r) {
        return std::any_of(node.uses.begin(), node.uses.end(), [&](const TensorUse& use) { return use.value == r; });
      });
  if (!hands_on) {
    if ((same || !expected.empty()) && node.writes.empty()) {
      size_t at = 0;
      bool is_expected = !same || same->results.size() == node.results.size();
      for (const Value& v : expected) {
        for_each_tensor(v, [&](const Tensor& t) {
          while (at < node.results.size() && node.results[at] == kNone) ++at;
          is_expected = is_expected && at < node.results.size() && same_geometry(t, tape_.twin(node.results[at]));
          ++at;
        });
      }
      for (size_t i = 0; same && is_expected && i < node.results.size(); ++i) {
        const ValueId a = node.results[i], b = same->results[i];
        is_expected = a == kNone || b == kNone ? a == b : same_geometry(tape_.twin(a), tape_.twin(b));
      }
      if (!is_expected) {
        give_up(op.qualified_name() + " gives other sizes or strides on Meta");
        return true;
      }
    }
    learn_fixed(node);
    last_call_[node.op] = static_cast<NodeId>(tape_.nodes.size());
    tape_.nodes.push_back(std::move(node));
  }
  return true;
}

// Note [Conjugates on tapes]
bool Recorder::record_sign_view(TapeNode& node, const Op& copy, KeySet keys, Value* args, Value* returns) {
  const Op& view = *std::exchange(node.op, &copy);
  if (!take_arguments(node, args)) return false;
  std::vector<Value> expected;
  if (!probe(tape_, node, expected)) {
    give_up(copy.qualified_name() + " does not know Meta tensors");
    return false;
  }
  const ValueId shown = node.uses[0].value;
  run_below(view, keys, args, returns);
  const Tensor& made = returns[0].to_tensor();
  if (!expected[0].is_tensor() || !same_geometry(expected[0].to_tensor(), made)) {
    give_up(view.qualified_name() + " of a tensor that is not dense");
    return true;
  }
  const auto block = static_cast<BlockId>(tape_.blocks.size());
  tape_.blocks.push_back(
      {TapeBlock::Kind::made, static_cast<ValueId>(tape_.values.size()), static_cast<NodeId>(tape_.nodes.size()), {}});
  node.results.push_back(add_value(made, block, 0));
  node.result_sizes.push_back(kNone);
  shown_.insert(tape_.block_of(shown));
  copies_.insert(block);
  learn_fixed(node);
  tape_.nodes.push_back(std::move(node));
  return true;
}

void Recorder::record(const Op& op, KeySet keys, Value* args, Value* returns) {
  if (failed_) return run_below(op, keys, args, returns);
  // The body's calls are recorded instead.
  if (op.has(Trait::compound) && !op.has(Trait::inplace) && !op.has(Trait::out))
    return run_below(op, keys, args, returns);
  const Paused unrecorded;
  const Schema& schema = op.schema();
  if (makes_tensors(schema)) {
    TapeNode node;
    node.site = site_;
    node.op = &op;
    if (!record_call(node, keys, args, returns)) run_below(op, keys, args, returns);
    return;
  }
  // Operators over values. Those that see tensors may ask for their geometry, not for their elements.
  bool sees = false, all_fixed = true;
  bool is_hidden = false;  // a tensor behind a type that says nothing of it, as in str(x)
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const TypePtr type = schema.arguments[i].type;
    if (is_tensor_type(type))
      for_each_tensor(args[i], [&](const Tensor& t) {
        sees = true;
        all_fixed = all_fixed && is_fixed(t);
      });
    else if (args[i].is_tensor())
      is_hidden = is_hidden || !is_fixed(args[i].to_tensor());
    if (schema.arguments[i].is_written() && is_outside(args[i]))
      give_up(op.qualified_name() + " changes what it was given");
  }
  std::vector<Value> on_meta;
  if (schema.is_vararg) {
    give_up(op.qualified_name() + " takes any arguments");
  } else if (schema.returns.empty() && !schema.is_mutable() && !op.has(Trait::idempotent)) {
    give_up(op.qualified_name() + " has effects");
  } else if (is_nondeterministic(op)) {
    give_up(op.qualified_name() + " depends on more than its arguments");
  } else if (sees && (schema.is_mutable() || (!all_fixed && !runs_on_meta(op, args, on_meta)))) {
    give_up(op.qualified_name() + " reads elements");
  }
  if (!is_hidden || failed_ || schema.is_mutable()) return run_below(op, keys, args, returns);
  // The answer must be the one for a tensor without elements, unless it is the tensor.
  bool same = runs_on_meta(op, args, on_meta);
  run_below(op, keys, args, returns);
  for (size_t i = 0; same && i < schema.returns.size(); ++i)
    same = returns[i].is_tensor() || returns[i].equals(on_meta[i]);
  if (!same) give_up(op.qualified_name() + " reads elements");
}

// ---- results ----

bool Recorder::take_output(const Value& v, Output& output) {
  switch (v.tag()) {
    case Tag::tensor:
      output.kind = Output::Kind::tensor;
      if (has_math_bits(v.to_tensor())) return false;
      output.value = value_of(v.to_tensor());
      return output.value != kNone && copies_.count(tape_.block_of(output.value)) == 0;
    case Tag::none:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::device:
    case Tag::string:
    case Tag::complex:
      output.constant = v;
      return true;
    case Tag::list:
    case Tag::dict:
    case Tag::tuple:
      break;
    default:
      return false;
  }
  // One that was given, or that is there twice, would be the same object, not a new one.
  if (is_outside(v) || (!v.is_tuple() && !returned_.insert(v.counted()).second)) return false;
  std::vector<Value> items;
  if (v.is_list()) {
    output.kind = Output::Kind::list;
    output.type = v.to_list().element_type();
    items = v.to_list().values();
  } else if (v.is_tuple()) {
    output.kind = Output::Kind::tuple;
    output.type = v.to_tuple().named_type;
    items = v.to_tuple().items;
  } else {
    output.kind = Output::Kind::dict;
    output.type = v.to_dict().key_type();
    output.value_type = v.to_dict().value_type();
    v.to_dict().for_each([&](const Value& key, const Value& item) {
      items.push_back(key);
      items.push_back(item);
    });
  }
  for (const Value& item : items) {
    output.items.emplace_back();
    if (!take_output(item, output.items.back())) return false;
  }
  return true;
}

std::optional<Tape> Recorder::finish(const Value& result) {
  set_recording(false);
  current = nullptr;
  if (!failed_ && !take_output(result, tape_.output)) give_up("returns something that cannot be made again");
  if (failed_) return {};
  return std::move(tape_);
}

}  // namespace sconce::executor
