// Symbol: an interned qualified name, "aten::add" or "prim::If". Comparing is comparing integers; the kinds that the
// compiler itself knows have constants (`kind::If`), usable in `switch (node->kind().id())`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce::ir {

// Kinds without a schema of their own, or with a meaning to the compiler.
// clang-format off
#define SCONCE_PRIM_KINDS(X)                                                                                   \
  X(Constant) X(If) X(Loop) X(Param) X(Return)                                                                 \
  X(ListConstruct) X(DictConstruct) X(TupleConstruct) X(ListUnpack) X(TupleUnpack) X(TupleIndex) X(TupleSlice) \
  X(GetAttr) X(SetAttr) X(CreateObject) X(CallMethod) X(CallFunction)                                          \
  X(fork) X(awaitable) X(awaitable_wait) X(awaitable_nowait)                                                   \
  X(RaiseException) X(Uninitialized) X(unchecked_cast) X(isinstance) X(Enter) X(Exit) X(Print) X(tolist)       \
  X(ModuleContainerIndex) X(Closure) X(PythonOp)                                                               \
  /* of the frontend only, gone after the conversion to SSA */                                                 \
  X(Load) X(Store) X(ReturnStmt) X(BreakStmt) X(ContinueStmt) X(LoopContinuation) X(EmptyListLiteral)
// clang-format on

class SCONCE_API Symbol {
 public:
  constexpr Symbol() = default;
  explicit constexpr Symbol(uint32_t id) : id_(id) {}
  explicit Symbol(std::string_view text);  // interned; thread-safe
  constexpr uint32_t id() const { return id_; }
  const std::string& text() const;  // "aten::add"
  std::string_view space() const;   // "aten"
  std::string_view name() const;    // "add"
  friend constexpr bool operator==(Symbol a, Symbol b) { return a.id_ == b.id_; }

 private:
  uint32_t id_ = 0;
};

namespace kind {
enum Id : uint32_t {
  none_id,
#define SCONCE_KIND(name) name##_id,
  SCONCE_PRIM_KINDS(SCONCE_KIND)
#undef SCONCE_KIND
      first_free_id,
};
#define SCONCE_KIND(name) inline constexpr Symbol name{name##_id};
SCONCE_PRIM_KINDS(SCONCE_KIND)
#undef SCONCE_KIND
}  // namespace kind

}  // namespace sconce::ir

template <>
struct std::hash<sconce::ir::Symbol> {
  size_t operator()(sconce::ir::Symbol s) const noexcept { return s.id() * 0x9E3779B97F4A7C15u; }
};
