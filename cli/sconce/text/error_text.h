// Error messages: what the command line prints of an error. The reason comes first, the traceback behind it.
#pragma once

#include <string>
#include <string_view>

namespace sconce {
class Error;
}

namespace sconce::cli {

//   ValueError: negative: -1
//   Traceback of TorchScript (most recent call last):
//     File "model.py", line 12, in root ...
//
// Of the two tracebacks that a program from an archive has, only the one in the original text. Errors without a
// traceback are what they say.
std::string error_text(const Error& error);

// Of lines that no terminal shows (a whole program may stand on one), the beginning.
std::string with_short_lines(std::string_view text);

}  // namespace sconce::cli
