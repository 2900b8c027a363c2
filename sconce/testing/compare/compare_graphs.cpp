#include "sconce/testing/compare/compare_graphs.h"

#include <unordered_map>

#include "sconce/ir/literal.h"

namespace sconce::testing {
namespace {

// "__torch__.a.b.___torch_mangle_3.C" is C: a program's classes have the names of the file that it was recorded from.
std::string short_names(const std::string& text) {
  static constexpr std::string_view kPrefix = "__torch__.";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, kPrefix.size(), kPrefix) != 0) {
      out += text[at++];
      continue;
    }
    const auto in_name = [&](size_t i) {
      return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_' || text[i] == '.');
    };
    size_t end = at;
    while (in_name(end)) ++end;
    const std::string name = text.substr(at, end - at);
    out += name.substr(name.rfind('.') + 1);
    at = end;
  }
  return out;
}

std::string type_text(const ir::Value* v) { return short_names(v->type()->to_string()); }

std::string attribute_text(const ir::AttributeValue& v) {
  if (const auto* value = std::get_if<Value>(&v)) return short_names(ir::literal_text(*value));
  if (const auto* type = std::get_if<TypePtr>(&v)) return short_names((*type)->to_string());
  if (const auto* types = std::get_if<std::vector<TypePtr>>(&v)) {
    std::string out;
    for (TypePtr t : *types) out += short_names(t->to_string()) + ", ";
    return out;
  }
  return "a graph";
}

std::string line_of(const ir::Node* node) {
  if (!node) return "nothing";
  std::string out;
  for (const ir::Value* v : node->outputs()) out += (out.empty() ? "%" : ", %") + v->name() + " : " + type_text(v);
  out += (out.empty() ? "" : " = ") + node->kind().text() + "(";
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    const ir::Value* v = node->input(i);
    const auto constant = ir::constant_value(v);
    out += (i ? ", " : "") + (constant ? ir::nested_literal_text(*constant) : "%" + v->name());
  }
  out += ")";
  return node->range() ? out + " # " + node->range().to_string() : out;
}

class Comparison {
 public:
  explicit Comparison(const GraphComparison& what) : what_(what) {}

  std::optional<std::string> graphs(const ir::Graph& ours, const ir::Graph& theirs) {
    blocks(*ours.block(), *theirs.block(), "the graph");
    return difference_;
  }

 private:
  bool differ(std::string text) {
    if (!difference_) difference_ = std::move(text);
    return false;
  }
  bool differ(const std::string& what, const ir::Node* ours, const ir::Node* theirs) {
    return differ(what + "\n  ours:   " + line_of(ours) + "\n  theirs: " + line_of(theirs));
  }

  static ir::Node* skip_constants(ir::Node* node) {
    while (node->is(ir::kind::Constant)) node = node->next();
    return node;
  }

  bool blocks(const ir::Block& ours, const ir::Block& theirs, const std::string& name) {
    if (!define(ours.inputs(), theirs.inputs(), "inputs of " + name, ours.owner(), theirs.owner())) return false;
    ir::Node *a = skip_constants(ours.first()), *b = skip_constants(theirs.first());
    while (a != ours.return_node() && b != theirs.return_node()) {
      if (!nodes(*a, *b)) return false;
      a = skip_constants(a->next());
      b = skip_constants(b->next());
    }
    if (a != ours.return_node() || b != theirs.return_node()) {
      return differ("a node too many in " + name, a == ours.return_node() ? nullptr : a,
                    b == theirs.return_node() ? nullptr : b);
    }
    return values(ours.outputs(), theirs.outputs(), "results of " + name, ours.return_node(), theirs.return_node());
  }

  bool nodes(const ir::Node& a, const ir::Node& b) {
    if (!a.is(b.kind())) return differ("other kinds", &a, &b);
    if (a.blocks().size() != b.blocks().size()) return differ("other numbers of blocks", &a, &b);
    if (!values(a.inputs(), b.inputs(), "inputs", &a, &b) || !attributes(a, b)) return false;
    if (what_.ranges && !places(a.range(), b.range())) return differ("other places", &a, &b);
    for (size_t i = 0; i < a.blocks().size(); ++i) {
      if (!blocks(*a.block_at(i), *b.block_at(i), "block " + std::to_string(i) + " of " + a.kind().text()))
        return false;
    }
    return define(a.outputs(), b.outputs(), "outputs", &a, &b);
  }

