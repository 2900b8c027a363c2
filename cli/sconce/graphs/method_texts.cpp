#include "graphs/method_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "files/model_file.h"
#include "files/program_file.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/serialization/code/code_printer.h"

namespace sconce::cli {
namespace {

// "__torch__.___torch_mangle_12.Net" is "__torch__.Net".
std::string without_mangling(std::string text) {
  constexpr std::string_view kMangle = "___torch_mangle_";
  size_t at = 0;
  while ((at = text.find(kMangle, at)) != text.npos) {
    size_t end = at + kMangle.size();
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    if (end < text.size() && text[end] == '.') ++end;
    text.erase(at, end - at);
  }
  return text;
}

std::string text_of(ir::Function& f) {
  // Methods of lite archives have no graph.
  return without_mangling(f.has_graph() ? print_function(f) : runtime::disassemble(f));
}

using Functions = std::unordered_set<ir::Function*>;

// Functions, not methods, that a block calls, and what they call.
void add_called(const ir::Block& block, Functions& functions) {
  for (const ir::Node* n : block.nodes()) {
    ir::Function* f = n->callee();
    if (f && !f->self_type() && functions.insert(f).second && f->has_graph())
      add_called(*f->graph()->block(), functions);
    for (const ir::Block* b : n->blocks()) add_called(*b, functions);
  }
}

}  // namespace

std::vector<MethodText> method_texts(const ModelFile& model) {
  std::vector<MethodText> out;
  const std::optional<jit::Module>& root = model.module();
  if (!root) {
    for (const NamedFunction& f : model.program()->functions()) {
      if (f.function) out.push_back({f.name, text_of(*f.function)});
    }
    return out;
  }
  Functions seen, called;
  for (const auto& [path, module] : root->named_modules()) {
    for (const std::string& name : module.method_names()) {
      ir::Function& f = module.method(name).function();
      if (!seen.insert(&f).second) continue;
      out.push_back({path.empty() ? name : fmt::format("{}.{}", path, name), text_of(f)});
      if (f.has_graph()) add_called(*f.graph()->block(), called);
    }
  }
  std::vector<MethodText> functions;
  for (ir::Function* f : called) functions.push_back({without_mangling(f->name()), text_of(*f)});
  std::sort(functions.begin(), functions.end(),
            [](const MethodText& a, const MethodText& b) { return a.name < b.name; });
  out.insert(out.end(), functions.begin(), functions.end());
  return out;
}

}  // namespace sconce::cli
