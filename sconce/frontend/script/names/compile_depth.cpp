#include "sconce/frontend/script/names/compile_depth.h"

#include <cstdlib>

namespace sconce::script {
namespace {

constexpr std::ptrdiff_t kMaxStack = 2 << 20;  // bytes

thread_local const char* base = nullptr;

// Of the frame, not of an object in it: AddressSanitizer keeps objects elsewhere.
const char* stack_address() { return static_cast<const char*>(__builtin_frame_address(0)); }

}  // namespace

CompileDepth::CompileDepth() : outermost_(!base) {
  if (outermost_) base = stack_address();
}
CompileDepth::~CompileDepth() {
  if (outermost_) base = nullptr;
}
bool CompileDepth::too_deep() const { return std::abs(base - stack_address()) > kMaxStack; }

}  // namespace sconce::script
