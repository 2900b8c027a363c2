// Log tags: topics whose messages the environment variable SCONCE_LOGS switches on, as TORCH_LOGS does in PyTorch.
//   SCONCE_LOGS="passes"               the messages of one tag
//   SCONCE_LOGS="+passes,autodiff"     more of passes, and autodiff
//   SCONCE_LOGS="all,-passes"          all but passes
//   SCONCE_LOGS="help"                 an Error that lists the tags
// Messages go to standard error. A tag is one line of SCONCE_LOG_TAGS; its users ask is_logged().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

// name, what it shows, what "+name" shows beside that
#define SCONCE_LOG_TAGS(TAG)                                                                                         \
  TAG(autodiff, "what graphs do not differentiate, and why", "forward and backward of what they do")                 \
  TAG(bytecode, "functions that are compiled: instructions, registers, time; Python's bytecode", "the instructions") \
  TAG(codegen, "kernels that are made: maker, bytes, time, what was not joined and why", "what each runs")           \
  TAG(dynamo, "functions of Python that are captured: what came of each, and the time", "what each call found")      \
  TAG(fusion, "pointwise operators that become one loop nest, and the costs", "what each nest computes")             \
  TAG(frontend, "functions after each stage: tree, emitted graph, SSA form", "steps of SSA construction")            \
  TAG(graph, "graphs of captured functions, one line for each node", "the operators that run")                       \
  TAG(graph_breaks, "why graphs of captured functions end: code, line, reason, hint", "the line's text")             \
  TAG(graph_code, "graphs of captured functions as Python", "nothing else")                                          \
  TAG(guards, "calls that no plan takes: which guard failed; guards of captured functions", "guards of plans")       \
  TAG(kernels, "kernels of CUDA that are compiled or read from files: time, registers", "their texts")               \
  TAG(output_code, "code of captured functions as Python: graphs, resume functions", "nothing else")                 \
  TAG(passes, "passes that change a graph: their time, the graph afterwards", "passes that change nothing")          \
  TAG(perf_hints, "what a captured function loses time by, and what to do", "nothing else")                          \
  TAG(plans, "calls that are planned, what is not and why, plans that no longer hold", "the steps of plans")         \
  TAG(recompiles, "functions that are captured again: which guard failed", "guards of all entries")

enum class LogTag : uint8_t {
#define SCONCE_LOG_TAG(name, shows, more) name,
  SCONCE_LOG_TAGS(SCONCE_LOG_TAG)
#undef SCONCE_LOG_TAG
};
inline constexpr size_t kLogTags = 0
#define SCONCE_LOG_TAG(name, shows, more) +1
    SCONCE_LOG_TAGS(SCONCE_LOG_TAG)
#undef SCONCE_LOG_TAG
    ;

enum class LogLevel : uint8_t { off, info, debug };  // "-tag" or not named, "tag", "+tag"
using LogLevels = std::array<LogLevel, kLogTags>;    // by tag

// A value of SCONCE_LOGS; later words win. Throws an Error of kind value for "help" (the text is the help) and for an
// unknown word (the text names the tags).
SCONCE_API LogLevels parse_log_levels(std::string_view settings);

// The levels of the environment, read by the first caller. Throws as parse_log_levels() does, every time: a setting
// that means nothing is not passed over. Programs ask at their start, so that nothing runs before the refusal.
SCONCE_API const LogLevels& log_levels();

inline bool is_logged(LogTag tag, LogLevel level = LogLevel::info) {
  return log_levels()[static_cast<size_t>(tag)] >= level;
}

}  // namespace sconce
