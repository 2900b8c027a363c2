#include "sconce/passes/freeze/freeze_module.h"

#include <algorithm>
#include <map>
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

// The memory that values hold: storages, containers, objects, all that can be reached.
class Memory {
 public:
  void add(const sconce::Value& v) {
    each_part(v, parts_, [](const void*) {});
  }
  bool overlaps(const sconce::Value& v) const {
    if (parts_.empty()) return false;
    bool found = false;
    std::set<const void*> seen;
    each_part(v, seen, [&](const void* part) { found = found || parts_.contains(part); });
    return found;
  }

 private:
  template <class F>
  static void each_part(const sconce::Value& v, std::set<const void*>& seen, const F& f) {
    const auto enter = [&](const void* part) {
      f(part);
      return seen.insert(part).second;
    };
    if (v.is_tensor()) {
      enter(v.to_tensor().storage());
    } else if (v.is_list()) {
      if (!enter(&v.to_list()) || !ir::is_mutable(v.to_list().element_type())) return;
      for (const sconce::Value& item : v.to_list().values()) each_part(item, seen, f);
    } else if (v.is_dict()) {
      if (!enter(&v.to_dict())) return;
      for (const auto& [key, item] : v.to_dict().items()) {
        each_part(key, seen, f);
        each_part(item, seen, f);
      }
    } else if (v.is_tuple()) {
      for (const sconce::Value& item : v.to_tuple().items) each_part(item, seen, f);
    } else if (v.is_object()) {
      Object& object = v.to_object();
      if (!enter(&object)) return;
      for (size_t i = 0; i < object.type()->class_info()->attributes.size(); ++i) each_part(object.slot(i), seen, f);
    }
  }

