#include "graphs/operator_uses.h"

#include <map>

#include "sconce/frontend/script/names/missing_operators.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/serialization/file/file_kind.h"
#include "sconce/serialization/file/records.h"
#include "sconce/syntax/parser.h"

namespace sconce::cli {
namespace {

class Counter {
 public:
  void add(std::string name, std::string text, syntax::Dialect dialect) {
    const syntax::TreePtr tree = syntax::parse(std::make_shared<Source>(std::move(name), std::move(text)), dialect);
    for (const script::CalledOperator& call : script::called_operators(*tree)) {
      OperatorUse& use = uses_[call.name];
      use.count += call.count;
      use.known = call.known;
    }
  }
  std::vector<OperatorUse> uses() const {
    std::vector<OperatorUse> out;
    out.reserve(uses_.size());
    for (const auto& [name, use] : uses_) out.push_back({name, use.count, use.known});
    return out;
  }

 private:
  std::map<std::string, OperatorUse> uses_;
};

void count_nodes(const ir::Block& block, std::map<std::string, size_t>& counts) {
  for (const ir::Node* n : block.nodes()) {
    if (n->op()) ++counts[n->op()->qualified_name()];
    for (const ir::Block* b : n->blocks()) count_nodes(*b, counts);
    for (const auto& [name, value] : n->attributes()) {
      if (const auto* graph = std::get_if<std::shared_ptr<ir::Graph>>(&value)) count_nodes(*(*graph)->block(), counts);
    }
  }
}

// Functions of lite archives have no graph, but the code that they were translated to when they were loaded.
void count_calls(ir::Function& f, std::map<std::string, size_t>& counts) {
  const auto& executable = static_cast<runtime::CodeExecutable&>(f.executable({}));
  for (const runtime::OpCall& call : executable.code->op_calls) ++counts[call.op->qualified_name()];
}

}  // namespace

std::vector<OperatorUse> operators_in_unit(ir::CompilationUnit& unit) {
  std::map<std::string, size_t> counts;
  for (ir::Function* f : unit.functions()) {
    if (!f->is_defined()) continue;
    if (f->has_graph())
      count_nodes(*f->graph()->block(), counts);
    else
      count_calls(*f, counts);
  }
  std::vector<OperatorUse> out;
  out.reserve(counts.size());
  for (const auto& [name, count] : counts) out.push_back({name, count, true});
  return out;
}

std::vector<OperatorUse> operators_in_text(const FileBytesPtr& file) {
  Counter counter;
  switch (kind_of(file)) {
    case FileKind::text:
      counter.add(file->name(), std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()),
                  syntax::Dialect::python);
      break;
    case FileKind::torchscript: {
      const Records records(file);
      for (const ZipReader::Record& r : records.zip().records()) {
        const std::string name(r.name.substr(std::min(records.folder().size(), r.name.size())));
        if (name.starts_with("code/") && name.ends_with(".py"))
          counter.add(name, records.zip().read(r), syntax::Dialect::archive);
      }
      break;
    }
    default:
      break;
  }
  return counter.uses();
}

}  // namespace sconce::cli
