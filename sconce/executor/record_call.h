// Ahead-of-time recording: one call of a function as a tape, for whoever compiles it before it runs (.scx files).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sconce/executor/tape.h"
#include "sconce/ir/function.h"

namespace sconce::executor {

struct RecordedCall {
  Value result;
  std::optional<Tape> tape;  // functional, without dead nodes; nothing: `why` says why
  size_t guards = 0;         // attributes that it read, which the tape does not have
  std::string why;
};

// Interprets the call, one Value per schema argument. Throws what the function throws.
RecordedCall record_call(ir::Function& function, std::span<Value> args);

}  // namespace sconce::executor
