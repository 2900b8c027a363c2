// CaseKind: how one kind of case file is run. A file's kind is known from its cases, not from its folder.
// A further kind is one more file that implements this interface, and a line in case_kinds.cpp.
#pragma once

#include <string>
#include <string_view>

#include "sconce/tensor/device.h"
#include "sconce/testing/conformance/case_file.h"

namespace sconce::testing {

enum class Status : uint8_t { passed, failed, skipped };

struct CaseResult {
  Status status = Status::passed;
  std::string reason;  // the difference, or why it was skipped; empty when passed
  uint64_t bits = 0;   // of what was compared (seen_bits.h), with RunOptions::bits
  static CaseResult pass() { return {}; }
  static CaseResult failure(std::string reason) { return {Status::failed, std::move(reason), 0}; }
  static CaseResult skip(std::string reason) { return {Status::skipped, std::move(reason), 0}; }
};

struct RunOptions {
  bool meta = false;        // on Meta tensors: geometry only
  Device device;            // arguments are moved there, results back; what has no kernel there is refused by name
  bool strided = false;     // with every argument column-major and with gaps: the values must be the same
  bool any_bytes = false;   // with other bytes than 1 for true in arguments of bools; calls without any are skipped
  bool planned = false;     // calls of programs repeated by plans: see planned_calls.h
  bool grad_only = false;   // only the gradients of cases that have some
  bool decomposed = false;  // operators by their decompositions; those that have none are skipped
  bool archives = false;    // programs from the archive beside them rather than from their text
  bool resave = false;      // those archives loaded, saved and loaded again; a second save must give the same bytes
  std::string saved_to;     // the saved archives stay here, in a folder of the name of the archive's
  bool lite = false;        // archives as bytecode of the lite interpreter: .ptl files; others are saved so first
  // Every case with each of these numbers of threads, work shared among them however small it is: the results must have
  // the same bits.
  std::vector<int> same_bits;
  // Every case at each of these levels of the CPU: likewise.
  std::vector<int> same_levels;
  bool deterministic = false;  // the mode for those, and for `bits`
  bool bits = false;           // results say which bits they had
  std::string lowered;         // through graphs of this dialect: "functional", "core"
  std::string lite_folder;     // where the .ptl file of a program is, when not beside it
  std::string lite_libraries;  // with `lite`: calls are made by NAME.so of this folder, a libsconce_lite for NAME.ptl
};

// Reasons of skipped cases begin with one of these if reports count them.
inline constexpr std::string_view kOperatorMissing = "operator missing";
inline constexpr std::string_view kRefused = "refused by the device";

class CaseKind {
 public:
  virtual ~CaseKind() = default;
  virtual std::string_view name() const = 0;
  virtual bool matches(const CaseFile& file) const = 0;
  // Whether this entry of the list stands for something to run. (Some files begin with a description.)
  virtual bool is_case(const Json& json) const = 0;
  // The name that `--op` selects by: the operator's qualified one, or empty.
  virtual std::string subject(const Json& json) const = 0;
  // Runs one case. Throws nothing; may crash or hang, see isolated_run.h.
  virtual CaseResult run(const CaseFile& file, size_t index, const RunOptions& options) const = 0;
};

// The kind of a file; kinds that Sconce cannot run yet have one, too, which skips every case with the reason.
// Null when the cases are of no known kind.
const CaseKind* kind_of(const CaseFile& file, const RunOptions& options = {});

}  // namespace sconce::testing
