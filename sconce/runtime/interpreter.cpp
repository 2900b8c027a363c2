// The loop. Note [Registers] and Note [Jumps] in bytecode.h say how code and frames look.
#include "sconce/runtime/interpreter.h"

#include <cstring>

#include "sconce/base/budget.h"
#include "sconce/base/numbers.h"
#include "sconce/runtime/bytecode/slots.h"
#include "sconce/runtime/execute.h"
#include "sconce/runtime/fork.h"
#include "sconce/runtime/op_calls.h"
#include "sconce/runtime/planner.h"
#include "sconce/runtime/value_ops.h"
#include "sconce/types/class_info.h"

#pragma GCC diagnostic ignored "-Wpedantic"  // addresses of labels

namespace sconce::runtime {
namespace {

using namespace numbers;

constinit const std::atomic<bool> never_cancelled{false};
constinit std::atomic<Observer*> observer_of_all{nullptr};

constexpr int64_t kStepsBetweenPolls = 1024;
constexpr uint64_t kInstructionsPerStep = 64;

// What the interpreter may count without asking. Steps that are limited are counted in the budget, one by one and
// exactly: a run is not refused while another holds steps that it does not use.
int64_t uncounted_steps(const Budget* budget) {
  return !budget ? INT64_MAX : budget->counts_steps() ? 0 : kStepsBetweenPolls;
}

// Where that is at its end, or the run is cancelled; `instructions` of the loop's body or of the callee count, too.
SCONCE_COLD int64_t take_step(Budget* budget, size_t instructions) {
  SCONCE_ASSERT(budget != nullptr);
  budget->take_steps(1 + instructions / kInstructionsPerStep);
  return uncounted_steps(budget);
}

// How many instructions the loop has that ends here: `pc` jumps back, or the instruction behind it does.
size_t loop_size(const Code& code, const Instruction* pc) {
  const Instruction* target = (pc->op == Opcode::step ? pc + 1 : pc)->target;
  const bool back = target >= code.instructions.data() && target <= pc;
  return back ? static_cast<size_t>(pc - target) : 0;
}

SCONCE_INLINE void copy_initial(Slot* base, const Code& code) {
  if (code.initial.empty()) return;  // has no address, which memcpy must not see
  std::memcpy(static_cast<void*>(base + code.args), static_cast<const void*>(code.initial.data()),
              code.initial.size() * sizeof(Slot));
}

// Before an item is appended that may make the list grow, twofold as vectors do.
template <class T>
SCONCE_INLINE void charge_growth(const ItemsOf<T>& items) {
  if (items.size() == items.capacity()) [[unlikely]]
    Budget::charge_memory(std::max<size_t>(items.size(), 4), sizeof(T));
}

SCONCE_INLINE size_t list_index(int64_t i, size_t n) {
  if (static_cast<uint64_t>(i) >= n) [[unlikely]] {
    i += static_cast<int64_t>(n);
    if (static_cast<uint64_t>(i) >= n) fail_list_index();
  }
  return static_cast<size_t>(i);
}

std::vector<Value> captured(Slot* base, const BuildSite& site) {
  std::vector<Value> args;
  args.reserve(site.registers.size());
  for (const Operand o : site.registers) args.push_back(take_value(base, o));
  return args;
}

void run_region(Slot* base, const BuildSite& site, const RunOptions& options) {
  std::vector<Value> results = site.region->run(captured(base, site), options);
  for (size_t i = 0; i < results.size(); ++i) {
    if (site.results[i] != kNowhere) put_value(slot_at(base, site.results[i]), std::move(results[i]), site.tags[i]);
  }
}

Value done_future(TypePtr type, Value v) {
  auto future = make_ref<Future>(type);
  future->complete(std::move(v));
  return future;
}

// Runs ex.code from its first instruction until the first frame returns. Results are in the first registers of ex.base.
// A jump to the next instruction runs no destructors: objects that need one are temporaries of a full expression.
template <bool kObserved>
void interpret(Execution& ex, const RunOptions& options) {
  static const void* const labels[] = {
#define SCONCE_OPCODE(name, operands, text) &&do_##name,
      SCONCE_OPCODES(SCONCE_OPCODE)
#undef SCONCE_OPCODE
  };
  const Code* code = ex.code;
  const Instruction* pc = code->instructions.data();
  Slot* base = ex.base;
  Budget* const budget = Budget::active();
  int64_t steps = uncounted_steps(budget);
  const std::atomic<bool>* cancel = budget ? &budget->stopped() : &never_cancelled;
  const CallSite* called = nullptr;

#define GO                                                                                                    \
  do {                                                                                                        \
    if constexpr (kObserved) {                                                                                \
      options.observer->before(*code, static_cast<size_t>(pc - code->instructions.data()), &value_of(*base)); \
    }                                                                                                         \
    goto* labels[static_cast<size_t>(pc->op)];                                                                \
  } while (false)
#define NEXT \
  do {       \
    ++pc;    \
    GO;      \
  } while (false)
// Two real branches with a dispatch each: a conditional move would make the next instruction wait for the comparison.
#define BRANCH(condition) \
  do {                    \
    if (condition) {      \
      asm volatile("");   \
      pc = pc->target;    \
      GO;                 \
    } else {              \
      ++pc;               \
      GO;                 \
    }                     \
  } while (false)
#define SAVE ex.pc = pc
#define A slot_at(base, pc->a)
#define B slot_at(base, pc->b)
#define C slot_at(base, pc->c)
#define INT(slot) (*reinterpret_cast<Word*>(&(slot).bits))
#define FLOAT(slot) (*reinterpret_cast<Float*>(&(slot).bits))
#define STEP                                                                   \
  do {                                                                         \
    if (--steps < 0 || cancel->load(std::memory_order_relaxed)) [[unlikely]] { \
      SAVE;                                                                    \
      steps = take_step(budget, loop_size(*code, pc));                         \
    }                                                                          \
  } while (false)
#define WINDOW (base + code->frame)

  using Word __attribute__((may_alias)) = int64_t;
  using Float __attribute__((may_alias, unused)) = double;

  GO;

do_move_word:
  A.bits = B.bits;
  NEXT;
do_retag: {
  const uint64_t bits = B.tag < kFirstCounted ? B.bits : 0;
  A.bits = bits;
  A.tag = pc->c;
  NEXT;
}
do_copy_bits:
  copy_words(A, B);
  NEXT;
do_copy:
  copy_counted(A, B);
  NEXT;
do_move:
  move_slot(A, B);
  NEXT;
do_drop:
  release_slot(A);
  NEXT;
do_drop_range:
  for (Slot *s = &A, *end = s + pc->b; s != end; ++s) release_slot(*s);
  NEXT;
do_check_tag:
  if (A.tag != pc->b) [[unlikely]] {
    SAVE;
    wrong_tag(value_of(A).tag(), static_cast<Tag>(pc->b));
  }
  NEXT;
do_load_int:
  INT(A) = pc->integer;
  NEXT;
do_load_float:
  FLOAT(A) = pc->real;
  NEXT;

do_add_int:
  INT(A) = wrap_add(INT(B), INT(C));
  NEXT;
do_sub_int:
  INT(A) = wrap_sub(INT(B), INT(C));
  NEXT;
do_mul_int:
  INT(A) = wrap_mul(INT(B), INT(C));
  NEXT;
do_floordiv_int: {
  const int64_t divisor = INT(C);
  if (divisor == 0) [[unlikely]] {
    SAVE;
    fail_division();
  }
  INT(A) = floor_div(INT(B), divisor);
  NEXT;
}
do_mod_int: {
  const int64_t divisor = INT(C);
  if (divisor == 0) [[unlikely]] {
    SAVE;
    fail_division();
  }
  INT(A) = floor_mod(INT(B), divisor);
  NEXT;
}
do_and_int:
  INT(A) = INT(B) & INT(C);
  NEXT;
do_or_int:
  INT(A) = INT(B) | INT(C);
  NEXT;
do_xor_int:
  INT(A) = INT(B) ^ INT(C);
  NEXT;
do_add_int_imm:
  INT(A) = wrap_add(INT(B), pc->integer);
  NEXT;
do_mul_int_imm:
  INT(A) = wrap_mul(INT(B), pc->integer);
  NEXT;
do_floordiv_int_imm:
  INT(A) = floor_div(INT(B), pc->integer);
  NEXT;
do_mod_int_imm:
  INT(A) = floor_mod(INT(B), pc->integer);
  NEXT;
do_neg_int:
  INT(A) = wrap_neg(INT(B));
  NEXT;
do_not_bool:
  INT(A) = INT(B) ^ 1;
  NEXT;
do_eq_int:
  INT(A) = INT(B) == INT(C);
  NEXT;
do_ne_int:
  INT(A) = INT(B) != INT(C);
  NEXT;
do_lt_int:
  INT(A) = INT(B) < INT(C);
  NEXT;
do_le_int:
  INT(A) = INT(B) <= INT(C);
  NEXT;
do_eq_int_imm:
  INT(A) = INT(B) == pc->integer;
  NEXT;
do_ne_int_imm:
  INT(A) = INT(B) != pc->integer;
  NEXT;
do_lt_int_imm:
  INT(A) = INT(B) < pc->integer;
  NEXT;
do_le_int_imm:
  INT(A) = INT(B) <= pc->integer;
  NEXT;
do_gt_int_imm:
  INT(A) = INT(B) > pc->integer;
  NEXT;
do_ge_int_imm:
  INT(A) = INT(B) >= pc->integer;
  NEXT;

do_add_float:
  FLOAT(A) = FLOAT(B) + FLOAT(C);
  NEXT;
do_sub_float:
  FLOAT(A) = FLOAT(B) - FLOAT(C);
  NEXT;
do_mul_float:
  FLOAT(A) = FLOAT(B) * FLOAT(C);
  NEXT;
do_div_float:
  FLOAT(A) = FLOAT(B) / FLOAT(C);
  NEXT;
do_add_float_imm:
  FLOAT(A) = FLOAT(B) + pc->real;
  NEXT;
do_mul_float_imm:
  FLOAT(A) = FLOAT(B) * pc->real;
  NEXT;
do_div_float_imm:
  FLOAT(A) = FLOAT(B) / pc->real;
  NEXT;
do_neg_float:
  FLOAT(A) = -FLOAT(B);
  NEXT;
do_eq_float:
  INT(A) = FLOAT(B) == FLOAT(C);
  NEXT;
do_ne_float:
  INT(A) = FLOAT(B) != FLOAT(C);
  NEXT;
do_lt_float:
  INT(A) = FLOAT(B) < FLOAT(C);
  NEXT;
do_le_float:
  INT(A) = FLOAT(B) <= FLOAT(C);
  NEXT;
do_int_to_float:
  FLOAT(A) = static_cast<double>(INT(B));
  NEXT;
do_jump:
  pc = pc->target;
  GO;
do_jump_if:
  BRANCH(A.bits != 0);
do_jump_unless:
  BRANCH(A.bits == 0);
do_jump_eq_int:
  BRANCH(INT(A) == INT(B));
do_jump_ne_int:
  BRANCH(INT(A) != INT(B));
do_jump_lt_int:
  BRANCH(INT(A) < INT(B));
do_jump_le_int:
  BRANCH(INT(A) <= INT(B));
do_jump_eq_int_imm:
  BRANCH(INT(A) == static_cast<int16_t>(pc->b));
do_jump_ne_int_imm:
  BRANCH(INT(A) != static_cast<int16_t>(pc->b));
do_jump_lt_int_imm:
  BRANCH(INT(A) < static_cast<int16_t>(pc->b));
do_jump_le_int_imm:
  BRANCH(INT(A) <= static_cast<int16_t>(pc->b));
do_jump_gt_int_imm:
  BRANCH(INT(A) > static_cast<int16_t>(pc->b));
do_jump_ge_int_imm:
  BRANCH(INT(A) >= static_cast<int16_t>(pc->b));
do_jump_mod_eq:
  BRANCH(floor_mod(INT(A), static_cast<int16_t>(pc->b)) == static_cast<int16_t>(pc->c));
do_jump_mod_ne:
  BRANCH(floor_mod(INT(A), static_cast<int16_t>(pc->b)) != static_cast<int16_t>(pc->c));
do_jump_eq_float:
  BRANCH(FLOAT(A) == FLOAT(B));
do_jump_ne_float:
  BRANCH(FLOAT(A) != FLOAT(B));
do_jump_lt_float:
  BRANCH(FLOAT(A) < FLOAT(B));
do_jump_le_float:
  BRANCH(FLOAT(A) <= FLOAT(B));
do_jump_not_lt_float:
  BRANCH(!(FLOAT(A) < FLOAT(B)));
do_jump_not_le_float:
  BRANCH(!(FLOAT(A) <= FLOAT(B)));
do_jump_none:
  BRANCH(A.tag == kNoneTag);
do_jump_not_none:
  BRANCH(A.tag != kNoneTag);

do_for_prep:
  INT(A) = 0;
  BRANCH(INT(B) <= 0);
do_for_loop: {
  STEP;
  const int64_t next = INT(A) + 1;
  INT(A) = next;
  BRANCH(next < INT(B));
}
do_step:
  STEP;
  NEXT;
do_count:
  INT(A) = wrap_add(INT(A), 1);
  NEXT;
do_add_int_for: {
  INT(A) = wrap_add(INT(A), INT(B));
  STEP;
  Slot& counter = C;
  const int64_t next = INT(counter) + 1;
  INT(counter) = next;
  BRANCH(next < INT((&counter)[1]));
}
do_add_int_imm_for: {
  INT(A) = wrap_add(INT(A), static_cast<int16_t>(pc->b));
  STEP;
  Slot& counter = C;
  const int64_t next = INT(counter) + 1;
  INT(counter) = next;
  BRANCH(next < INT((&counter)[1]));
}

do_list_len: {
  SAVE;
  INT(A) = static_cast<int64_t>(list_in(B).size());
  NEXT;
}
do_list_get_int: {
  SAVE;
  List& list = list_in(B);
  const ItemsOf<int64_t> items = list.int_items();
  if (!items) [[unlikely]]
    fail_storage(list, "int");
  INT(A) = items[list_index(INT(C), items.size())];
  NEXT;
}
do_list_get_float: {
  SAVE;
  List& list = list_in(B);
  const ItemsOf<double> items = list.double_items();
  if (!items) [[unlikely]]
    fail_storage(list, "float");
  FLOAT(A) = items[list_index(INT(C), items.size())];
  NEXT;
}
do_list_get_bool: {
  SAVE;
  List& list = list_in(B);
  const ItemsOf<uint8_t> items = list.bool_items();
  if (!items) [[unlikely]]
    fail_storage(list, "bool");
  INT(A) = items[list_index(INT(C), items.size())];
  NEXT;
}
do_list_get_tensor: {
  SAVE;
  List& list = list_in(B);
  const ItemsOf<Tensor> items = list.tensor_items();
  if (!items) [[unlikely]]
    fail_storage(list, "Tensor");
  TensorImpl* t = items[list_index(INT(C), items.size())].impl();
  retain(t);
  A.bits = reinterpret_cast<uint64_t>(t);
  A.tag = t ? tag_word(Tag::tensor) : kNoneTag;
  NEXT;
}
do_list_get_value: {
  SAVE;
  List& list = list_in(B);
  Slot& to = A;
  if (const ItemsOf<Value> items = list.value_items()) {
    copy_counted(to, reinterpret_cast<const Slot&>(items[list_index(INT(C), items.size())]));
  } else {
    put_value(to, list.get(list_index(INT(C), list.size())), 0);
  }
  NEXT;
}
do_list_set_int: {
  SAVE;
  List& list = list_in(A);
  const ItemsOf<int64_t> items = list.int_items();
  if (!items) [[unlikely]]
    fail_storage(list, "int");
  items[list_index(INT(B), items.size())] = INT(C);
  NEXT;
}
do_list_set_float: {
  SAVE;
  List& list = list_in(A);
  const ItemsOf<double> items = list.double_items();
  if (!items) [[unlikely]]
    fail_storage(list, "float");
  items[list_index(INT(B), items.size())] = FLOAT(C);
  NEXT;
}
do_list_set_tensor: {
  SAVE;
  List& list = list_in(A);
  Slot& from = slot_at(base, pc->c & ~kMoves);
  const ItemsOf<Tensor> items = list.tensor_items();
  if (!items || from.tag != tag_word(Tag::tensor)) [[unlikely]] {
    list_set_value(base, *pc);
    NEXT;
  }
  items[list_index(INT(B), items.size())] = take_tensor(from, pc->c);
  NEXT;
}
do_list_set_value:
  SAVE;
  list_set_value(base, *pc);
  NEXT;
do_list_append_int: {
  SAVE;
  List& list = list_in(A);
  const ItemsOf<int64_t> items = list.int_items();
  if (!items) [[unlikely]]
    fail_storage(list, "int");
  charge_growth(items);
  items.push_back(INT(B));
  NEXT;
}
do_list_append_float: {
  SAVE;
  List& list = list_in(A);
  const ItemsOf<double> items = list.double_items();
  if (!items) [[unlikely]]
    fail_storage(list, "float");
  charge_growth(items);
  items.push_back(FLOAT(B));
  NEXT;
}
do_list_append_tensor: {
  SAVE;
  List& list = list_in(A);
  Slot& from = slot_at(base, pc->b & ~kMoves);
  const ItemsOf<Tensor> items = list.tensor_items();
  if (!items || from.tag != tag_word(Tag::tensor)) [[unlikely]] {
    list_append_value(base, *pc);
    NEXT;
  }
  charge_growth(items);
  items.push_back(take_tensor(from, pc->b));
  NEXT;
}
do_list_append_value:
  SAVE;
  list_append_value(base, *pc);
  NEXT;

do_dict_get_word:
  SAVE;
  dict_get(base, *pc, true);
  NEXT;
do_dict_get:
  SAVE;
  dict_get(base, *pc, false);
  NEXT;
do_dict_contains:
  SAVE;
  INT(A) = dict_in(B).find(value_of(C)) != nullptr;
  NEXT;
do_dict_set:
  SAVE;
  dict_set(base, *pc);
  NEXT;
do_str_concat:
  SAVE;
  str_concat(base, *pc);
  NEXT;
do_make_tuple:
  SAVE;
  make_tuple(base, *pc);
  NEXT;
do_make_list:
  SAVE;
  make_list(base, *pc);
  NEXT;
do_make_dict:
  SAVE;
  make_dict(base, *pc);
  NEXT;
do_unpack_tuple:
  SAVE;
  unpack_tuple(base, *pc);
  NEXT;
do_unpack_list:
  SAVE;
  unpack_list(base, *pc);
  NEXT;
do_tuple_get:
  SAVE;
  tuple_get(base, *pc);
  NEXT;
do_is_none:
  INT(A) = B.tag == kNoneTag;
  NEXT;
do_is_not_none:
  INT(A) = B.tag != kNoneTag;
  NEXT;
do_tolist:
  SAVE;
  put_value(A, tensor_to_list(value_of(B).to_tensor(), pc->build->type), static_cast<uint8_t>(pc->c));
  NEXT;
do_tolist_of:
  SAVE;
  tolist_of(base, *pc);
  NEXT;
do_isinstance: {
  SAVE;
  bool is = false;
  for (TypePtr t : pc->build->types) is = is || is_instance(value_of(B), t);
  INT(A) = is;
  NEXT;
}

do_make_object:
  SAVE;
  charge_items(4 + pc->build->type->class_info()->attributes.size());
  put_value(A, Value(make_ref<Object>(pc->build->type)), 0);
  NEXT;
do_get_attr_word:
  SAVE;
  A.bits = object_in(B).slots()[pc->integer].bits();
  NEXT;
do_get_attr:
  SAVE;
  copy_counted(A, reinterpret_cast<Slot&>(object_in(B).slots()[pc->integer]));
  NEXT;
do_borrow_attr:
  SAVE;
  copy_words(A, reinterpret_cast<Slot&>(object_in(B).slots()[pc->integer]));
  NEXT;
do_set_attr_word:
  SAVE;
  copy_words(reinterpret_cast<Slot&>(object_in(A).slots()[pc->integer]), B);
  NEXT;
do_set_attr:
  SAVE;
  object_in(A).slots()[pc->integer] = take_value(base, pc->b);  // swaps: the old value goes with the temporary
  NEXT;
do_get_slot:
  SAVE;
  get_slot(base, *pc);
  NEXT;
do_set_slot:
  SAVE;
  set_slot(base, *pc);
  NEXT;

do_call_op:
  SAVE;
  call_operator(base, *pc->op_call, WINDOW);
  NEXT;
do_call_t:
  SAVE;
  call_t(base, *pc, WINDOW);
  NEXT;
do_call_tt:
  SAVE;
  call_tt(base, *pc, WINDOW);
  NEXT;
do_call_ts:
  SAVE;
  call_ts(base, *pc, WINDOW);
  NEXT;
do_call_tts:
  SAVE;
  call_tts(base, *pc, WINDOW);
  NEXT;
do_call_tss:
  SAVE;
  call_tss(base, *pc, WINDOW);
  NEXT;
do_call_ttt:
  SAVE;
  call_ttt(base, *pc, WINDOW);
  NEXT;
do_call:
do_call_method: {
  SAVE;
  called = pc->call;
  Slot* window = &A;
  const Code* callee = nullptr;
  // An error from here on finds the arguments in the window, which no frame owns yet.
  try {
    callee = &code_of(called->function ? *called->function : method_of(*pc->call, window[0]));
    if (--steps < 0 || cancel->load(std::memory_order_relaxed)) [[unlikely]]
      steps = take_step(budget, callee->instructions.size());
    if (ex.frames.size() >= options.max_depth) [[unlikely]]
      fail("maximum depth of calls reached: {}", options.max_depth);
    if (window + callee->total > ex.limit) [[unlikely]]
      window = ex.grow(window, callee->total);
    ex.frames.push_back({pc, ex.base, code});
  } catch (...) {
    window = &slot_at(ex.base, pc->a);
    for (uint32_t i = called->borrows_self ? 1 : 0; i < called->args; ++i) release_slot(window[i]);
    throw;
  }
  code = callee;
  base = window;
  copy_initial(base, *code);
  ex.code = code;
  ex.base = base;
  pc = code->instructions.data();
  if constexpr (kObserved) options.observer->enter(*code);
  GO;
}
do_ret: {
  if (ex.frames.empty()) return;
  if constexpr (kObserved) options.observer->leave(*code);
  const Frame& caller = ex.frames.back();
  pc = caller.pc + 1;
  base = caller.base;
  code = caller.code;
  ex.base = base;
  ex.code = code;
  ex.frames.pop_back();
  GO;
}
do_fork: {
  SAVE;
  put_value(A, start_fork(*pc->build, captured(base, *pc->build), options), 0);
  NEXT;
}
do_make_await: {
  SAVE;
  put_value(A, make_await(*pc->build, captured(base, *pc->build), options), 0);
  NEXT;
}
do_wait:
  SAVE;
  put_value(A, wait_for(take_value(base, pc->b)), static_cast<uint8_t>(pc->c));
  NEXT;
do_make_done:
  SAVE;
  put_value(A, done_future(pc->build->type, take_value(base, pc->b)), 0);
  NEXT;
do_run_region:
  SAVE;
  run_region(base, *pc->build, options);
  NEXT;
do_enter:
  SAVE;
  ex.entered.push_back({value_of(A), ex.frames.size()});
  NEXT;
do_leave:
  SAVE;
  if (!ex.entered.empty()) ex.entered.pop_back();
  NEXT;
do_raise: {
  SAVE;
  const Value& name = value_of(B);
  throw RaisedError(value_of(A).to_string_ref(), name.is_string() ? name.to_string_ref() : std::string());
}
do_warn:
  SAVE;
  warn(value_of(A), *pc->build, code->site_of(pc));
  NEXT;

#undef GO
#undef NEXT
#undef BRANCH
#undef SAVE
#undef A
#undef B
#undef C
#undef INT
#undef FLOAT
#undef STEP
#undef WINDOW
}

SCONCE_COLD void interpret_observed(Execution& ex, const RunOptions& options) {
  struct Leave {
    Observer& observer;
    const Code& code;
    ~Leave() { observer.leave(code); }
  } leave{*options.observer, *ex.code};
  options.observer->enter(*ex.code);
  interpret<true>(ex, options);
}

}  // namespace

Observer::~Observer() = default;
void Observer::enter(const Code&) {}
void Observer::leave(const Code&) {}

void observe_all_runs(Observer* observer) { observer_of_all.store(observer); }

Value execute(const Code& code, std::span<Value> args, const RunOptions& options) {
  const ExecutionLease lease;
  Execution& ex = *lease;
  Slot* base = ex.stack;
  if (base + code.total > ex.limit) base = ex.grow(base, code.total);
  std::vector<Value> results;  // has room before there is anything that registers would keep if there were none
  if (code.results > 1) results.reserve(code.results);
  Value self;
  for (size_t i = 0; i < args.size(); ++i) {
    Slot& from = reinterpret_cast<Slot&>(args[i]);
    if (i == 0 && code.borrows_self) {
      self = std::move(args[0]);
      copy_words(base[0], reinterpret_cast<Slot&>(self));
    } else {
      move_slot(base[i], from);
    }
  }
  copy_initial(base, code);
  ex.base = base;
  ex.code = &code;
  ex.pc = code.instructions.data();
  try {
    if (options.observer) [[unlikely]] {
      interpret_observed(ex, options);
    } else  // NOLINT(readability-misleading-indentation)
    {
      interpret<false>(ex, options);
    }
  } catch (...) {
    fail_execution(ex);
  }
  base = ex.base;
  ex.base = nullptr;
  ex.code = nullptr;
  ex.entered.clear();  // of a graph that enters and does not leave
  if (code.results == 1) return std::move(value_of(base[0]));
  if (code.results == 0) return {};
  for (uint32_t i = 0; i < code.results; ++i) results.push_back(std::move(value_of(base[i])));
  return make_ref<Tuple>(std::move(results));
}

Value run_code(const Code& code, std::span<Value> args, const RunOptions& options) {
  if (Value result; planner && planner->run(code, args, options, result)) return result;
  return execute(code, args, options);
}

bool run_again(ir::Function& function, std::span<const Value> args, Value& result) {
  if (!planner || observer_of_all.load(std::memory_order_relaxed)) return false;
  return planner->run_again(code_of(function), args, result);
}

Value run(ir::Function& function, std::span<Value> args, const RunOptions& options) {
  const Code& code = code_of(function);
  SCONCE_CHECK(args.size() == code.args, "{}() takes {} arguments, got {}", function.short_name(), code.args,
               args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const uint8_t tag = code.arg_tags[i];
    const bool fits =
        tag ? args[i].tag() == static_cast<Tag>(tag) : i != 0 || !code.borrows_self || args[i].is_object();
    if (!fits) [[unlikely]]
      fail_as(ErrorKind::type, "{}() Expected a value of type '{}' for argument {} but instead found type '{}'.",
              function.short_name(), code.arg_types[i]->annotation(), i, args[i].type()->annotation());
  }
  if (Observer* all = observer_of_all.load(std::memory_order_relaxed); all && !options.observer) [[unlikely]] {
    RunOptions observed = options;
    observed.observer = all;
    return execute(code, args, observed);
  }
  return run_code(code, args, options);
}

}  // namespace sconce::runtime
