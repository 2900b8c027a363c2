// Demand paging of mapped files: which memory is a file's, and how pages of it are given back to the system.
//
// Note [Pages of files]
// Weights of a loaded program lie in a private mapping of its file (FileBytes). A page that was only read is the file's
// own and can be dropped: whoever reads it later gets it from the file again, by the processor's page fault. A page
// that was written is the process's alone and must stay. The system tells them apart (/proc/self/pagemap), whoever
// wrote, by operators or through a plain pointer. Only whole pages of the memory that is named are dropped, so that
// what lies beside it is not concerned.
#pragma once

#include <cstddef>

#include "sconce/base/export.h"

namespace sconce {

// A private mapping of a file, from its beginning to its end; and that it is gone.
void add_mapped_file(const void* begin, size_t bytes);
void remove_mapped_file(const void* begin);

// Drops those pages of the memory that belong to a mapped file and were not written. Returns their bytes: 0 for other
// memory, and where the system does not tell. Nobody may write to the memory meanwhile.
SCONCE_API size_t give_back_pages(const void* begin, size_t bytes);

}  // namespace sconce
