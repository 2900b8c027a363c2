// --threads: how many threads operators may use.
#pragma once

#include "text/options.h"

namespace sconce::cli {

// 0: as many as the machine has for this process.
void add_threads_option(App command, int& threads,
                        const char* help = "Threads that operators may use; else all that the machine has");
// Starts them: right before the work, since a command that fails earlier needs none. Throws UsageError.
void start_threads(int threads);

}  // namespace sconce::cli