  std::set<const void*> parts_;
};

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
    find_exposed(*root_);
  }

  sconce::Value run() {
    for (auto& [name, graph] : methods_) inline_calls(*graph);
    // First the attributes that cannot change: they decide which branches there are (training), and so which attributes
    // are written at all.
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
    // number_constants is for what runs: PyTorch's freeze folds a number of a trace as the tensor that it is there.
    optimise(graph, {.disabled = {"inline_calls", "unroll_loops", "number_constants"},
                     .enabled = {},
                     .limit = -1,
                     .verify = false});
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

  // Attributes are told apart, so that a write to one keeps no other: whatever is not set, holds only tensors and
  // containers of them, and cannot be reached by a way that the graph does not show. What a caller gives to a method is
  // taken to be none of them, as in PyTorch.
  const void* key_of(const ir::Node& get_attr, const ir::Graph& graph) const {
    const std::optional<Slot> slot = slot_of(get_attr, graph);
    if (!slot || kept_.contains(*slot) || written_names_.contains(get_attr.string_attribute("name"))) return nullptr;
    const sconce::Value& v = slot->object->slot(static_cast<size_t>(slot->index));
    return is_data(get_attr.output()->type()) && !exposed_.overlaps(v) ? &v : nullptr;
  }

  // Tensors, and containers of them.
  static bool is_data(TypePtr type) {
    switch (type->kind()) {
      case TypeKind::tensor:
        return true;
      case TypeKind::optional:
      case TypeKind::list:
      case TypeKind::dict:
      case TypeKind::tuple:
        return std::ranges::all_of(type->contained(), [](TypePtr t) { return is_data(t) || !ir::is_mutable(t); });
      default:
        return false;
    }
  }

  // Can it be told of every module in the graph which one it is? Not of one that an index chooses.
  bool knows_modules(const ir::Graph& graph) const {
    bool knows = true;
    each_node(*graph.block(), [&](ir::Node& node) {
      for (const ir::Value* v : node.outputs()) {
        const bool is_some_module = v->type()->is(TypeKind::interface) || is_module(v->type());
        knows = knows && (!is_some_module || module_of(v, graph));
      }
    });
    return knows;
  }

  // What objects that are no modules lead to: code may write there and say so of no attribute.
  void find_exposed(Object& module) {
    if (!seen_.insert(&module).second) return;
    const std::vector<ClassInfo::Attribute>& attributes = module.type()->class_info()->attributes;
    for (size_t i = 0; i < attributes.size(); ++i) {
      const sconce::Value& v = module.slot(i);
      if (v.is_object() && is_module(v.to_object().type()))
        find_exposed(v.to_object());
      else if (!is_data(attributes[i].type))
        exposed_.add(v);
    }
  }

  void find_written(const ir::Graph& graph, bool immutable_only) {
    std::optional<ir::AliasFacts> alias;
    // SetAttr writes a slot; the others write to memory that slots may hold.
    std::vector<const ir::Node*> writers;
    if (!immutable_only) {
      if (knows_modules(graph))
        alias.emplace(graph, [&](const ir::Node& node) { return key_of(node, graph); });
      else
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
        memory_.add(slot->object->slot(static_cast<size_t>(slot->index)));
      }
    });
    if (!immutable_only) return;
    // Code that is called may set attributes of its arguments.
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
      memory_.add(v);
      if (v.is_object()) keep_all(v.to_object());
    }
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
    if (memory_.overlaps(v)) return;  // another attribute, which is written, shares its memory
    std::optional<sconce::Value> frozen = frozen_value(v);
    if (!frozen) return;
    ir::Value* out = node.output();
    if (out->type()->is(TypeKind::optional)) out->set_type(frozen->is_none() ? none_type() : out->type()->element());
    replace_with_constant(node, std::move(*frozen));
  }

  // ---- the new module ----

  // An object of the new module: as it was, or another with only the attributes that methods still use.
  struct Part {
    TypePtr type;
    Ref<Object> object;
  };

  sconce::Value make_module() {
    for (const Slot& slot : kept_) {
      if (slot.object != root_ || !is_preserved(info().attributes[static_cast<size_t>(slot.index)].name)) continue;
      used_[root_].insert(slot.index);
      keep_whole(root_->slot(static_cast<size_t>(slot.index)));
    }
    for (auto& [method, graph] : methods_) note_used(*graph);
    const Part made = part_of(*root_);
    for (auto& [method, graph] : methods_) {
      set_types(*graph);
      ir::Function& function = unit_.add_function(made.type->name() + "." + method);
      Schema schema = info().find_method(method)->schema();
      if (!schema.arguments.empty()) schema.arguments[0].type = made.type;
      function.set_schema(std::move(schema));
      function.set_self_type(made.type);
      function.set_graph(graph);
      made.type->class_info()->methods.emplace_back(method, &function);
    }
    return sconce::Value(made.object);
  }

  bool is_preserved(const std::string& name) const {
    return std::find(options_.preserved.begin(), options_.preserved.end(), name) != options_.preserved.end();
  }

  void note_used(const ir::Graph& graph) {
    for (const ir::Use& use : graph.inputs().at(0)->uses()) {
      SCONCE_CHECK(use.offset == 0 && slot_of(*use.user, graph),
                   "freeze: '{}' gives the module itself to {}, which stays a call", root_->type()->name(),
                   use.user->kind().text());
    }
    each_node(*graph.block(), [&](ir::Node& node) {
      if (const std::optional<Slot> slot = slot_of(node, graph)) used_[slot->object].insert(slot->index);
      // A module that is asked for anything but its attributes.
      for (const ir::Value* v : node.outputs()) {
        Object* object = module_of(v, graph);
        if (!object) continue;
        for (const ir::Use& use : v->uses()) {
          if (use.offset != 0 || !slot_of(*use.user, graph)) keep_whole(object_value(*object));
        }
      }
    });
  }

  static sconce::Value object_value(Object& object) { return Ref<Object>::share(&object); }

  void keep_whole(const sconce::Value& v) {
    if (!v.is_object() || !whole_.insert(&v.to_object()).second) return;
    for (size_t i = 0; i < v.to_object().type()->class_info()->attributes.size(); ++i) {
      keep_whole(v.to_object().slot(i));
    }
  }

  Part part_of(Object& object) {
    if (whole_.contains(&object)) return {object.type(), Ref<Object>::share(&object)};
    Part& part = parts_[&object];
    if (part.object) return part;
    const ClassInfo& old = *object.type()->class_info();
    part.type = make_class_type(unit_.unique_name(object.type()->name()));
    part.type->class_info()->is_module = true;
    unit_.add_type(part.type);
    std::vector<sconce::Value> values;
    for (const int slot : used_[&object]) {
      ClassInfo::Attribute attribute = old.attributes[static_cast<size_t>(slot)];
      sconce::Value v = object.slot(static_cast<size_t>(slot));
      if (is_module(attribute.type) && v.is_object()) {
        Part inner = part_of(v.to_object());
        attribute.type = inner.type;
        v = sconce::Value(std::move(inner.object));
      }
      part.type->class_info()->attributes.push_back(std::move(attribute));
      values.push_back(std::move(v));
    }
    part.object = make_ref<Object>(part.type);
    for (size_t i = 0; i < values.size(); ++i) part.object->set_slot(i, std::move(values[i]));
    return part;
  }

  void set_types(ir::Graph& graph) {
    std::vector<std::pair<ir::Value*, TypePtr>> types{{graph.inputs().at(0), part_of(*root_).type}};
    each_node(*graph.block(), [&](ir::Node& node) {
      for (ir::Value* v : node.outputs()) {
        if (Object* object = module_of(v, graph)) types.emplace_back(v, part_of(*object).type);
      }
    });
    for (const auto& [v, type] : types) v->set_type(type);
  }

  ir::CompilationUnit& unit_;
  const FreezeOptions& options_;
  Object* root_;
  std::vector<std::pair<std::string, std::shared_ptr<ir::Graph>>> methods_;
  std::set<Slot> kept_;                  // attributes that stay attributes
  std::set<std::string> written_names_;  // set in objects that could not be told
  Memory memory_;                        // of kept attributes
  Memory exposed_;                       // of objects that are no modules
  std::set<const Object*> seen_;         // by find_exposed
  std::map<Object*, std::set<int>> used_;
  std::set<const Object*> whole_;
  std::map<Object*, Part> parts_;
};

}  // namespace

sconce::Value freeze(ir::CompilationUnit& unit, const sconce::Value& module, const FreezeOptions& options) {
  return Freezer(unit, module, options).run();
}

}  // namespace sconce::passes
