// Graph::to_string: the IR as PyTorch prints it, character for character.
#include "sconce/ir/printer.h"

#include "sconce/ir/graph.h"
#include "sconce/ir/literal.h"

namespace sconce::ir {
namespace {

class Printer {
 public:
  explicit Printer(bool with_ranges) : with_ranges_(with_ranges) {}

  std::string print(const Graph& graph) {
    out_ += "graph(";
    add_parameters(graph.inputs(), ",\n      ");
    out_ += "):\n";
    for (const Node* n : graph.nodes()) add_node(*n, 1);
    out_ += "  return (";
    add_names(graph.outputs());
    out_ += ")\n";
    // Graphs inside nodes come at the end, numbered in the order of their nodes; theirs follow each of them.
    for (size_t i = 0; i < groups_.size(); ++i) {
      out_ += "with " + groups_[i].first + "_" + std::to_string(i) + " = ";
      out_ += Printer(with_ranges_).print(*groups_[i].second);
    }
    return std::move(out_);
  }

 private:
  void indent(size_t level) { out_.append(2 * level, ' '); }

  void add_parameters(const std::vector<Value*>& values, std::string_view separator) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i != 0) out_ += separator;
      out_ += "%" + values[i]->name() + " : " + values[i]->type()->to_string();
    }
  }
  void add_names(const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); ++i) out_ += (i ? ", %" : "%") + values[i]->name();
  }

  void add_node(const Node& node, size_t level) {
    indent(level);
    add_parameters(node.outputs(), ", ");
    out_ += " = ";
    out_ += node.kind().text();
    for (const auto& [name, v] : node.attributes()) {
      if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&v)) {
        out_ += "_" + std::to_string(groups_.size());
        groups_.emplace_back(node.kind().text(), graph->get());
      }
    }
    out_ += attributes_text(node);
    out_ += "(";
    add_names(node.inputs());
    out_ += ")";
    if (!node.scope().empty()) out_ += ", scope: " + node.scope();
    if (with_ranges_ && node.range()) out_ += " # " + node.range().to_string();
    out_ += "\n";
    for (size_t i = 0; i < node.blocks().size(); ++i) add_block(*node.block_at(i), i, level + 1);
  }

  void add_block(const Block& block, size_t index, size_t level) {
    indent(level);
    out_ += "block" + std::to_string(index) + "(";
    add_parameters(block.inputs(), ", ");
    out_ += "):\n";
    for (const Node* n : block.nodes()) add_node(*n, level + 1);
    indent(level + 1);
    out_ += "-> (";
    add_names(block.outputs());
    out_ += ")\n";
  }

  bool with_ranges_;
  std::string out_;
  std::vector<std::pair<std::string, const Graph*>> groups_;
};

}  // namespace

std::string attributes_text(const Node& node) {
  std::string out;
  for (const auto& [name, v] : node.attributes()) {
    if (std::holds_alternative<std::shared_ptr<Graph>>(v)) continue;
    out += (out.empty() ? "[" : ", ") + name + "=";
    if (const auto* value = std::get_if<sconce::Value>(&v)) {
      out += literal_text(*value);
    } else if (const auto* type = std::get_if<TypePtr>(&v)) {
      out += (*type)->to_string();
    } else {
      const auto& types = std::get<std::vector<TypePtr>>(v);
      out += "[";
      for (size_t i = 0; i < types.size(); ++i) out += (i ? ", " : "") + types[i]->to_string();
      out += "]";
    }
  }
  return out.empty() ? out : out + "]";
}

std::string Graph::to_string(bool with_ranges) const { return Printer(with_ranges).print(*this); }

}  // namespace sconce::ir
