// Pages of code: what the process has mapped of its program and libraries.
#pragma once

#include <cstddef>

namespace sconce::server {

// Drops the pages of code and constants that this process has touched: those that are needed again come back from the
// system's cache of files, those that only its start and its first calls needed do not. Gives the bytes that it covers.
size_t give_back_code() noexcept;

}  // namespace sconce::server
