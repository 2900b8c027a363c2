// Trace: what one evaluation of a function's bytecode came to, and what an entry of the cache is made of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/guards/source.h"
#include "object.h"

namespace sconce::python::capture {

// Why a graph ended before the function did.
struct GraphBreak {
  std::string code;    // "SC0003": of the table of reasons
  std::string reason;  // "the truth of a tensor decides a branch"
  std::string hint;
  std::string file, function;
  int line = 0;
};

// The instruction of a break inside of a call that was followed is run by the resume function, which breaks there again: no
// break of its own. What tells that it is the same one.
inline std::string place_of(const GraphBreak& b) { return b.code + " " + b.file + ":" + std::to_string(b.line); }

// How a result is made from the values that the graph returns, without running code of Python.
struct Recipe {
  enum class What : uint8_t { output, input, constant, tuple, list, dict };
  What what = What::constant;
  int32_t index = 0;          // output: of the graph's results; input: slot of the frame
  Owned object;               // constant
  std::vector<Recipe> parts;  // of containers; keys and values of a dict in turn
};

struct Trace {
  std::unique_ptr<Sources> sources;
  std::vector<std::string> locals, free_variables;  // their names, for texts
  Owned graph;                                      // what Recorder::finish gave; null when no operator was recorded
  std::vector<SourceId> inputs;                     // of the graph
  Owned code;                    // a code object with the same arguments and free variables that calls the graph
  std::optional<Recipe> result;  // when nothing but the graph and this need run, `code` is not used
  std::vector<GraphBreak> breaks;
  std::optional<GraphBreak> in_loop;  // why a loop, and with it the rest of its function, was left to Python
  size_t nodes = 0;
  bool none_handled = false;  // holds for calls from outside of except blocks alone
};

}  // namespace sconce::python::capture
