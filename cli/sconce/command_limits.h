// Limits of a command: --max-memory, --max-work, --timeout, --trust, --mmap. They hold for the whole command, from the
// load of its files on.
#pragma once

#include <memory>

#include "sconce/base/budget.h"
#include "sconce/serialization/archive/archive.h"
#include "text/options.h"

namespace sconce::cli {

// For the commands that load or run programs.
void add_limit_options(App command);
// The budget that the command line asks for; null when it sets no limit.
std::shared_ptr<Budget> command_budget();
// How files are loaded: with --trust, and with the limits in place of the defaults.
LoadOptions load_options();
// The bytes of a file: mapped, or read where others may write to it, or as --mmap and --no-mmap say.
FileBytesPtr open_file(const std::string& path);

}  // namespace sconce::cli
