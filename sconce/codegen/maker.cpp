#include "sconce/codegen/maker.h"

#include <cstdlib>

#include "sconce/base/error.h"
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
  SCONCE_CHECK(word != "llvm", "codegen 'llvm' is not built into this library; known are off, tiles, joined");
  fail("unknown codegen '{}': known are off, tiles, joined, llvm", word);
}

Maker chosen_maker() {
  static const Maker maker = [] {
    const char* word = std::getenv("SCONCE_CODEGEN");
    return word == nullptr || *word == 0 ? Maker::joined : parse_maker(word);
  }();
  return maker;
}

std::shared_ptr<const Kernel> make(const loops::Nest& nest, Maker maker) {
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

}  // namespace sconce::codegen
