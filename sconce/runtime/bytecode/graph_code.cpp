#include "sconce/runtime/bytecode/graph_code.h"

#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/runtime/execute.h"
#include "sconce/runtime/fork.h"

namespace sconce::runtime {

GraphCode::GraphCode(const ir::Graph& graph, std::string name, ir::CompilationUnit* unit, bool is_method)
    : code_(generate(graph, std::move(name), unit, is_method, &sites_)) {
  for (auto& [code, sites] : sites_) {
    for (size_t i = 0; i < sites.size(); ++i) sites[i].first = code->sites[i].first;
  }
}

GraphCode::~GraphCode() { finish_tasks(code_->unit); }

Value GraphCode::run(std::span<Value> args, const RunOptions& options) const {
  SCONCE_CHECK(args.size() == code_->args, "the graph of {} takes {} values, got {}", code_->name, code_->args,
               args.size());
  return execute(*code_, args, options);
}

const NodeSite* GraphCode::site_of(const Code& code, size_t instruction) const {
  const auto found = sites_.find(&code);
  if (found == sites_.end()) return nullptr;
  const std::vector<NodeSite>& sites = found->second;
  const auto after = std::upper_bound(sites.begin(), sites.end(), instruction,
                                      [](size_t i, const NodeSite& site) { return i < site.first; });
  return after == sites.begin() ? nullptr : &*(after - 1);
}

}  // namespace sconce::runtime
