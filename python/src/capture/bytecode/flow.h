// Structure of bytecode: where branches meet again, and what belongs to loops.
#pragma once

#include <vector>

#include "capture/bytecode/instruction.h"

namespace sconce::python::capture {

// The outermost loop that an instruction lies in, one bit for each instruction: all that lead to it and that it leads to, by
// exceptions as well. Empty: it lies in none.
std::vector<bool> loop_around(const Code& code, int at);

class Flow {
 public:
  explicit Flow(const Code& code);
  // The first instruction that every way (a raise leads to its handler) from `at` to the end of the function comes to;
  // -1 when there is none. Returns and raises before the last return count as no ways: what leads to them alone is not
  // waited for.
  int join(int at) const { return join_[at]; }
  // Is it reached again by a jump back?
  bool is_header(int at) const { return header_[at]; }
  // The join of a loop's header that lies outside of the loop.
  int after_loop(int header) const;

 private:
  void find_joins();
  std::vector<int> successors(int at) const;
  std::vector<bool> reached(int from, bool raising) const;  // raising: by exceptions as well
  std::vector<bool> loop_of(int header) const;

  const Code& code_;
  std::vector<std::vector<int>> before_;  // instructions that lead to one
  std::vector<int> join_;
  std::vector<bool> header_;
};

}  // namespace sconce::python::capture
