// Tables beside the bytes of a code object: places in the source (co_linetable) and handlers (co_exceptiontable). Read
// into one entry for each unit of two bytes, and written as CPython writes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

// Places of all units. Throws PythonError (ValueError) for a table that ends too early.
std::vector<Location> read_locations(PyObject* table, int first_line, size_t units);

// Places of instructions, with the units that each takes.
struct PlacedRun {
  Location location;
  int units = 0;
};
Owned write_locations(std::span<const PlacedRun> runs, int first_line);

// An entry of the table of handlers: units from start to end, and the target, as units too.
struct HandlerRange {
  int start = 0, end = 0;
  Handler handler;
};
std::vector<HandlerRange> read_handlers(PyObject* table);
Owned write_handlers(std::span<const HandlerRange> ranges);

}  // namespace sconce::python::capture
