// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "sconce/base/list_ref.h"

namespace sconce::cli {

std::string bytes_text(uint64_t bytes);    // "812 B", "44.7 MB": powers of 1000
std::string count_text(uint64_t count);    // "11,689,512"
std::string seconds_text(double seconds);  // "850 ns", "12.3 us", "4.56 ms", "1.23 s"
std::string shape_text(IntList sizes);     // "[2, 3]"

}  // namespace sconce::cli
