// Function printer: one function as text of an archive. Statements are written in the order of nodes; an expression
// holds those nodes that find_inlined_nodes names, as long as it stays short.
#pragma once

#include "sconce/serialization/code/code_tables.h"
#include "sconce/serialization/code/print_names.h"
#include "sconce/serialization/code/tagged_text.h"

namespace sconce {

class FunctionPrinter {
 public:
  // `level`: how deep the function stands, 1 for a method.
  FunctionPrinter(CodeTables& tables, NameTable& names, size_t level) : tables_(tables), names_(names), level_(level) {}
  // The definition under the given name, `def` to the last line. Throws Error for nodes that archives cannot express.
  TaggedText print(ir::Function& function, std::string_view name);

 private:
  // A `with` that is open.
  struct With {
    const ir::Value* object;
    size_t body;  // where its text begins
  };

  // print_statements.cpp
  void graph(const ir::Graph& graph);
  void nodes(const ir::Block& block);
  void statement(const ir::Node& n);
  void if_node(const ir::Node& n);
  void branch(const ir::Node& n, const ir::Block& block, bool apart);
  void loop(const ir::Node& n);
  void closure(const ir::Node& n);
  void enter(const ir::Node& n);
  void exit(const ir::Node& n);
  void assign(ListRef<ir::Value*> targets, const TaggedText& text);
  void write_constants(const ir::Block& block);
  void callee(const ir::Node& call);
  void constant(const ir::Value* v);
  // Values that are too long for one expression become statements, and so do values that are evaluated before them.
  void split_long(ListRef<ir::Value*> inputs);
  void new_line(const Place& from);
  void end_line() { out_.add("\n"); }
  void pass_if_empty(size_t body);
  std::string add_name(const ir::Value* v);
  bool is_long(std::string_view text) const;

  // print_expressions.cpp
  TaggedText expression(const ir::Node& n);
  static ListRef<ir::Value*> written_inputs(const ir::Node& n);
  TaggedText call_operator(const ir::Node& n, const Place& from);
  TaggedText list(const ir::Node& n, const Place& from);
  TaggedText dict(const ir::Node& n, const Place& from);
  TaggedText tuple(const ir::Node& n, const Place& from);
  TaggedText call(const ir::Node& n, const Place& from, TaggedText callee, size_t first);
  // `head` a, b, c `tail`
  TaggedText display(ListRef<ir::Value*> values, const Place& from, std::string_view head, std::string_view tail);
  // The text before a dot or bracket; the whole comes from `from`.
  TaggedText base(const ir::Value* v, const Place& from, bool always_in_parentheses);
  const TaggedText& use(const ir::Value* v) const;
  std::string_view name_of(const ir::Value* v) const { return use(v).text(); }

  CodeTables& tables_;
  NameTable& names_;
  size_t level_;
  TaggedText out_;
  std::unordered_set<const ir::Node*> inlined_;
  std::unordered_map<const ir::Value*, TaggedText> texts_;        // a name, or an expression
  std::unordered_map<const ir::Function*, std::string> callees_;  // the text of a call
  std::vector<ir::Value*> waiting_;  // expressions that no statement has yet, in the order of their nodes
  std::vector<With> open_;
  std::vector<std::shared_ptr<ir::Graph>> graphs_;  // of closures
};

}  // namespace sconce
