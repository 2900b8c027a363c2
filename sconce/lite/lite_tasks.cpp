// fork and wait in lite libraries (runtime/fork.h), which have no threads of their own: a task runs when it is made,
// and its result, or its error, is there for whoever waits.
#include "sconce/runtime/execute.h"
#include "sconce/runtime/fork.h"

namespace sconce::runtime {
namespace {

constexpr int kDeepest = 50;  // tasks that fork tasks: each is on the stack of the one before
thread_local constinit int depth = 0;

struct Deeper {
  Deeper() { ++depth; }
  ~Deeper() { --depth; }
};

}  // namespace

Value start_fork(const BuildSite& site, std::vector<Value> args, RunOptions options) {
  SCONCE_CHECK(depth < kDeepest, "tasks are forked more than {} deep", kDeepest);
  const Deeper deeper;
  auto future = make_ref<Future>(site.type);
  try {
    future->complete(execute(*site.code, args, options));
  } catch (...) {
    future->fail(std::current_exception());
  }
  return Value(std::move(future));
}

Value make_await(const BuildSite& site, std::vector<Value> args, RunOptions options) {
  return start_fork(site, std::move(args), options);
}

Value wait_for(const Value& future) { return future.to_future().value(); }

void finish_tasks(const ir::CompilationUnit*) {}

}  // namespace sconce::runtime
