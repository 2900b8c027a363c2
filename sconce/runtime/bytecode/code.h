// Code: the bytecode of a function. Made once, by the compiler of graphs or from lite bytecode, immutable afterwards
// except for the inline caches of call sites, shared by all threads.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sconce/ir/function.h"
#include "sconce/runtime/bytecode/bytecode.h"

namespace sconce::runtime {

struct Code;
struct RunOptions;

// A part of a function that runs by plans of its own. (There is one kind: plans/differentiable_region.h.)
class Region {
 public:
  virtual ~Region() = default;
  // One Value per input, moved from; one per output.
  virtual std::vector<Value> run(std::vector<Value> args, const RunOptions& options) = 0;
};

// A Value as two words. Registers are copied and tested word by word: a 16-byte load right after an 8-byte store of one
// half would wait for the store to leave the processor.
struct __attribute__((may_alias)) Slot {
  uint64_t bits;
  uint64_t tag;  // the low half is Value's tag, the high half zero
};
static_assert(sizeof(Slot) == sizeof(Value));

// A register in a record: twice its number; bit 0 says that it is moved from.
using Operand = uint32_t;
inline constexpr Operand kMoves = 1;
inline constexpr Operand kNowhere = ~Operand{0};  // an unused result

// A call of an operator.
struct OpCall {
  const Op* op = nullptr;
  std::vector<Operand> args;         // one per schema argument
  std::vector<Operand> results;      // kNowhere: dropped
  std::vector<uint8_t> result_tags;  // the tag of a word register, 0 for a value register
  // Does the same in place: used when argument 0 dies here and its memory has no other owner (Note [Dying buffers]).
  const Op* in_place = nullptr;
  // Numbers among the arguments of call_ts, call_tts and call_tss that are constants: made once, because a copy of a
  // word that was just written waits for the store.
  bool constant_numbers = false;
  Scalar numbers[2];
  std::atomic<bool>* met_grad = nullptr;  // the code's
};

// A call of a function or, through an interface, of a method that is known when it happens.
struct CallSite {
  ir::Function* function = nullptr;
  std::string method;  // looked up in the object's class when `function` is null
  uint32_t args = 0;
  bool borrows_self = false;  // argument 0 stays the caller's
  // The methods that were called from here, by class.
  struct Known {
    TypeRef type;  // kept, so that no other class gets its address
    ir::Function* function;
  };
  std::atomic<const Known*> last{nullptr};
  std::mutex mutex;
  std::deque<Known> known;
};

// BuildSite: the record of instructions that build, take apart and test values.
struct BuildSite {
  TypePtr type = nullptr;
  std::vector<TypePtr> types;
  std::vector<Operand> registers;
  std::vector<uint8_t> tags;  // of word registers that are unpacked into
  std::shared_ptr<Code> code;
  std::atomic<bool> warned{false};
  // Of a region; tags are those of its results.
  std::shared_ptr<Region> region;
  std::vector<Operand> results;  // kNowhere: dropped
};

// Where instructions come from: [first, the next site's first) belong to one node.
struct Site {
  uint32_t first;
  Range range;
  std::shared_ptr<const ir::InlinedCall> inlined;
};

// What a planner keeps of a function (runtime/planner.h).
struct CodePlans {
  virtual ~CodePlans() = default;
};

struct Code {
  Code() = default;
  Code(const Code&) = delete;
  ~Code() { delete plans.load(); }

  std::string name;  // for tracebacks: "forward", "<forked function>"
  ir::CompilationUnit* unit = nullptr;
  uint32_t args = 0;
  uint32_t results = 0;
  uint32_t locals = 0;            // arguments and results
  uint32_t frame = 0;             // locals and constants; behind them is the window of calls
  uint32_t total = 0;             // with the window
  bool borrows_self = false;      // argument 0 belongs to the caller and is never released here
  std::vector<uint32_t> owned;    // value registers, which an error releases
  std::vector<Value> initial;     // registers [args, frame) at entry: tags, None, constants
  std::vector<uint8_t> arg_tags;  // the tag of a word argument, 0 for others
  std::vector<TypePtr> arg_types;
  std::vector<Instruction> instructions;
  // An operator of it was recorded: from then on its function runs with regions (Note [Regions] in
  // plans/differentiable_region.h).
  std::atomic<bool> met_grad{false};
  mutable std::atomic<CodePlans*> plans{nullptr};  // owned
  std::vector<Site> sites;
  // Owned by the code, pointed to by instructions.
  std::deque<OpCall> op_calls;
  std::deque<CallSite> call_sites;
  std::deque<BuildSite> build_sites;

  SCONCE_API const Site* site_of(const Instruction* pc) const;  // null when unknown
};

// The code that a function keeps. Destroying it waits for tasks of the program that still run. Exported, as sanitizers
// ask for its type where programs cast to it.
struct SCONCE_API CodeExecutable final : ir::Executable {
  explicit CodeExecutable(std::shared_ptr<Code> code);
  ~CodeExecutable() override;
  // The code with regions, made on first use; the plain one if there are none.
  const Code& differentiable(ir::Function& function);
  std::shared_ptr<Code> code;

 private:
  std::mutex mutex_;
  std::shared_ptr<Code> differentiable_;
  std::atomic<const Code*> known_{nullptr};
};

// The compiler of graphs, as code_of() asks for it (Note [Connections]).
struct GraphCompiler {
  std::shared_ptr<Code> (*compile)(ir::Function& function);
  // The code with regions, or `plain` where the function has none.
  std::shared_ptr<Code> (*with_regions)(ir::Function& function, const std::shared_ptr<Code>& plain);
  bool (*wants_regions)() noexcept;  // are functions to run with regions now, in this thread?
};
extern const GraphCompiler* const graph_compiler;  // null in a library that only runs what was compiled before

// The code of a function as it is to be run now; compiled on the first call, by the first caller.
const Code& code_of(ir::Function& function);

// The instructions as text, one a line, registers as r3, constants by value:
//    4 add_int_imm r2 r2 -1
SCONCE_API std::string disassemble(const Code& code);
// The same of a function, for tests and the command line.
SCONCE_API std::string disassemble(ir::Function& function);

}  // namespace sconce::runtime
