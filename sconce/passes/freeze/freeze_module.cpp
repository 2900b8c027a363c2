#include "sconce/passes/freeze/freeze_module.h"

#include <set>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/alias.h"
#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"
#include "sconce/types/class_info.h"

namespace sconce::passes {
namespace {

bool is_module(TypePtr type) { return type->is(TypeKind::class_) && type->class_info()->is_module; }

struct Slot {
  Object* object;
  int index;
  auto operator<=>(const Slot&) const = default;
};

// A value that graphs may hold: tensors without gradients, containers of their own. Nothing when an object is inside.
std::optional<sconce::Value> frozen_value(const sconce::Value& v) {
  if (v.is_object() || v.tag() == Tag::future || v.tag() == Tag::generator || v.tag() == Tag::capsule)
    return std::nullopt;
  if (v.is_tensor()) return call_op("aten::detach", {v}).at(0);
  if (v.is_list()) {
    Ref<List> copy = make_ref<List>(v.to_list().element_type());
    for (const sconce::Value& item : v.to_list().values()) {
      std::optional<sconce::Value> frozen = frozen_value(item);
      if (!frozen) return std::nullopt;
      copy->append(std::move(*frozen));
    }
    return sconce::Value(std::move(copy));
  }
  if (v.is_dict()) {
    Ref<Dict> copy = make_ref<Dict>(v.to_dict().key_type(), v.to_dict().value_type());
    for (const auto& [key, item] : v.to_dict().items()) {
      std::optional<sconce::Value> frozen = frozen_value(item);
      if (!frozen) return std::nullopt;
      copy->set(key, std::move(*frozen));
    }
    return sconce::Value(std::move(copy));
  }
  if (v.is_tuple()) {
    std::vector<sconce::Value> items;
    for (const sconce::Value& item : v.to_tuple().items) {
      std::optional<sconce::Value> frozen = frozen_value(item);
      if (!frozen) return std::nullopt;
      items.push_back(std::move(*frozen));
    }
    return sconce::Value(make_ref<Tuple>(std::move(items), v.to_tuple().named_type));
  }
  return v;
}

class Freezer {
 public:
  Freezer(ir::CompilationUnit& unit, const sconce::Value& module, const FreezeOptions& options)
      : unit_(unit), options_(options) {
    SCONCE_CHECK(module.is_object() && is_module(module.to_object().type()), "freeze: expected a module, got {}",
                 module.type()->to_string());
    root_ = &module.to_object();
    const int training = info().find("training");
    if (training >= 0 && root_->slot(static_cast<size_t>(training)).is_bool()) {
      SCONCE_CHECK(
          !root_->slot(static_cast<size_t>(training)).to_bool(),
          "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
          "before freezing.");
    }
    choose_methods();
  }

  sconce::Value run() {
    for (auto& [name, graph] : methods_) inline_calls(*graph);
    // First what cannot change: it decides which branches there are (training), and so what is written at all.
    replace_attributes(true);
    for (auto& [name, graph] : methods_) optimise_frozen(*graph);
    replace_attributes(false);
    for (auto& [name, graph] : methods_) {
      optimise_frozen(*graph);
      erase_dropout(*graph);
      if (options_.fold_numerics) fold_conv_bn(*graph);
      optimise_frozen(*graph);
    }
    return make_module();
  }

 private:
  const ClassInfo& info() const { return *root_->type()->class_info(); }

  void choose_methods() {
    const auto add = [&](const std::string& name, ir::Function* method) {
      methods_.emplace_back(name, method->graph()->copy());
    };
    if (ir::Function* forward = info().find_method("forward")) add("forward", forward);
    for (const std::string& name : options_.preserved) {
      if (ir::Function* method = info().find_method(name)) {
        if (name != "forward") add(name, method);
      } else {
        const int slot = info().find(name);
        SCONCE_CHECK(slot >= 0, "freeze: unknown name '{}' to preserve in '{}'", name, root_->type()->name());
        kept_.insert({root_, slot});
      }
    }
    SCONCE_CHECK(!methods_.empty(), "freeze: '{}' has no forward, and no method to preserve", root_->type()->name());
  }

