// Task parallelism: fork, wait and awaitables. Forked code runs on a pool of threads that starts with the first fork.
//
// Note [Waiting]
// A thread that waits for a task that has not started runs it itself, so a wait never depends on a free thread; for one
// that runs elsewhere it blocks. Tasks can only wait for futures that were made before, so there are no circles.
#pragma once

#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::runtime {

// A future of site.code with the given arguments. It runs with the modes (grad mode, ...) of the thread that forked it,
// and under the options of its run.
Value start_fork(const BuildSite& site, std::vector<Value> args, RunOptions options);
// The same, started by the first thread that waits, on that thread.
Value make_await(const BuildSite& site, std::vector<Value> args, RunOptions options);
// The future's value; rethrows its error.
Value wait_for(const Value& future);

// To be called before a program, or an observer, is destroyed: its tasks that have not begun fail, those that run
// are waited for.
SCONCE_API void finish_tasks(const ir::CompilationUnit* unit);

}  // namespace sconce::runtime
