// Settings of capture: what one sconce.compile() was told (CompileConfig), and what holds for the process (Stance, limits).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "object.h"

namespace sconce::python::capture {

struct CompileConfig {
  Owned backend, options;  // for make_recorder; None: the default
  bool fullgraph = false;
  // Sizes: -1 free from the second one that is seen, 0 always fixed, 1 free from the start.
  int dynamic = -1;
};

// What calls of compiled functions do (sconce.compiler.set_stance).
enum class Stance : uint8_t {
  normal,              // "default"
  force_eager,         // run the function as it is
  eager_on_recompile,  // use entries; what none takes runs as it is
  fail_on_recompile,   // use entries; what none takes is an error
  eager_then_compile,  // the first call of each function runs as it is
};

struct Settings {
  Stance stance = Stance::normal;
  bool skip_guards = false;             // of set_stance: the first entry is used unasked
  Owned stance_backend;                 // of set_stance: takes the place of the backend; null: none does
  int64_t recompile_limit = 8;          // entries of a function
  int64_t accumulated_limit = 256;      // compilations of a function
  bool fail_on_limit = false;           // an error rather than a run as it is
  bool automatic_dynamic_sizes = true;  // dynamic=None looks at the sizes seen
  bool assume_static = true;            // dynamic=None: sizes are fixed at first
  bool without_tensors = false;         // code is made for functions that meet no tensor, too
  bool every_round = false;             // loops with a break in them are captured whatever their rounds are worth
  // Called with (event, dict) for compilations, recompilations, limits; null: nobody asks.
  Owned observer;
  bool observer_reads_guards = false;  // otherwise nobody writes them down
};
Settings& settings();
// To be called when stance or skip_guards were set.
void note_stance();

// Not 0: somewhere a function is evaluated, or a stance was set, so that a call has to ask what it may do.
extern int unusual_calls;

// While a function is evaluated, on this thread.
bool is_evaluating();
class EvaluatingScope {
 public:
  EvaluatingScope();
  ~EvaluatingScope();
  EvaluatingScope(const EvaluatingScope&) = delete;
};

// The configuration of the compiled region that this thread is in; null outside.
const std::shared_ptr<const CompileConfig>& current_config();
class RegionScope {
 public:
  explicit RegionScope(std::shared_ptr<const CompileConfig> config);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;

 private:
  std::shared_ptr<const CompileConfig> before_;
};

}  // namespace sconce::python::capture
