// CustomOp: an operator that a library registers at run time. It owns the strings that OpInfo points to. Once it is in
// the registry it lives as long as the process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce {

// A function of a library behind one key of an operator.
struct LibraryKernel {
  void (*function)();
  void (*thunk)(void (*function)(), uint64_t optional, KeySet keys, Value* args, Value* returns);
  uint64_t optional;               // see library::Thunk
  std::vector<uint32_t> returned;  // where the function returns nothing: the arguments that the operator returns
};

struct CustomOp : Op {
  // `text` is the whole schema with its namespace; the strings of `info` are copied. Throws Error when the
  // schema is wrong.
  CustomOp(std::string_view text, const OpInfo& info);
  CustomOp(const CustomOp&) = delete;
  CustomOp& operator=(const CustomOp&) = delete;

  // Replaces a text (say &OpTexts::derivatives) by a copy of `text`.
  void set_text(const char* OpTexts::* field, std::string_view text);

  // By key; read atomically, never freed once the operator is in the registry.
  const LibraryKernel* library_kernels[kKeys] = {};

 private:
  const char* keep(std::string_view text);

  Schema own_schema_;
  std::vector<std::unique_ptr<std::string>> texts_;
};

// True for operators that are CustomOps.
bool is_custom(const Op& op);

// Adds all of them to the registry, or none: throws Error when one of the names exists.
void add_custom_ops(std::span<std::unique_ptr<CustomOp>> ops);

}  // namespace sconce