  static void optimise_frozen(ir::Graph& graph) {
    optimise(graph, {.disabled = {"inline_calls", "unroll_loops"}, .enabled = {}, .limit = -1, .verify = false});
  }

  // ---- which attribute a node means ----

  // The module that a value is: self, or an attribute of one. Null when it cannot be told.
  Object* module_of(const ir::Value* v, const ir::Graph& graph) const {
    if (v == graph.inputs().at(0)) return root_;
    const std::optional<Slot> slot = slot_of(*v->node(), graph);
    if (!slot || !is_module(v->type())) return nullptr;
    const sconce::Value& held = slot->object->slot(static_cast<size_t>(slot->index));
    return held.is_object() ? &held.to_object() : nullptr;
  }

  std::optional<Slot> slot_of(const ir::Node& node, const ir::Graph& graph) const {
    if (!node.is(ir::kind::GetAttr) && !node.is(ir::kind::SetAttr)) return std::nullopt;
    Object* object = module_of(node.input(), graph);
    if (!object) return std::nullopt;
    const int index = object->type()->class_info()->find(node.string_attribute("name"));
    return index >= 0 ? std::optional(Slot{object, index}) : std::nullopt;
  }

  // ---- what is written ----

  void find_written(const ir::Graph& graph, bool immutable_only) {
    std::optional<ir::AliasFacts> alias;
    // What SetAttr writes is a slot; the others write to memory that slots may hold.
    std::vector<const ir::Node*> writers;
    if (!immutable_only) {
      alias.emplace(graph);
      each_node(*graph.block(), [&](ir::Node& node) {
        if (node.blocks().empty() && !node.is(ir::kind::SetAttr) && alias->writes(&node)) writers.push_back(&node);
      });
    }
    const auto is_written = [&](const ir::Value* v) {
      return std::any_of(writers.begin(), writers.end(), [&](const ir::Node* w) { return alias->writes_to(w, v); });
    };
    each_node(*graph.block(), [&](ir::Node& node) {
      const std::optional<Slot> slot = slot_of(node, graph);
      if (node.is(ir::kind::SetAttr)) {
        if (slot) kept_.insert(*slot);
        if (!slot) written_names_.insert(node.string_attribute("name"));
      } else if (slot && !is_module(node.output()->type()) && is_written(node.output())) {
        kept_.insert(*slot);
        note_memory(slot->object->slot(static_cast<size_t>(slot->index)));
      }
    });
    if (!immutable_only) return;
    // Code that is called may set attributes of what it is given.
    each_node(*graph.block(), [&](ir::Node& node) {
      if (!ir::is_call(node)) return;
      for (const ir::Value* v : node.inputs()) {
        if (Object* object = module_of(v, graph)) keep_all(*object);
      }
    });
  }

  void keep_all(Object& object) {
    const std::vector<ClassInfo::Attribute>& attributes = object.type()->class_info()->attributes;
    for (size_t i = 0; i < attributes.size(); ++i) {
      if (!kept_.insert({&object, static_cast<int>(i)}).second) continue;
      const sconce::Value& v = object.slot(i);
      note_memory(v);
      if (v.is_object()) keep_all(v.to_object());
    }
  }

  // Another attribute may share the memory of one that is written.
  void note_memory(const sconce::Value& v) {
    if (v.is_tensor()) memory_.insert(v.to_tensor().storage());
    if (v.is_list() && v.to_list().is_tensors()) {
      for (const Tensor& t : v.to_list().tensors()) memory_.insert(t.storage());
    }
  }
  bool shares_memory(const sconce::Value& v) const {
    if (v.is_tensor()) return memory_.contains(v.to_tensor().storage());
    if (!v.is_list() || !v.to_list().is_tensors()) return false;
    const TensorList tensors = v.to_list().tensors();
    return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return memory_.contains(t.storage()); });
  }

