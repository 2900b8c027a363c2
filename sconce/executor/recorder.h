// Recorder: makes a tape of a run of a function, while it runs.
//
// Note [Recording]
// While a thread records, its calls have Key::functionalize, whose kernel is one for all operators: it runs the
// operator below the key and adds a node with what it saw. Compound operators are not recorded but what their bodies
// call. Beside the real call there is one on Meta tensors of the same geometry: an operator that fails there reads
// elements (`item`, `nonzero`), so that what follows depends on them, and the run is not planned; and pointwise
// operators report there how they would run (pointwise_probe.h).
// The observer of the interpreter sees what is no call of an operator: attributes that are read become guards, those
// that are written, tasks and warnings end the recording. A run goes on as if nothing had happened when it ends.
// Tensors are known by address. None of them is kept alive, so that a run needs no more memory than usual: every tensor
// that is new is the result of a recorded call, which gives the address a new meaning.
//
// Note [Conjugates on tapes]
// Tapes have no conjugate and negative views (Note [Math bits]). A call that makes one of a tensor without bits is
// recorded as the copy that has the same elements, and other calls take the copy. The recording ends if the run writes
// to the memory that view and base share, or returns the view: then a copy would be wrong.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "sconce/executor/guards.h"
#include "sconce/executor/tape.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::executor {

class Recorder final : public runtime::Observer {
 public:
  // `args`: those of the run to come.
  explicit Recorder(std::span<const Value> args);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;

  // Whether this thread has one. (It has at most one: a region inside of a run that is recorded is interpreted.)
  static bool is_active();

  // Ends the recording; `result` is what the run returned. Nothing where it cannot be repeated: why() says why.
  std::optional<Tape> finish(const Value& result);
  const std::string& why() const { return why_; }
  // Whether that is because autograd had something to record.
  bool met_gradients() const { return met_gradients_; }
  Guards& guards() { return guards_; }

  // The kernel of Key::functionalize.
  void record(const Op& op, KeySet keys, Value* args, Value* returns);

  void before(const runtime::Code& code, size_t instruction, const Value* registers) override;
  void enter(const runtime::Code& code) override;

 private:
  void give_up(std::string why);
  void meet_gradients();
  void learn_outside(const Value& v, bool is_input);
  void learn_attribute(const Value& object, size_t slot);
  bool is_outside(const Value& v) const;
  ValueId value_of(const Tensor& t);
  bool take_arguments(TapeNode& node, const Value* args);
  bool record_call(TapeNode& node, KeySet keys, Value* args, Value* returns);
  bool record_sign_view(TapeNode& node, const Op& copy, KeySet keys, Value* args, Value* returns);
  bool is_shown(ValueId v) const;
  bool take_results(TapeNode& node, const Value* returns, const std::vector<Tensor>& given);
  ValueId add_value(const Tensor& t, BlockId block, int64_t offset);
  const TapeNode* same_call(const TapeNode& node) const;
  bool probe_or_repeat(TapeNode& node, std::vector<Value>& expected, const TapeNode*& same);
  bool runs_on_meta(const Op& op, const Value* args, std::vector<Value>& results);
  bool take_output(const Value& v, Output& output);
  void learn_fixed(const TapeNode& node);
  bool is_fixed(const Tensor& t);
  bool is_small_constant(ValueId v) const;

  Tape tape_;
  Site site_;  // what runs
  Guards guards_;
  std::string why_;
  bool failed_ = false;
  bool met_gradients_ = false;
  std::unordered_map<const TensorImpl*, ValueId> known_;
  std::unordered_map<const TensorImpl*, Tensor> outside_tensors_;  // constants, if they are used
  std::unordered_set<const Counted*> outside_;                     // containers and objects
  std::unordered_map<const Op*, NodeId> last_call_;                // of each operator
  std::unordered_set<const runtime::Code*> entered_;
  std::unordered_set<const Counted*> returned_;
  // By value: its elements follow from sizes and numbers alone, as those of arange(n) or of a traced x.size(0) // 2 do.
  // They are the same in every run of the plan, so that what they decide is, too.
  std::vector<bool> fixed_;
  std::unordered_set<BlockId> changed_;  // inputs and constants that were written
  // Note [Conjugates on tapes]
  std::unordered_set<const TensorImpl*> signed_;  // views with bits
  std::unordered_set<BlockId> shown_;             // memory that they share
  std::unordered_set<BlockId> copies_;            // the copies that stand for them
};

}  // namespace sconce::executor
