#include "sconce/frontend/script/names/compile_depth.h"

#include <cstdlib>

namespace sconce::script {
namespace {

constexpr std::ptrdiff_t kMaxStack = 2 << 20;  // bytes

thread_local const char* base = nullptr;

}  // namespace

CompileDepth::CompileDepth() : outermost_(!base) {
  if (outermost_) base = reinterpret_cast<const char*>(this);
}
CompileDepth::~CompileDepth() {
  if (outermost_) base = nullptr;
}
bool CompileDepth::too_deep() const { return std::abs(base - reinterpret_cast<const char*>(this)) > kMaxStack; }

}  // namespace sconce::script