  // ---- attributes to constants ----

  void replace_attributes(bool immutable_only) {
    for (auto& [name, graph] : methods_) find_written(*graph, immutable_only);
    for (auto& [name, graph] : methods_) {
      each_node(*graph->block(), [&](ir::Node& node) { replace(node, *graph, immutable_only); });
    }
  }

  void replace(ir::Node& node, const ir::Graph& graph, bool immutable_only) {
    if (!node.is(ir::kind::GetAttr)) return;
    const std::optional<Slot> slot = slot_of(node, graph);
    if (!slot || kept_.contains(*slot) || written_names_.contains(node.string_attribute("name"))) return;
    if (immutable_only && ir::is_mutable(node.output()->type())) return;
    const sconce::Value& v = slot->object->slot(static_cast<size_t>(slot->index));
    if (shares_memory(v)) return;
    std::optional<sconce::Value> frozen = frozen_value(v);
    if (!frozen) return;
    ir::Value* out = node.output();
    if (out->type()->is(TypeKind::optional)) out->set_type(frozen->is_none() ? none_type() : out->type()->element());
    replace_with_constant(node, std::move(*frozen));
  }

  // ---- the new module ----

  sconce::Value make_module() {
    const std::string name = unit_.unique_name(root_->type()->name());
    const TypePtr type = make_class_type(name);
    type->class_info()->is_module = true;
    std::set<int> used;
    for (const Slot& slot : kept_) {
      if (slot.object == root_ && is_preserved(info().attributes[static_cast<size_t>(slot.index)].name))
        used.insert(slot.index);
    }
    for (auto& [method, graph] : methods_) note_used(*graph, used);
    for (int slot : used) type->class_info()->attributes.push_back(info().attributes[static_cast<size_t>(slot)]);
    unit_.add_type(type);
    for (auto& [method, graph] : methods_) {
      graph->inputs().at(0)->set_type(type);
      ir::Function& function = unit_.add_function(name + "." + method);
      Schema schema = info().find_method(method)->schema();
      if (!schema.arguments.empty()) schema.arguments[0].type = type;
      function.set_schema(std::move(schema));
      function.set_self_type(type);
      function.set_graph(graph);
      type->class_info()->methods.emplace_back(method, &function);
    }
    Ref<Object> object = make_ref<Object>(type);
    size_t at = 0;
    for (int slot : used) object->set_slot(at++, root_->slot(static_cast<size_t>(slot)));
    return sconce::Value(std::move(object));
  }

  bool is_preserved(const std::string& name) const {
    return std::find(options_.preserved.begin(), options_.preserved.end(), name) != options_.preserved.end();
  }

  void note_used(const ir::Graph& graph, std::set<int>& used) const {
    for (const ir::Use& use : graph.inputs().at(0)->uses()) {
      const std::optional<Slot> slot = slot_of(*use.user, graph);
      SCONCE_CHECK(slot && use.offset == 0, "freeze: '{}' gives the module itself to {}, which stays a call",
                   root_->type()->name(), use.user->kind().text());
      used.insert(slot->index);
    }
  }

  ir::CompilationUnit& unit_;
  const FreezeOptions& options_;
  Object* root_;
  std::vector<std::pair<std::string, std::shared_ptr<ir::Graph>>> methods_;
  std::set<Slot> kept_;                  // attributes that stay attributes
  std::set<std::string> written_names_;  // set in objects that could not be told
  std::set<const void*> memory_;         // of kept tensors
};

}  // namespace

sconce::Value freeze(ir::CompilationUnit& unit, const sconce::Value& module, const FreezeOptions& options) {
  return Freezer(unit, module, options).run();
}

}  // namespace sconce::passes
