// Must-alias analysis of views: for each tensor of a graph, the tensor whose memory it certainly shows, and the views
// that lead there.
//
//   %s : Tensor = aten::select(%x, %0, %i)      origin: %x, by select
//   %v : Tensor = aten::view(%s, %sizes)        origin: %x, by select, view
//   %w : Tensor = aten::neg_(%v)                the same: %w is %v
//   %r : Tensor = aten::reshape(%x, %sizes)     origin: %r itself, which may be a view of %x or a copy
//
// Alias facts say what *may* share memory (ir/alias.h); this says what does, so that a view can be made again of
// another tensor (replayed), and a write through it be put into that tensor (OpEntry::scatter).
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "sconce/ir/alias.h"

namespace sconce::lowering {

// One view of a chain.
struct ViewStep {
  ir::Value* value;            // what the program sees
  ir::Node* node;              // the operator; its first input is what is viewed
  ir::Node* unpack = nullptr;  // of a list of views (split, chunk, unbind): the node that takes the list apart
  const ir::Graph* scatter;    // how a write through it is put into what is viewed; null where that is not known
};

struct Origin {
  ir::Value* root = nullptr;
  std::vector<ViewStep> steps;  // from the root on

  // The tensor itself, as the program made it: other names of it (results of in-place operators) are left out.
  ir::Value* real() const { return steps.empty() ? root : steps.back().value; }
  bool is_same(const Origin& other) const { return root == other.root && real() == other.real(); }
};

class Origins {
 public:
  Origins(const ir::Graph& graph, const ir::AliasFacts& facts);
  // Of a tensor or an Optional of one; every other value is its own.
  const Origin& of(const ir::Value* v) const;

 private:
  void visit(const ir::Block& block);
  void visit(ir::Node& node);
  void visit_if(ir::Node& node);
  void visit_loop(ir::Node& node);
  void visit_unpack(ir::Node& node);
  bool is_view(const ir::Node& node) const;
  void set(const ir::Value* v, Origin origin) { origins_[v] = std::move(origin); }
  bool join(const ir::Node& node, const ir::Value* to, const Origin& a, const Origin& b);
  Origin viewed(ir::Node& node, ir::Value* value, ir::Node* unpack) const;

  const ir::AliasFacts& facts_;
  mutable std::unordered_map<const ir::Value*, Origin> origins_;
  std::unordered_map<std::string, std::vector<ir::Value*>> attributes_;  // tensors read from objects, by name
  bool attributes_stay_ = true;                                          // nothing gives attributes other tensors
};

bool is_tensor(TypePtr type);  // or an Optional of one

}  // namespace sconce::lowering
