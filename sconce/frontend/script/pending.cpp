// Weak definitions of what other files of the frontend will define; each goes away when the real one arrives.
#include "sconce/frontend/script/emitter.h"

#define SCONCE_PENDING __attribute__((weak))
#define SCONCE_UNBUILT fail("not built yet")

namespace sconce {
namespace script {
SCONCE_PENDING Schema declared_schema(const FunctionSource&, bool*) { SCONCE_UNBUILT; }
SCONCE_PENDING void compile_function(ir::Function&, const FunctionSource&) { SCONCE_UNBUILT; }
SCONCE_PENDING ir::Value* Emitter::constant(const Range&, sconce::Value, TypePtr) { SCONCE_UNBUILT; }
SCONCE_PENDING ir::Node* Emitter::node(const Range&, ir::Symbol, ListRef<ir::Value*>, ListRef<TypePtr>) {
  SCONCE_UNBUILT;
}
SCONCE_PENDING ir::Value* Emitter::tuple(const Range&, ListRef<ir::Value*>, TypePtr) { SCONCE_UNBUILT; }
SCONCE_PENDING ir::Value* Emitter::list(const Range&, TypePtr, ListRef<ir::Value*>) { SCONCE_UNBUILT; }
SCONCE_PENDING ir::Value* Emitter::to_bool(const Range&, ir::Value*) { SCONCE_UNBUILT; }
}  // namespace script
}  // namespace sconce
