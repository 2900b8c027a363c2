// Profiler: what a program spends its time with, by operator, by line or by module, and the course of events for a
// trace.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "profiles/instruction_timer.h"
#include "sconce/ir/graph.h"

namespace sconce::cli {

struct ProfileRow {
  std::string name;    // "aten::add", "model.py:12", "layer1.0"
  std::string detail;  // shapes, the line's text, the module's class
  uint64_t calls = 0;
  uint64_t ns = 0;                       // with what it calls; of operators and lines the same as self_ns
  uint64_t self_ns = 0;                  // these add up to the whole
  std::vector<uint64_t> runs = {};       // `ns`, run by run: see InstructionTimer::Count
  std::vector<uint64_t> self_runs = {};  // self_ns
};

// A stretch of time in a thread: a method, a module, an operator.
struct TraceSlice {
  const char* category;
  std::string name;
  uint64_t begin, end;  // nanoseconds
  size_t thread;
  std::string place, inputs;  // may be empty
};

class Profiler final : public InstructionTimer {
 public:
  enum class By : uint8_t { op, line, module };
  struct Options {
    bool shapes = false;  // rows by operator are told apart by the shapes of their inputs
    bool trace = false;   // keeps slices
  };
  static constexpr size_t kMostSlices = 2'000'000;

  explicit Profiler(Options options) : options_(options) {}

  // When nothing runs any more. What takes longest in the median of the runs comes first.
  std::vector<ProfileRow> rows(By by) const;
  // In the order of their ends, thread by thread.
  std::vector<TraceSlice> slices() const;
  bool slices_were_dropped() const { return dropped_; }

 private:
  struct Open {  // a slice that has not ended
    TraceSlice slice;
    const ir::InlinedCall* call;  // null for a frame
  };
  struct Track final : Thread {
    std::string inputs;  // of the operator that runs
    std::map<std::pair<std::string, std::string>, Count> by_shape;
    std::vector<TraceSlice> slices;
    std::vector<Open> open;
    const ir::InlinedCall* scope = nullptr;  // the innermost that is open
    std::unordered_map<const runtime::Code*, std::unordered_map<const ir::InlinedCall*, size_t>> first;
  };

  void begins(Thread& thread, const runtime::Code& code, size_t instruction, const Value* registers) override;
  void ended(Thread& thread, uint64_t from, uint64_t to, const runtime::Code* next, const Value* registers) override;
  void entered(Thread& thread, const runtime::Code& code, uint64_t at) override;
  void left(Thread& thread, const runtime::Code& code, uint64_t at) override;
  std::unique_ptr<Thread> new_thread() override;
  void run_ended(Thread& thread, bool keep) override;

  void follow_scope(Track& track, const runtime::Code& code, size_t instruction, uint64_t now);
  void close(Track& track, uint64_t at);
  void keep(Track& track, TraceSlice slice);
  std::vector<ProfileRow> rows_by_shape() const;
  std::vector<ProfileRow> rows_by_module() const;

  Options options_;
  std::vector<Track*> tracks_;  // owned by the base; in the order of their numbers
  std::atomic<size_t> kept_{0};
  std::atomic<bool> dropped_{false};
};

// What time beside operators is called in rows.
extern const char* const kInterpreter;
// The operator that an instruction calls; null for others.
const Op* op_of(const runtime::Instruction& instruction);

}  // namespace sconce::cli
