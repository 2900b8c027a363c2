// The trace-event file that Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev) open.
#pragma once

#include <string>
#include <vector>

#include "profiles/profiler.h"

namespace sconce::cli {

// Times are microseconds since the first slice. Throws Error when the file cannot be written.
void write_trace(const std::string& path, const std::string& program, const std::vector<TraceSlice>& slices);

}  // namespace sconce::cli
