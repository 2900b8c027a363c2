// Shape guards: the constraints of an exported program on the sizes of its inputs, as nodes in front of its own:
//
//   sconce::check_tensor(%x, "x", 6, [-1, 4])                   dtype, rank, sizes that are fixed
//   %s0 : int = aten::sym_size(%x, 0)                           the first input that has a symbol's size defines it
//   sconce::check_range(%s0, "input 'x': dimension 0", 2, 64)
//   sconce::check_size(%n, "input 'y': dimension 0", %e, "2*x.size(0)")     sizes that follow
//   sconce::check_guard(%g, "x.size(0) > y.size(1)")            relations
#pragma once

#include <map>

#include "sconce/serialization/exported/exported_json.h"
#include "sconce/serialization/exported/symbolic_shapes.h"

namespace sconce::exported {

class ShapeChecks {
 public:
  ShapeChecks(ir::Graph& graph, const Program& program);

  // An input of the program: its name for people and for guards, its value, its description in the file.
  void add_tensor(const std::string& name, ir::Value* v, const TensorMeta& meta);
  void add_number(const std::string& name, ir::Value* v, const Size& size);
  // Another name of an input in guards.
  void add_name(const std::string& name, ir::Value* v) { inputs_.emplace(name, v); }
  // Inserts the nodes, when all inputs are known.
  void insert();

 private:
  // A number of the inputs, and its required value.
  struct Known {
    std::string text;   // "input 'x': dimension 0"
    std::string name;   // "x.size(0)"
    ir::Value* number;  // null: size `dimension` of `tensor`
    ir::Value* tensor;
    int64_t dimension;
    Term term;
    bool done = false;
  };
  ir::Value* value_of(Known& known);
  void bind(const std::string& symbol, ir::Value* v, const std::string& name);
  Range range_of(const std::string& symbol) const;
  Range range_of(const Linear& linear) const;
  void check_range(ir::Value* v, const std::string& text, Range range);
  bool is_bound(const Term& term) const;
  ir::Value* find_input(const std::string& path) const;
  ir::Value* insert_value(const Term& term);
  std::string text_of(const Term& term) const;

  ir::Graph& graph_;
  const Program& program_;
  std::vector<Known> known_;
  std::map<std::string, ir::Value*> inputs_, symbols_;
  std::map<std::string, std::string> symbol_texts_;
};

}  // namespace sconce::exported
