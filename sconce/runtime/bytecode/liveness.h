// Liveness: the last use of every value, for the bytecode compiler to move instead of copy and to reuse registers.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::runtime {

// How a register holds values of a type: Note [Registers].
enum class RegisterClass : uint8_t { value, int_, float_, bool_, borrowed };
RegisterClass class_of(TypePtr type);  // never borrowed
// The tag of a word register, 0 for a value register.
uint8_t tag_of(RegisterClass c);

// The value whose register `v` shares: a cast between types of one register class needs no instruction.
const ir::Value* root(const ir::Value* v);

// Nodes that are not computed where they stand but by the jump that uses them: `if i % 3 == 0` is one instruction.
using Deferred = std::unordered_set<const ir::Node*>;

class Liveness {
 public:
  using Values = std::vector<const ir::Value*>;

  Liveness(const ir::Graph& graph, const Deferred& deferred);

  // Values (roots) whose last use is this node, and its unused outputs. Of an If: read by its condition. Of a Loop:
  // read before the first iteration. Of a block's return node: the block's results that die in being passed on.
  const Values& deaths(const ir::Node* node) const { return find(deaths_, node); }
  // Values whose last use is inside of an If or Loop. Those of a Loop are dropped behind it, those of an If within its
  // blocks. Unused outputs are among them.
  const Values& ends(const ir::Node* node) const { return find(ends_, node); }
  // Values that are dead when a block begins: inputs without use, and values that only the other block of an If uses.
  const Values& dead_at_entry(const ir::Block* block) const { return find(dead_at_entry_, block); }

 private:
  using Bits = std::vector<uint64_t>;
  using Table = std::unordered_map<const void*, Values>;
  static const Values& find(const Table& table, const void* key);
  void scan(const ir::Block* block, int depth);
  void walk(const ir::Block* block, Bits& live);
  void walk_if(const ir::Node* node, Bits& live);
  void walk_loop(const ir::Node* node, Bits& live);
  void use(const ir::Node* node, const ir::Value* v, Bits& live);
  void use_inputs(const ir::Node* node, Bits& live);
  void define_outputs(const ir::Node* node, Bits& live, Table& dead);
  void outer_uses(const ir::Block* block, Bits& defined, Bits& used) const;
  void outer_use(const ir::Value* v, const Bits& defined, Bits& used) const;

  const Deferred& deferred_;
  std::vector<const ir::Value*> by_id_;
  Table deaths_, ends_, dead_at_entry_;
};

}  // namespace sconce::runtime
