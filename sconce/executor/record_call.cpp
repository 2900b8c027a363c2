#include "sconce/executor/record_call.h"

#include "sconce/executor/functional_tape.h"
#include "sconce/executor/recorder.h"
#include "sconce/executor/signature.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/execute.h"

namespace sconce::executor {

RecordedCall record_call(ir::Function& function, std::span<Value> args) {
  RecordedCall made;
  const runtime::Code& code = runtime::code_of(function);
  Words words;
  if (!append_modes(words)) {
    made.why = "autocast, a trace or another provider of kernels is on";
    made.result = runtime::execute(code, args, {});
    return made;
  }
  Recorder recorder(args);
  runtime::RunOptions options;
  options.observer = &recorder;
  made.result = runtime::execute(code, args, options);
  made.tape = recorder.finish(made.result);
  made.why = recorder.why();
  made.guards = recorder.guards().size();
  if (made.tape) {
    functionalize(*made.tape);
    eliminate_dead_nodes(*made.tape);
  }
  return made;
}

}  // namespace sconce::executor
