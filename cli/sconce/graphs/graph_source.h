// The graphs in a file: of the methods of an archive or an exported program, of the functions of a program's text, or
// one graph as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "files/model_file.h"

namespace sconce::ir {
class Function;
class Graph;
}  // namespace sconce::ir

namespace sconce::cli {

struct NamedGraph {
  std::string name;                  // "__torch__.Net.forward"; empty for graph text
  std::shared_ptr<ir::Graph> graph;  // null for code without one
  ir::Function* function = nullptr;  // null for graph text
};

class GraphSource {
 public:
  // `function` picks one: f, Class.method, forward, layer1.0.forward. Throws UsageError when there is none.
  GraphSource(const ModelOptions& options, const std::string& function);

  const std::vector<NamedGraph>& graphs() const { return graphs_; }
  // Null for graph text.
  const ModelFile* model() const { return model_.get(); }

 private:
  void add(ir::Function& f);
  std::unique_ptr<ModelFile> model_;
  std::vector<NamedGraph> graphs_;
};

}  // namespace sconce::cli
