// Register bytecode: graphs are compiled to it, the interpreter runs it. docs/runtime.md tells the whole story.
//
// Note [Registers]
// A frame is a run of 16-byte registers: arguments, locals, constants. A register has one class for the whole function:
//   word    an int, float or bool. The tag is written once, when the frame's template is copied at entry; instructions
//           touch only the 8 bytes of payload, yet the register is a valid Value whenever an operator wants one.
//   value   everything else: a Value with a live tag.
//           A free register holds None, so that writing it releases nothing; the last use moves out of it or is
//           followed by DROP.
//           An attribute may be *borrowed*: its bits are copied without a count, and nothing is released.
// Constants are borrowed from the code's template. Operands are twice the register number: base + 8 * operand.
//
// Note [Jumps]
// Jump targets are absolute addresses, so that following one is a load and not a load and an addition.
#pragma once

#include <cstdint>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce::runtime {

struct OpCall;
struct CallSite;
struct BuildSite;

// X(name, operands, what it does). Operands are those of a, b, c and x: r a register, m a register whose last use this
// may be (bit 0), n a small number, - nothing; for x: j a jump target, i an integer, f a float, o an operator, c a
// call, t a record of BuildSite.
#define SCONCE_OPCODES(X)                                                                               \
  /* moves */                                                                                           \
  X(move_word, "rr--", "a = b, payload only")                                                           \
  X(retag, "rrn-", "a = b with the tag of number c")                                                    \
  X(copy_bits, "rr--", "a = b, both words, nothing counted")                                            \
  X(copy, "rr--", "a = b, counted")                                                                     \
  X(move, "rr--", "a = b, b is None afterwards")                                                        \
  X(drop, "r---", "a is released and None")                                                             \
  X(drop_range, "rn--", "number b registers from a on are released and None")                           \
  X(check_tag, "rn--", "an error unless a has the tag of number b")                                     \
  X(load_int, "r--i", "a = x")                                                                          \
  X(load_float, "r--f", "a = x")                                                                        \
  /* integers; booleans are 0 and 1 */                                                                  \
  X(add_int, "rrr-", "a = b + c")                                                                       \
  X(sub_int, "rrr-", "a = b - c")                                                                       \
  X(mul_int, "rrr-", "a = b * c")                                                                       \
  X(floordiv_int, "rrr-", "a = b // c")                                                                 \
  X(mod_int, "rrr-", "a = b % c")                                                                       \
  X(and_int, "rrr-", "a = b & c")                                                                       \
  X(or_int, "rrr-", "a = b | c")                                                                        \
  X(xor_int, "rrr-", "a = b ^ c")                                                                       \
  X(add_int_imm, "rr-i", "a = b + x")                                                                   \
  X(mul_int_imm, "rr-i", "a = b * x")                                                                   \
  X(floordiv_int_imm, "rr-i", "a = b // x, x not 0 nor -1")                                             \
  X(mod_int_imm, "rr-i", "a = b % x, x not 0 nor -1")                                                   \
  X(neg_int, "rr--", "a = -b")                                                                          \
  X(not_bool, "rr--", "a = not b")                                                                      \
  X(eq_int, "rrr-", "a = b == c")                                                                       \
  X(ne_int, "rrr-", "a = b != c")                                                                       \
  X(lt_int, "rrr-", "a = b < c")                                                                        \
  X(le_int, "rrr-", "a = b <= c")                                                                       \
  X(eq_int_imm, "rr-i", "a = b == x")                                                                   \
  X(ne_int_imm, "rr-i", "a = b != x")                                                                   \
  X(lt_int_imm, "rr-i", "a = b < x")                                                                    \
  X(le_int_imm, "rr-i", "a = b <= x")                                                                   \
  X(gt_int_imm, "rr-i", "a = b > x")                                                                    \
  X(ge_int_imm, "rr-i", "a = b >= x")                                                                   \
  /* floats */                                                                                          \
  X(add_float, "rrr-", "a = b + c")                                                                     \
  X(sub_float, "rrr-", "a = b - c")                                                                     \
  X(mul_float, "rrr-", "a = b * c")                                                                     \
  X(div_float, "rrr-", "a = b / c")                                                                     \
  X(add_float_imm, "rr-f", "a = b + x")                                                                 \
  X(mul_float_imm, "rr-f", "a = b * x")                                                                 \
  X(div_float_imm, "rr-f", "a = b / x")                                                                 \
  X(neg_float, "rr--", "a = -b")                                                                        \
  X(eq_float, "rrr-", "a = b == c")                                                                     \
  X(ne_float, "rrr-", "a = b != c")                                                                     \
  X(lt_float, "rrr-", "a = b < c")                                                                      \
  X(le_float, "rrr-", "a = b <= c")                                                                     \
  X(int_to_float, "rr--", "a = float(b)")                                                               \
  /* jumps */                                                                                           \
  X(jump, "---j", "go to x")                                                                            \
  X(jump_if, "r--j", "if a, go to x")                                                                   \
  X(jump_unless, "r--j", "if not a, go to x")                                                           \
  X(jump_eq_int, "rr-j", "if a == b, go to x")                                                          \
  X(jump_ne_int, "rr-j", "if a != b, go to x")                                                          \
  X(jump_lt_int, "rr-j", "if a < b, go to x")                                                           \
  X(jump_le_int, "rr-j", "if a <= b, go to x")                                                          \
  X(jump_eq_int_imm, "rn-j", "if a == number b, go to x")                                               \
  X(jump_ne_int_imm, "rn-j", "if a != number b, go to x")                                               \
  X(jump_lt_int_imm, "rn-j", "if a < number b, go to x")                                                \
  X(jump_le_int_imm, "rn-j", "if a <= number b, go to x")                                               \
  X(jump_gt_int_imm, "rn-j", "if a > number b, go to x")                                                \
  X(jump_ge_int_imm, "rn-j", "if a >= number b, go to x")                                               \
  X(jump_mod_eq, "rnnj", "if a % number b == number c, go to x")                                        \
  X(jump_mod_ne, "rnnj", "if a % number b != number c, go to x")                                        \
  X(jump_eq_float, "rr-j", "if a == b, go to x")                                                        \
  X(jump_ne_float, "rr-j", "if a != b, go to x")                                                        \
  X(jump_lt_float, "rr-j", "if a < b, go to x")                                                         \
  X(jump_le_float, "rr-j", "if a <= b, go to x")                                                        \
  X(jump_not_lt_float, "rr-j", "if not a < b, go to x")                                                 \
  X(jump_not_le_float, "rr-j", "if not a <= b, go to x")                                                \
  /* loops; each counts a step and looks whether the run was cancelled */                               \
  X(for_prep, "rr-j", "a = 0; unless a < b, go to x")                                                   \
  X(for_loop, "rr-j", "a = a + 1; if a < b, go to x")                                                   \
  X(step, "----", "one more turn of a while loop")                                                      \
  X(count, "r---", "a = a + 1, the turns of a while loop")                                              \
  /* an operation and the loop's end behind it; the limit is in the register after the counter c */     \
  X(add_int_for, "rrrj", "a = a + b, then for_loop of c and the register after it")                     \
  X(add_int_imm_for, "rnrj", "a = a + number b, then for_loop of c and the register after it")          \
  /* lists, by what they store */                                                                       \
  X(list_len, "rr--", "a = len(b)")                                                                     \
  X(list_get_int, "rrr-", "a = b[c]")                                                                   \
  X(list_get_float, "rrr-", "a = b[c]")                                                                 \
  X(list_get_bool, "rrr-", "a = b[c]")                                                                  \
  X(list_get_tensor, "rrr-", "a = b[c]")                                                                \
  X(list_get_value, "rrr-", "a = b[c]")                                                                 \
  X(list_set_int, "rrr-", "a[b] = c")                                                                   \
  X(list_set_float, "rrr-", "a[b] = c")                                                                 \
  X(list_set_tensor, "rrm-", "a[b] = c")                                                                \
  X(list_set_value, "rrm-", "a[b] = c")                                                                 \
  X(list_append_int, "rr--", "a.append(b)")                                                             \
  X(list_append_float, "rr--", "a.append(b)")                                                           \
  X(list_append_tensor, "rm--", "a.append(b)")                                                          \
  X(list_append_value, "rm--", "a.append(b)")                                                           \
  /* dicts, strings, tuples */                                                                          \
  X(dict_get_word, "rrr-", "a = b[c], the value a word")                                                \
  X(dict_get, "rrr-", "a = b[c]")                                                                       \
  X(dict_contains, "rrr-", "a = c in b")                                                                \
  X(dict_set, "rmm-", "a[b] = c")                                                                       \
  X(str_concat, "rmr-", "a = b + c; appends in place when b's last use is here and nobody else has it") \
  X(make_tuple, "r--t", "a = (x's registers)")                                                          \
  X(make_list, "r--t", "a = [x's registers]")                                                           \
  X(make_dict, "r--t", "a = {x's registers}")                                                           \
  X(unpack_tuple, "m--t", "x's registers = a")                                                          \
  X(unpack_list, "m--t", "x's registers = a; an error unless it has as many")                           \
  X(tuple_get, "rrni", "a = b[x]; c the tag of a word")                                                 \
  X(is_none, "rr--", "a = b is None")                                                                   \
  X(is_not_none, "rr--", "a = b is not None")                                                           \
  X(tolist, "rrnt", "a = tensor b as nested lists of x's type")                                         \
  X(tolist_of, "rrr-", "a = tensor a as lists nested b deep of elements of kind number c")              \
  X(isinstance, "rr-t", "a = isinstance(b, x's types)")                                                 \
  /* objects; x is the slot */                                                                          \
  X(make_object, "r--t", "a = a new object of x's type")                                                \
  X(get_attr_word, "rr-i", "a = slot x of b, payload only")                                             \
  X(get_attr, "rr-i", "a = slot x of b, counted")                                                       \
  X(borrow_attr, "rr-i", "a = slot x of b, not counted")                                                \
  X(set_attr_word, "rr-i", "slot x of a = b, payload only")                                             \
  X(set_attr, "rm-i", "slot x of a = b")                                                                \
  X(get_slot, "rm-i", "a = slot x of b; an error unless b is an object that has it")                    \
  X(set_slot, "rm-i", "slot x of a = b; an error unless a is an object that has it")                    \
  X(jump_none, "r--j", "if a is None, go to x")                                                         \
  X(jump_not_none, "r--j", "if a is not None, go to x")                                                 \
  /* operators */                                                                                       \
  X(call_op, "---o", "any operator, over Values")                                                       \
  X(call_t, "rm-o", "a = op(b): Tensor(Tensor)")                                                        \
  X(call_tt, "rmmo", "a = op(b, c): Tensor(Tensor, Tensor)")                                            \
  X(call_ts, "rmro", "a = op(b, c): Tensor(Tensor, Scalar)")                                            \
  X(call_tts, "rmmo", "a = op(b, c, x's third): Tensor(Tensor, Tensor, Scalar)")                        \
  X(call_tss, "rmro", "a = op(b, c, x's third): Tensor(Tensor, Scalar, Scalar)")                        \
  X(call_ttt, "rmmo", "a = op(b, c, x's third): Tensor(Tensor, Tensor, Tensor?)")                       \
  /* functions; arguments stand in the registers from a on, where the results will be */                \
  X(call, "r--c", "the function of x")                                                                  \
  X(call_method, "r--c", "the method of a's own class that x names")                                    \
  X(ret, "n---", "return a values, which stand in the first registers")                                 \
  X(fork, "r--t", "a = a future of x's code, started with x's registers")                               \
  X(make_await, "r--t", "the same, started when somebody waits")                                        \
  X(wait, "rmn-", "a = what future b becomes; c a tag")                                                 \
  X(make_done, "rm-t", "a = a future that is b already")                                                \
  X(run_region, "---t", "x's results = x's region of x's registers")                                    \
  X(enter, "r---", "a's __exit__ is due")                                                               \
  X(leave, "----", "the newest __exit__ is done")                                                       \
  X(raise, "rr--", "raise message a, class name b")                                                     \
  X(warn, "r--t", "warn with message a, once per place")

enum class Opcode : uint16_t {
#define SCONCE_OPCODE(name, operands, text) name,
  SCONCE_OPCODES(SCONCE_OPCODE)
#undef SCONCE_OPCODE
};

struct OpcodeInfo {
  const char* name;
  const char* operands;
  const char* text;
};
SCONCE_API const OpcodeInfo& opcode_info(Opcode op);

struct Instruction {
  Opcode op;
  uint16_t a, b, c;
  union {
    const Instruction* target;
    int64_t integer;
    double real;
    const OpCall* op_call;
    CallSite* call;
    BuildSite* build;
  };
};
static_assert(sizeof(Instruction) == 16);

}  // namespace sconce::runtime