  // Where theirs has a place. Lines may be shifted, all of a file by the same number: a function may be cut out of it.
  bool places(const Range& a, const Range& b) {
    if (!b || b.source->name() == "<string>") return true;  // PyTorch's own text
    if (!a) return false;
    const auto [shift, is_new] = shifts_.try_emplace(b.source->name(), a.line() - b.line());
    return a.line() - b.line() == shift->second && a.column() == b.column();
  }

  bool attributes(const ir::Node& a, const ir::Node& b) {
    if (a.attributes().size() != b.attributes().size()) return differ("other attributes", &a, &b);
    for (const auto& [name, v] : a.attributes()) {
      const ir::AttributeValue* other = b.attribute(name);
      if (!other) return differ("the attribute '" + name + "' is ours alone", &a, &b);
      const auto *x = std::get_if<std::shared_ptr<ir::Graph>>(&v), *y = std::get_if<std::shared_ptr<ir::Graph>>(other);
      if (x && y) {
        if (!blocks(*(*x)->block(), *(*y)->block(), "the graph of " + a.kind().text())) return false;
        continue;
      }
      const std::string ours = attribute_text(v), theirs = attribute_text(*other);
      if (ours != theirs) return differ("the attribute '" + name + "' is " + ours + ", not " + theirs, &a, &b);
    }
    return true;
  }

  bool values(const std::vector<ir::Value*>& ours, const std::vector<ir::Value*>& theirs, const std::string& what,
              const ir::Node* a, const ir::Node* b) {
    if (ours.size() != theirs.size()) return differ("other numbers of " + what, a, b);
    for (size_t i = 0; what_.wiring && i < ours.size(); ++i) {
      if (!corresponds(ours[i], theirs[i])) return differ(std::to_string(i) + " of " + what + " differs", a, b);
    }
    return true;
  }

  bool corresponds(const ir::Value* a, const ir::Value* b) {
    const bool constant = a->node()->is(ir::kind::Constant);
    if (constant != b->node()->is(ir::kind::Constant)) return false;
    if (!constant) {
      const auto found = same_.find(a);
      return found != same_.end() && found->second == b;
    }
    // PyTorch refines the type of a tensor by its value, which is compared below.
    const bool is_tensor = a->type()->is(TypeKind::tensor) && b->type()->is(TypeKind::tensor);
    if (what_.types && !is_tensor && type_text(a) != type_text(b)) return false;
    const auto text = [](const ir::Node& node) {
      std::string out;
      for (const auto& [name, v] : node.attributes()) out += name + "=" + attribute_text(v);
      return out;
    };
    return text(*a->node()) == text(*b->node());
  }

  bool define(const std::vector<ir::Value*>& ours, const std::vector<ir::Value*>& theirs, const std::string& what,
              const ir::Node* a, const ir::Node* b) {
    if (ours.size() != theirs.size()) return differ("other numbers of " + what, a, b);
    for (size_t i = 0; i < ours.size(); ++i) {
      if (what_.types && type_text(ours[i]) != type_text(theirs[i])) {
        return differ(std::to_string(i) + " of " + what + ": " + type_text(ours[i]) + ", not " + type_text(theirs[i]),
                      a, b);
      }
      same_[ours[i]] = theirs[i];
    }
    return true;
  }

  const GraphComparison& what_;
  std::unordered_map<const ir::Value*, const ir::Value*> same_;
  std::unordered_map<std::string, int> shifts_;
  std::optional<std::string> difference_;
};

}  // namespace

std::optional<std::string> compare_structure(const ir::Graph& ours, const ir::Graph& theirs,
                                             const GraphComparison& what) {
  return Comparison(what).graphs(ours, theirs);
}

}  // namespace sconce::testing
