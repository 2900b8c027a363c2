#include "sconce/testing/fuzz_table/fault_report.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>

#include <fmt/format.h>

namespace sconce::testing {
namespace {

FaultReport* shared = nullptr;
struct Range {
  uintptr_t begin, end;
};
// Code of this program and its libraries, those of the system left out.
Range code[64];
int code_count = 0;

int note_code(dl_phdr_info* info, size_t, void*) {
  const char* name = info->dlpi_name;
  if (std::strstr(name, "/usr/lib") || std::strstr(name, "/lib/x86_64") || std::strstr(name, "vdso") ||
      std::strstr(name, "/lib64"))
    return 0;
  for (int i = 0; i < info->dlpi_phnum && code_count < 64; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X))
      code[code_count++] = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
  }
  return 0;
}

bool is_code(uintptr_t at) {
  for (int i = 0; i < code_count; ++i) {
    if (at >= code[i].begin && at < code[i].end) return true;
  }
  return false;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
  FaultReport& report = *shared;
  report.address = info->si_addr;
  int n = 0;
#if defined(__x86_64__)
  report.write = registers.gregs[REG_ERR] & 2;
  report.frames[n++] = reinterpret_cast<void*>(registers.gregs[REG_RIP]);
  const uintptr_t top = static_cast<uintptr_t>(registers.gregs[REG_RSP]);
#else  // aarch64, which does not say whether it was a write
  report.write = false;
  report.frames[n++] = reinterpret_cast<void*>(registers.pc);
  const uintptr_t top = registers.sp;
#endif
  // What looks like a return address: vector loops have no tables for unwinding.
  const auto* stack = reinterpret_cast<const uintptr_t*>(top & ~uintptr_t{7});
  const auto* end = reinterpret_cast<const uintptr_t*>((reinterpret_cast<uintptr_t>(stack) | 4095) + 1);
  void* unwound[FaultReport::kMost + 8];
  const int depth = ::backtrace(unwound, FaultReport::kMost + 8);
  int from = 0;
  while (from < depth && unwound[from] != report.frames[0]) ++from;
  if (depth - from >= 4) {
    for (int i = from + 1; i < depth && n < FaultReport::kMost; ++i) {
      if (is_code(reinterpret_cast<uintptr_t>(unwound[i]))) report.frames[n++] = unwound[i];
    }
  } else {
    for (; stack < end && n < 8; ++stack) {
      if (is_code(*stack)) report.frames[n++] = reinterpret_cast<void*>(*stack);
    }
  }
  report.count = n;
  report.signal = signal;
  ::_exit(kFaultStatus);
}

std::string run(const std::string& command) {
  std::string text;
  if (FILE* pipe = ::popen(command.c_str(), "r")) {
    char line[4096];
    while (std::fgets(line, sizeof line, pipe)) text += line;
    ::pclose(pipe);
  }
  return text;
}

void note_all_code() {
  code_count = 0;
  ::dl_iterate_phdr(note_code, nullptr);
}

}  // namespace

void* fault_place(const FaultReport& report) {
  if (code_count == 0) note_all_code();
  for (int i = 0; i < report.count; ++i) {
    if (is_code(reinterpret_cast<uintptr_t>(report.frames[i]))) return report.frames[i];
  }
  return report.count > 0 ? report.frames[0] : nullptr;
}

void install_fault_handler(FaultReport* report) {
  shared = report;
  note_all_code();
  void* warm[2];
  ::backtrace(warm, 2);  // loads libgcc, which a handler cannot
  static char stack[256 * 1024];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) ::sigaction(signal, &action, nullptr);
}

std::string fault_text(const FaultReport& report) {
  if (report.signal == SIGPROF) return "no end";
  const char* name = ::sigabbrev_np(report.signal);
  std::string text = fmt::format("SIG{}", name ? name : "?");
  if (report.signal == SIGSEGV || report.signal == SIGBUS)
    text += fmt::format(" {} {}", report.write ? "writing" : "reading", fmt::ptr(report.address));
  return text;
}

std::vector<std::string> fault_frames(const FaultReport& report) {
  std::vector<std::string> frames;
  for (int i = 0; i < report.count; ++i) {
    Dl_info info{};
    if (::dladdr(report.frames[i], &info) == 0 || !info.dli_fname) {
      frames.push_back("?");
      continue;
    }
    // A return address is behind its call, which may be the last instruction of a function.
    const uintptr_t at = reinterpret_cast<uintptr_t>(report.frames[i]) - (i > 0 ? 1 : 0);
    const uintptr_t base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    // A program that is not position-independent is linked for the addresses that it has.
    std::string text = run(fmt::format("addr2line -C -f -e '{}' {:#x} 2>/dev/null", info.dli_fname, at - base));
    const size_t line = text.find('\n');
    std::string place = line == std::string::npos ? "" : text.substr(line + 1);
    if (line != std::string::npos) text.resize(line);
    if (const size_t parenthesis = text.find('('); parenthesis != std::string::npos && parenthesis > 30)
      text.resize(parenthesis);
    if (!place.empty() && place[0] != '?')
      text += " " + place.substr(place.rfind('/') + 1, place.find('\n') - place.rfind('/') - 1);
    if (text.empty() || text[0] == '?') {
      const char* file = std::strrchr(info.dli_fname, '/');
      text = info.dli_sname ? info.dli_sname : fmt::format("{}+{:#x}", file ? file + 1 : info.dli_fname, at - base);
    }
    frames.push_back(text);
  }
  return frames;
}

}  // namespace sconce::testing
