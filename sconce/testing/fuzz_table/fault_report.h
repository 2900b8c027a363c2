// Fault report: where a process was when a signal ended it, left in shared memory by the signal's handler, and put into
// words by another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sconce::testing {

struct FaultReport {
  static constexpr int kMost = 24;
  int signal;  // 0 while there is none
  bool write;
  void* address;
  int count;
  void* frames[kMost];  // the first is where it happened
};

// From now on SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT and SIGPROF (a timer: the call took too long) fill in `report`,
// which lies in memory that the parent shares, and end the process.
void install_fault_handler(FaultReport* report);
inline constexpr int kFaultStatus = 66;

// "SIGSEGV reading 0x7f...". Frames are symbols of this program and its libraries, the innermost first; empty where
// there is no addr2line.
std::string fault_text(const FaultReport& report);
std::vector<std::string> fault_frames(const FaultReport& report);
// The innermost address that is code of ours, and not of the system's libraries.
void* fault_place(const FaultReport& report);

}  // namespace sconce::testing
