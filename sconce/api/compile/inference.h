// Ahead-of-time compilation of modules: freezing, and plans that are made before the first request comes.
//
//   const jit::Module model = jit::optimize_for_inference(jit::load("model.pt").eval());
//   const InferenceMode inference;
//   const jit::Compiled done = jit::compile(model, {ones({1, 3, 224, 224})});
//   if (!done.planned) std::puts(done.why.c_str());
//
// Nothing of this is needed: a function is planned at its second call (docs/plans.md). It moves the work to where
// nobody waits, and says what came of it.
#pragma once

#include <string>
#include <vector>

#include "sconce/api/jit.h"

namespace sconce::jit {

struct FreezeOptions {
  std::vector<std::string> preserved;  // attributes and methods, beside forward, that the frozen module keeps
  bool optimize_numerics = true;       // batch norms become part of convolutions: results differ in the last digits
};
// A new module whose attributes are constants of its code, which is optimised; the old one stays as it is. Throws Error
// for a module in training mode, one without forward and methods to preserve, and for a name that it has not.
SCONCE_API Module freeze(const Module& module, const FreezeOptions& options = {});
// The same for a module that is not frozen yet, with these methods beside forward; a frozen one is returned. Memory of
// weights that lie in a mapped file is given back: they are read again where they are needed. Nobody may write to them
// meanwhile. Throws Error for a module in training mode, as freeze does.
SCONCE_API Module optimize_for_inference(const Module& module, const std::vector<std::string>& other_methods = {});

struct ModuleCompileOptions {
  std::string method = "forward";
  // The backend of the method's plans from now on (executor/graph_backend.h); empty: the one that is chosen.
  std::string backend;
};
// What compile() did.
struct Compiled {
  bool planned = false;     // later calls with arguments of this kind run by a plan
  std::string why;          // the reason, if not
  size_t steps = 0;         // of the plan
  size_t guards = 0;        // attributes that are looked at before each call
  size_t memory_bytes = 0;  // for results that do not leave it, per call
  // Weights that the plan has packed would lie in memory twice. The originals of those in a mapped file were given
  // back: so many bytes. They are read from the file again when somebody asks for them.
  size_t given_back_bytes = 0;
  std::string plan;  // its steps as text
  Value result;      // of the call
};
// Calls the method (forward with the module's hooks) and plans it at once. The plan is for arguments of the same
// dtypes, sizes and strides, and for the modes of this thread: InferenceMode, if later calls are made in it. Nobody may
// write to the module's weights meanwhile. Throws what the call throws, and Error (value) for an unknown backend.
SCONCE_API Compiled compile(const Module& module, std::vector<Value> example_inputs,
                            const ModuleCompileOptions& options = {});

}  // namespace sconce::jit
