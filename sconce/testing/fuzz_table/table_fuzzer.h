// Fuzzing of the operator table: calls every overload, those of extensions too, with arguments that do not fit, each
// against guard pages, and then backward through its results. A call returns or throws Error; a signal is a failure.
//
// Odd calls take a call that was recorded from PyTorch, where there is one, and change one to three of its arguments;
// even ones make all arguments up. What a call is given follows from the seed, the overload and its number alone.
//
// Calls run in a child process, one after the other. When it dies, the parent finds in shared memory which call it was
// and where, makes the arguments smaller as long as the call still dies there, reports it, and starts another child
// behind it. Operators that end an overload's turn: one that failed `give_up` times is left, and the report says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sconce::testing {

struct FuzzOptions {
  uint64_t seed = 1;
  uint64_t calls = 100'000;
  uint64_t calls_per_turn = 40;       // of one overload, before the next
  double seconds = 0;                 // ends a campaign earlier; 0: does not
  int give_up = 3;                    // failures of an overload
  std::vector<std::string> ops;       // "add", "aten::add.Tensor", "torchvision::"; empty: all
  std::vector<std::string> recorded;  // files and folders of recorded calls
  bool shrink = true;
};

struct FuzzFigures {
  uint64_t calls = 0, returned = 0, refused = 0, backwards = 0;
  uint64_t crashes = 0, hangs = 0, internal = 0;  // all of them, also those that were seen before
  size_t findings = 0;                            // different ones: overload and place
  size_t overloads = 0, recorded_calls = 0;
};

// Prints findings as they come, and what was left out. Throws Error when no process can be started.
FuzzFigures fuzz_table(const FuzzOptions& options);

// One call, in this process, without a handler: for a debugger. Prints its arguments and what came of it.
void fuzz_one_call(const FuzzOptions& options, const std::string& op, uint64_t number);

// Set while a call runs: operator new takes guarded memory then (tests/programs/fuzz_table_new.cpp).
extern thread_local bool guard_new;

}  // namespace sconce::testing
