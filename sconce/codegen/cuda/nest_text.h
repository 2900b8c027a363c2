// CUDA text of loop nests: the scalar expressions of a nest's calls, composed into one kernel.
//
// Every value is of the type that eager would have stored: it is rounded where eager rounds. What stands between loads
// and stores is text of the table; what stands around it, a schedule: packs of 16 bytes along the innermost dimension
// of dense, broadcast or strided buffers, or rows that are held in registers by the threads of a block.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sconce/kernels/cuda/layout.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/loops/nest.h"

namespace sconce::cuda {

inline constexpr int kNestRank = 8;            // dimensions of a kernel's argument
inline constexpr size_t kNestNumbers = 32;     // numbers in it; more are written into the text
inline constexpr int64_t kLongestRow = 16384;  // elements that a block holds in registers
inline constexpr int kNestThreads = 256;       // of a block of a pointwise nest

// How a nest without rows is walked.
struct PointwiseSchedule {
  Layout layout;  // operand k is buffer k of the nest
  int width = 1, unroll = 1;
  bool wide_index = false;
  bool is_dense = false;  // one dimension, all buffers run along it or repeat one element
  uint32_t repeats =
      0;  // bit k: buffer k is a line that all lines read, and all packs of a thread the same place of it
};
// `packed`: addresses of buffers are multiples of a pack. Throws Error for more than kNestRank dimensions.
PointwiseSchedule schedule_pointwise(const loops::Nest& nest, bool packed);

// How rows are held: as eager's kernels do (kernels/cuda/row_kernels.cpp), so that sums have their order.
struct RowSchedule {
  int width = 1, threads = 32, ty = 1, packs = 1;
  bool packed = false;
};
RowSchedule schedule_rows(const loops::Nest& nest, bool packed);

struct NestText {
  std::string source;
  const char* entry = nullptr;
  std::vector<Number> numbers;  // of the kernel's argument
};
NestText nest_text(const loops::Nest& nest, const PointwiseSchedule& schedule);
NestText nest_text(const loops::Nest& nest, const RowSchedule& schedule);

bool has_rows(const loops::Nest& nest);

// The rows of a nest that writes one buffer, as a function name(line, row, a) of 32 threads that puts the row at
// `line`; `a` are RowNestArguments. text/block.cuh stands above it; WIDTH is the schedule's from there on.
std::string row_function(const loops::Nest& nest, const RowSchedule& schedule, const std::string& name);

// The same for a nest with one softmax, a block of kElementThreads threads with an element each; row `given` is an
// argument.
inline constexpr int kElementThreads = 1024;
std::string element_function(const loops::Nest& nest, const RowSchedule& schedule, const std::string& name,
                             size_t given);

// Numbers of calls: those of most programs stand in the text, where they fold; others in the kernel's argument, so that
// programs that differ by them share a kernel.
struct NestNumbers {
  std::string expression(const Param& p);
  std::vector<Number> all;
  size_t room = kNestNumbers;
};
// The vocabulary that the calls need, and each operator in a namespace of its own, where V is its compute type.
std::string operator_texts(std::span<const loops::LoopCall> calls);
// name(x0, x1, ..., y2, a): one element of every buffer that is read, and of every one that is written; as_floats:
// 16-bit floats as floats that are rounded when they are stored.
std::string body_function(const loops::Nest& nest, NestNumbers& numbers, const std::string& name, const char* arguments,
                          bool as_floats = false);

}  // namespace sconce::cuda
