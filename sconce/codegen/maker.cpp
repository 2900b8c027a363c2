#include "sconce/codegen/maker.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "sconce/base/error.h"
#include "sconce/base/logs.h"
#include "sconce/codegen/joined/join.h"
#include "sconce/codegen/op_by_op.h"
#include "sconce/codegen/rows/row_kernel.h"
#include "sconce/codegen/tiles/tile_kernel.h"

namespace sconce::codegen {

Kernel::~Kernel() = default;

std::string_view maker_name(Maker maker) {
  return maker == Maker::off ? "off" : maker == Maker::tiles ? "tiles" : "joined";
}

Maker parse_maker(std::string_view word) {
  for (const Maker m : {Maker::off, Maker::tiles, Maker::joined}) {
    if (word == maker_name(m)) return m;
  }
  SCONCE_CHECK(word != "llvm", "codegen 'llvm': this build has no LLVM maker; known are off, tiles, joined");
  fail("unknown codegen '{}': known are off, tiles, joined", word);
}

Maker chosen_maker() {
  static const Maker maker = [] {
    const char* word = std::getenv("SCONCE_CODEGEN");
    return word == nullptr || *word == 0 ? Maker::joined : parse_maker(word);
  }();
  return maker;
}

namespace {

std::shared_ptr<const Kernel> made(const loops::Nest& nest, Maker maker) {
  loops::check(nest);
  if (has_row_calls(nest)) return make_row_kernel(nest, maker);
  switch (maker) {
    case Maker::off:
      return make_op_by_op(nest);
    case Maker::tiles:
      return make_tile_kernel(nest, [](const loops::Nest&, const TileGraph& graph) { return plain_schedule(graph); });
    default:
      return make_tile_kernel(nest, join);
  }
}

// Which calls stayed eager's loops although `joined` was asked for.
std::string not_joined(const loops::Nest& nest, Maker maker, const Kernel& kernel) {
  if (maker != Maker::joined) return "; not joined: SCONCE_CODEGEN is " + std::string(maker_name(maker));
  if (!can_join()) return "; not joined: the assembler needs AVX2, this processor or SCONCE_CPU_LEVEL has less";
  if (has_row_calls(nest)) return "; rows by eager's kernels, pointwise stages as nests of their own";
  // "%1 = sigmoid b0" is a loop of its own: math, what the assembler does not know, or a value without neighbours.
  std::istringstream text(kernel.to_string());
  std::string names;
  for (std::string line; std::getline(text, line);) {
    const size_t begin = line.find(" = ");
    if (!line.starts_with('%') || begin == line.npos) continue;
    const size_t end = std::min(line.find(' ', begin + 3), line.size());
    names += (names.empty() ? "" : ", ") + line.substr(begin + 3, end - begin - 3);
  }
  return names.empty() ? "" : "; by eager's loops, as math or without cheap neighbours: " + names;
}

}  // namespace

std::shared_ptr<const Kernel> make(const loops::Nest& nest, Maker maker) {
  if (!is_logged(LogTag::codegen)) return made(nest, maker);
  const auto start = std::chrono::steady_clock::now();
  const std::shared_ptr<const Kernel> kernel = made(nest, maker);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "[codegen] %s: %zu calls over %zu sizes of %lld elements, %zu bytes of code, %.1f us%s\n",
               std::string(maker_name(maker)).c_str(), nest.calls.size(), nest.sizes.size(),
               static_cast<long long>(nest.numel()), kernel->code_bytes(), took.count(),
               not_joined(nest, maker, *kernel).c_str());
  if (is_logged(LogTag::codegen, LogLevel::debug)) {
    std::fprintf(stderr, "%s%s", loops::to_string(nest).c_str(), kernel->to_string().c_str());
  }
  return kernel;
}

}  // namespace sconce::codegen
