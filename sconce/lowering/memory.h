// Memory: which tensors of a graph are dirty while functionalisation goes through it, and what their elements are (Note
// [Written values]).
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "sconce/base/function_ref.h"
#include "sconce/lowering/origins.h"

namespace sconce::lowering {

class Memory {
 public:
  // A dirty tensor.
  struct Dirty {
    ir::Value* root;
    ir::Value* value = nullptr;    // its elements; null while nobody has read them since the assignment `source`
    ir::Node* assigned = nullptr;  // aten::copy_, which is still to be written
    ir::Value* source = nullptr;   // its second input, as it was there
    const ir::Node* writer = nullptr;
    bool is_given = false;  // the value is what others have as a reference: it stands for the tensor from now on
    bool is_made = false;   // the memory has the elements, too
    std::unordered_map<const ir::Value*, ir::Value*> shown = {};  // what views of it are, as far as somebody has asked
    const ir::Value* last = nullptr;  // the view that was written last: its elements are `written`, which is no view
    ir::Value* written = nullptr;
  };
  using Changes = std::vector<Dirty>;

  Memory(ir::Graph& graph, const ir::AliasFacts& facts, const Origins& origins, bool apart);

  Changes& changes() { return changes_; }
  const std::vector<const ir::Value*>& tensors() const { return tensors_; }
  // Somebody else has it: it comes from outside or goes there, or is a constant.
  bool is_foreign(const ir::Value* root) const;
  // A list or tuple of tensors that is only read, or returned: it can be made again of other tensors.
  bool is_known_list(const ir::Node& node) const;
  // The value, or the elements of a known list.
  std::vector<ir::Value*> operands(ir::Value* v) const;

  // ---- reading ----
  // What the value has now, for a node before which nodes may be inserted.
  ir::Value* current(ir::Value* v, ir::Node& at);
  ir::Value* value_of(ir::Value* root, ir::Node& at);
  // Gives every input what it has now; writes memory first where the node needs it.
  void read(ir::Node& node);
  void read_results(ir::Node& end);
  // A reference to the value for somebody who keeps it.
  ir::Value* give(ir::Value* v, ir::Node& at);
  // Inputs are the tensors themselves, whatever is in their memory.
  void show_real(ir::Node& node) const;

  // ---- writing ----
  // Before a write to `root` that becomes a new value: tensors that the node reads or that may be `root` are up to
  // date.
  void prepare(ir::Node& node, const ir::Value* root);
  void write(const Origin& to, ir::Value* value, ir::Node& at);
  void write_later(ir::Value* root, ir::Node& copy);
  void begin(ir::Value* root, ir::Value* value, const ir::Node* writer);
  // Beside what was said of it before, `v` may share memory with this root, and nothing else; null: with nothing.
  void shares_only(const ir::Value* v, const ir::Value* root);
  // A loop has given the value of this root to somebody.
  void keep_given(const ir::Value* root) {
    if (Dirty* d = find(root)) d->is_given = true;
  }
  bool is_dirty(const ir::Value* root) { return find(root) != nullptr; }
  // The value of the root has other sizes than the root.
  void resized(const ir::Value* root) { resized_.insert(root); }
  bool is_resized(const ir::Value* root) const { return resized_.contains(root); }

  // ---- blocks ----
  // Assignments that a node with blocks may see are made.
  void settle_before(ir::Node& node);
  // Tensors from outside the loop whose elements an iteration takes from the one before. Others that it may see are
  // written. `becomes_value` tells the writes that will be new values.
  std::vector<ir::Value*> carried_by(ir::Node& loop, FunctionRef<bool(const ir::Node&)> becomes_value);
  void write_back_other(const Changes& at_start, const std::vector<ir::Value*>& carried, ir::Node& end);
  void write_back_foreign(ir::Node& end);
  void leave(const ir::Block& block);
  Changes merged(ir::Node& node, const Changes& before, Changes& first, Changes& second);

  // Places a node before `at`; it counts as made by `like`.
  ir::Node* insert(ir::Node* made, ir::Node& at, const ir::Node& like) const;

 private:
  ir::Value* lend(ir::Value* v, ir::Node& at);
  enum class Access : uint8_t { nothing, reads, aliases, keeps, writes };
  Access access(const ir::Node& node, size_t input) const;
  struct Accessed {
    std::vector<ir::Value*> values;        // that nodes inside read, keep or write
    std::vector<const ir::Node*> writers;  // of tensors
  };
  const Accessed& accessed(const ir::Node& node);
  void collect(const ir::Node& node, Accessed& all) const;

  static Dirty* find(Changes& changes, const ir::Value* root);
  Dirty* find(const ir::Value* root) { return find(changes_, root); }
  bool touches(const ir::Value* v, const ir::Value* root) const;
  bool is_told_apart(const ir::Value* root) const;
  bool may_be(const ir::Value* v, const ir::Value* root) const;
  bool is_written_later(const ir::Value* v, const ir::Node& at) const;
  bool stays_inside(const ir::Value* v) const;
  bool is_fresh(const ir::Value* root) const;
  bool asks_for_geometry(const ir::Node& node) const;
  void settle(ir::Node& node);
  void flush(const ir::Value* root, ir::Node& at);
  ir::Value* made(Dirty& d, ir::Node& at);
  ir::Value* shown(Dirty& d, const Origin& origin, size_t steps, ir::Node& at);
  ir::Value* reference(ir::Value* v, ir::Node& at);
  ir::Value* scattered(const Origin& to, size_t step, ir::Value* value, ir::Node& at);
  ir::Value* current_list(ir::Value* list, ir::Node& at);

  ir::Graph& graph_;
  const ir::AliasFacts& facts_;
  const Origins& origins_;
  const bool apart_;
  Changes changes_;
  std::vector<const ir::Value*> tensors_;
  std::vector<const ir::Node*> writers_;
  ir::PlaceSet constants_;                     // places of constants
  std::unordered_set<const ir::Value*> held_;  // roots that somebody in the graph has a reference to
  std::unordered_set<const ir::Value*> resized_;
  // Results that may be an argument or a copy of it (reshape), and of branches: the roots that they really may share
  // memory with. Alias facts know less: they do not see that a new value was given instead of a tensor.
  std::unordered_map<const ir::Value*, std::vector<const ir::Value*>> shared_;
  std::unordered_map<const ir::Node*, Accessed> accessed_;
};

}  // namespace sconce::lowering
