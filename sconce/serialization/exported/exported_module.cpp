#include "sconce/serialization/exported/exported_module.h"

#include <algorithm>

namespace sconce::exported {

using Kind = ClassInfo::AttributeKind;

struct ModuleTree::Module {
  struct Attribute {
    std::string name;
    Tensor tensor;  // undefined for a submodule
    Kind kind = Kind::plain;
    std::unique_ptr<Module> module;
  };
  std::vector<Attribute> attributes;
  TypePtr type = nullptr;
  Ref<Object> object;

  Attribute* find(std::string_view name) {
    const auto found =
        std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& a) { return a.name == name; });
    return found == attributes.end() ? nullptr : &*found;
  }
};

namespace {

// "L__self___layers_0,layers.0,torch.nn.modules.linear.Linear;...": path and class of the modules around a node.
void read_module_stack(std::string_view text, std::map<std::string, std::string>& class_names) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = entry.find(','), second = entry.rfind(',');
    if (first == entry.npos || second == first) continue;
    std::string path(entry.substr(first + 1, second - first - 1));
    class_names.emplace(std::move(path), std::string(entry.substr(second + 1)));
  }
}

// A qualified name: identifiers with dots between.
bool is_qualified_name(std::string_view name) {
  bool start = true;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (start ? !letter : !(letter || digit || c == '.')) return false;
    start = c == '.';
  }
  return !start;
}

}  // namespace

ModuleTree::ModuleTree(const Program& program, const Weights& weights, ir::CompilationUnit& unit,
                       const std::string& file)
    : file_(file), root_(std::make_unique<Module>()) {
  for (const Node& node : program.graph.nodes) read_module_stack(node.module_stack, class_names_);
  std::map<std::string, bool> added;
  for (const InputSpec& spec : program.inputs) {
    if (spec.target.empty() || !added.emplace(spec.target, true).second) continue;
    const auto tensor = weights.tensors.find(spec.target);
    SCONCE_CHECK(tensor != weights.tensors.end(), "{}: there is no tensor '{}', an input of the program", file_,
                 spec.target);
    // Buffers that are not persistent are in no state dict.
    const Kind kind = spec.kind == InputSpec::Kind::parameter                   ? Kind::parameter
                      : spec.kind == InputSpec::Kind::buffer && spec.persistent ? Kind::buffer
                                                                                : Kind::plain;
    add(spec.target, tensor->second, kind);
  }
  // Entries of the state dict that the program does not use.
  for (const auto& [name, is_parameter] : weights.state) {
    if (!added.contains(name)) add(name, weights.tensors.at(name), is_parameter ? Kind::parameter : Kind::buffer);
  }
  build(*root_, "", unit);
  object_ = root_->object;
}

ModuleTree::~ModuleTree() = default;

TypePtr ModuleTree::type() const { return root_->type; }

void ModuleTree::add_method(const std::string& name, ir::Function& f) {
  root_->type->class_info()->methods.emplace_back(name, &f);
}

void ModuleTree::add(const std::string& name, const Tensor& tensor, Kind kind) {
  Module* module = root_.get();
  int depth = 0;
  for (std::string_view rest = name;;) {
    const size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    SCONCE_CHECK(!part.empty(), "{}: '{}' is no name of a tensor", file_, name);
    SCONCE_CHECK(++depth <= kMaxModuleDepth, "{}: modules are nested deeper than {}", file_, kMaxModuleDepth);
    Module::Attribute* found = module->find(part);
    const bool last = dot == rest.npos;
    SCONCE_CHECK(!found || (!last && found->module), "{}: '{}' is a tensor and has more inside", file_, name);
    if (!found) {
      module->attributes.push_back({part, {}, Kind::plain, last ? nullptr : std::make_unique<Module>()});
      found = &module->attributes.back();
    }
    if (last) {
      found->tensor = tensor;
      found->kind = kind;
      return;
    }
    module = found->module.get();
    rest.remove_prefix(dot + 1);
  }
}

void ModuleTree::build(Module& module, const std::string& path, ir::CompilationUnit& unit) {
  for (Module::Attribute& a : module.attributes) {
    if (a.module) build(*a.module, path.empty() ? a.name : path + "." + a.name, unit);
  }
  const auto name = class_names_.find(path);
  const bool known = name != class_names_.end() && is_qualified_name(name->second);
  module.type = make_class_type(unit.unique_name("__torch__." + (known ? name->second : std::string("Module"))));
  unit.add_type(module.type);
  ClassInfo& info = *module.type->class_info();
  info.is_module = true;
  for (const Module::Attribute& a : module.attributes) {
    info.attributes.push_back({a.name, a.module ? a.module->type : tensor_type(), a.kind});
  }
  module.object = make_ref<Object>(module.type);
  for (size_t i = 0; i < module.attributes.size(); ++i) {
    const Module::Attribute& a = module.attributes[i];
    module.object->set_slot(i, a.module ? Value(a.module->object) : Value(a.tensor));
  }
}

ir::Value* ModuleTree::insert_get(ir::Graph& graph, ir::Value* self, const std::string& name) const {
  Module* module = root_.get();
  ir::Value* owner = self;
  for (size_t from = 0;;) {
    const size_t dot = name.find('.', from);
    const std::string part = name.substr(from, dot - from), path = name.substr(0, dot);
    const Module::Attribute* attribute = module->find(part);
    SCONCE_ASSERT(attribute);
    const auto get = [&] {
      ir::Node* node = graph.create(ir::kind::GetAttr, {owner}, 1);
      node->set_attribute("name", Value(part));
      node->output()->set_type(attribute->module ? attribute->module->type : tensor_type());
      return graph.insert(node)->output();
    };
    if (dot == name.npos) return get();
    ir::Value*& got = got_[path];
    if (!got) got = get();
    owner = got;
    module = attribute->module.get();
    from = dot + 1;
  }
}

}  // namespace sconce::exported
