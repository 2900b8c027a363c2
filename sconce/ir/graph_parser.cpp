#include "sconce/ir/graph_parser.h"

#include <charconv>
#include <map>
#include <set>

#include "sconce/ir/literal.h"
#include "sconce/ir/resolve.h"

namespace sconce::ir {
namespace {

constexpr uint32_t kMaxId = 1'000'000'000;
constexpr size_t kMaxName = 4096;  // of an enum or an interface

// Nominal types: those that the caller knows, then those that this text mentions, each made once.
class TypeNames {
 public:
  explicit TypeNames(const FindType& find) : find_(find) {}

  FindType finder() {
    return [this](std::string_view name) { return lookup(name); };
  }
  // Enums and interfaces are marked where they are used: Enum<a.b>, InterfaceType<I>.
  void note(std::string_view text) {
    for (size_t at = 0; (at = text.find('<', at)) != text.npos; ++at) {
      const std::string_view before = text.substr(0, at), after = text.substr(at + 1);
      if (!before.ends_with("Enum") && !before.ends_with("InterfaceType")) continue;
      const size_t end = after.substr(0, kMaxName).find('>');
      if (end == after.npos) continue;
      const std::string name(after.substr(0, end));
      if (made_.contains(name) || find_known(name)) continue;
      made_.emplace(name, before.ends_with("Enum") ? make_enum_type(name, any_type()) : make_interface_type(name));
    }
  }

 private:
  TypePtr find_known(std::string_view name) const { return find_ ? find_(name) : nullptr; }
  TypePtr lookup(std::string_view name) {
    if (const auto found = made_.find(std::string(name)); found != made_.end()) return found->second;
    if (TypePtr known = find_known(name)) return known;
    if (!name.starts_with("__torch__.")) return nullptr;
    if (TypePtr shared = find_class_type(name)) return shared;
    return made_.emplace(name, make_class_type(name)).first->second;
  }
  const FindType& find_;
  std::unordered_map<std::string, TypePtr> made_;
};

// Places, "file:line:col", become ranges of sources that have nothing but that column.
class Ranges {
 public:
  // Nowhere when the text is some other comment.
  Range parse(TextCursor& in, std::string_view text) {
    while (text.ends_with(' ') || text.ends_with('\r')) text.remove_suffix(1);
    int column = 0, line = 0;
    if (!take_number(text, column) || !take_number(text, line) || text.empty()) return {};
    SourcePtr& source = sources_[{std::string(text), line, column}];
    if (!source) {
      columns_ += static_cast<size_t>(std::min(column, kMaxColumn));
      if (column > kMaxColumn || columns_ > kMaxColumns) {
        in.fail("the column is too large");
      }
      source = std::make_shared<Source>(std::string(text), std::string(static_cast<size_t>(column), ' '), line);
    }
    return {source, static_cast<uint32_t>(column), static_cast<uint32_t>(column)};
  }

 private:
  static constexpr int kMaxColumn = 1 << 16;
  static constexpr size_t kMaxColumns = size_t{64} << 20;  // of all together
  // Takes ":123" from the end.
  static bool take_number(std::string_view& text, int& n) {
    const size_t colon = text.rfind(':');
    if (colon == text.npos) return false;
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error != std::errc() || end != digits.data() + digits.size() || n < 0) return false;
    text = text.substr(0, colon);
    return true;
  }
  std::map<std::tuple<std::string, int, int>, SourcePtr> sources_;
  size_t columns_ = 0;
};

// The kinds with numbers whose graphs the text has: prim::fork_0 for a line "with prim::fork_0 = graph(...)".
using Headers = std::set<std::string_view>;

Headers headers_of(std::string_view text) {
  static constexpr std::string_view kWith = "\nwith ";
  Headers all;
  for (size_t at = 0; (at = text.find(kWith, at)) != text.npos;) {
    at += kWith.size();
    all.insert(text.substr(at, std::min(text.find_first_of(" =\n", at), text.size()) - at));
  }
  return all;
}

class GraphParser {
 public:
  GraphParser(TextCursor& in, const FindType& find, Ranges& ranges, const Headers& headers)
      : in_(in), find_(find), ranges_(ranges), headers_(headers) {}

  std::shared_ptr<Graph> parse() {
    const TextCursor::Nest nest(in_);
    graph_ = std::make_shared<Graph>();
    in_.expect("graph");
    in_.expect('(');
    for (const Named& input : parameters(')'))
      define(input, graph_->add_input(input.type ? input.type : tensor_type()));
    in_.expect(':');
    in_.end_of_line();
    while (in_.skip_lines(), !in_.accept("return")) parse_node(*graph_->block());
    parse_results(*graph_->block());
    number_named();
    // Graphs of nodes: "with prim::fork_0 = graph(...)".
    for (size_t i = 0; i < groups_.size(); ++i) {
      in_.skip_lines();
      in_.expect("with ");
      in_.expect(groups_[i].kind + "_" + std::to_string(i));
      in_.expect('=');
      groups_[i].node->set_attribute(groups_[i].attribute, GraphParser(in_, find_, ranges_, headers_).parse());
    }
    return graph_;
  }

 private:
  struct Named {
    std::string name;
    size_t at;               // in the text
    TypePtr type = nullptr;  // null when there is none
  };
  struct Group {
    Node* node;
    std::string kind;
    std::string attribute;
  };

  std::string value_name() {
    in_.expect('%');
    std::string name(in_.word("_."));
    if (name.empty()) in_.expected("a value's name");
    return name;
  }

  // "%a : int, %b" up to and with `close`, possibly over lines.
  std::vector<Named> parameters(char close) {
    std::vector<Named> all;
    in_.skip_lines();
    if (in_.accept(close)) return all;
    do {
      in_.skip_lines();
      all.push_back(named());
    } while (in_.skip_lines(), in_.accept(','));
    in_.expect(close);
    return all;
  }
  Named named() {
    in_.skip_spaces();
    const size_t at = in_.at();
    Named v{value_name(), at};
    if (in_.accept(':')) v.type = read_type(in_, find_);
    return v;
  }

  void define(const Named& named, Value* v) {
    const auto wrong = [&](std::string_view message) {
      in_.set_at(named.at);
      in_.fail(message, named.name);
    };
    const auto [at, is_new] = names_.try_emplace(named.name, v);
    if (!is_new) wrong("%{} is defined already");
    scopes_.back().push_back(&at->second);
    if (named.name.find_first_not_of("0123456789") != named.name.npos) {
      v->set_name(named.name);
      named_.push_back(v);
      return;
    }
    uint32_t id = 0;
    const auto [end, error] = std::from_chars(named.name.data(), named.name.data() + named.name.size(), id);
    if (error != std::errc() || id > kMaxId || std::to_string(id) != named.name) wrong("%{} is no number of a value");
    v->set_id(id);
    highest_id_ = std::max(highest_id_, id);
  }

  Value* use() {
    in_.skip_spaces();
    const size_t at = in_.at();
    const std::string name = value_name();
    const auto found = names_.find(name);
    if (found != names_.end() && found->second) return found->second;
    in_.set_at(at);
    in_.fail(found != names_.end() ? "%{} is not visible here" : "%{} is not defined", name);
  }
  std::vector<Value*> uses() {
    std::vector<Value*> values;
    in_.expect('(');
    if (in_.accept(')')) return values;
    do {
      values.push_back(use());
    } while (in_.accept(','));
    in_.expect(')');
    return values;
  }

  void parse_node(Block& block) {
    std::vector<Named> outputs;
    if (!in_.accept('=')) {
      do {
        outputs.push_back(named());
      } while (in_.accept(','));
      in_.expect('=');
    }
    in_.skip_spaces();
    const size_t at = in_.at();
    std::string_view kind = in_.word("_:.^");
    if (kind.find("::") == kind.npos) {
      in_.set_at(at);
      in_.expected("the kind of a node, as in aten::add");
    }
    const bool has_graph = cut_group(kind);
    Node* node = graph_->create(Symbol(kind));
    if (has_graph) groups_.push_back({node, std::string(kind), "Subgraph"});
    if (in_.accept('[')) {
      const TypePtr type = outputs.size() == 1 ? outputs[0].type : nullptr;
      do {
        parse_attribute(*node, type);
      } while (in_.accept(','));
      in_.expect(']');
    }
    for (Value* v : uses()) node->add_input(v);
    if (in_.accept(", scope: ")) {
      const size_t from = in_.at();
      const std::string_view line = in_.line();
      const size_t end = std::min(line.find(" # "), line.size());
      node->set_scope(std::string(line.substr(0, end)));
      in_.set_at(from + end);
    }
    if (in_.accept('#')) {
      in_.skip_spaces();
      node->set_range(ranges_.parse(in_, in_.line()));
    }
    in_.end_of_line();
    block.append(node);
    while (at_block()) parse_block(*node);
    finish_node(*node, outputs);
  }

  // prim::fork_0 is a prim::fork whose graph follows as "with prim::fork_0 = graph(...)".
  bool cut_group(std::string_view& kind) const {
    const std::string suffix = "_" + std::to_string(groups_.size());
    if (!kind.starts_with("prim::") || !kind.ends_with(suffix)) return false;
    if (!headers_.contains(kind)) return false;
    kind.remove_suffix(suffix.size());
    return true;
  }

  void finish_node(Node& node, const std::vector<Named>& outputs) {
    std::vector<TypePtr> types;
    for (const Value* v : node.inputs()) types.push_back(v->type());
    const ResolvedOp resolved = resolve_types(node.kind(), types);
    node.set_op(resolved.op);
    for (size_t i = 0; i < outputs.size(); ++i) {
      TypePtr type = outputs[i].type;
      if (!type && node.is(kind::Constant)) type = constant_type(node);
      if (!type) type = i < resolved.returns.size() ? resolved.returns[i] : tensor_type();
      if (type->is(TypeKind::function) && type->name().empty() && node.attribute("name")) {
        type = function_type(node.string_attribute("name"));
      }
      define(outputs[i], node.add_output(type));
    }
  }

  static TypePtr constant_type(const Node& node) {
    if (node.attribute("name")) return function_type("");
    const AttributeValue* v = node.attribute("value");
    const auto* value = v ? std::get_if<sconce::Value>(v) : nullptr;
    return value ? value->type() : none_type();
  }

  void parse_attribute(Node& node, TypePtr output) {
    in_.skip_spaces();
    const std::string name(in_.word());
    if (name.empty()) in_.expected("an attribute's name");
    if (node.attribute(name)) in_.fail("attribute '{}' is given twice", name);
    in_.expect('=');
    if (name == "types") {
      std::vector<TypePtr> types;
      in_.expect('[');
      if (!in_.accept(']')) {
        do {
          types.push_back(read_type(in_, find_));
        } while (in_.accept(','));
        in_.expect(']');
      }
      node.set_attribute(name, std::move(types));
    } else if (name == "profiled_type") {
      node.set_attribute(name, read_type(in_, find_));
    } else {
      node.set_attribute(name, read_literal(in_, node.is(kind::Constant) && name == "value" ? output : nullptr, find_));
    }
  }

  bool at_block() {
    const size_t at = in_.at();
    in_.skip_lines();
    if (in_.rest().starts_with("block")) return true;
    in_.set_at(at);
    return false;
  }

  void parse_block(Node& node) {
    const TextCursor::Nest nest(in_);
    scopes_.emplace_back();
    Block& block = *node.add_block();
    in_.expect("block");
    in_.word();
    in_.expect('(');
    for (const Named& input : parameters(')')) define(input, block.add_input(input.type ? input.type : tensor_type()));
    in_.expect(':');
    in_.end_of_line();
    while (in_.skip_lines(), !in_.accept("->")) parse_node(block);
    parse_results(block);
    for (Value** v : scopes_.back()) *v = nullptr;
    scopes_.pop_back();
  }

  void parse_results(Block& block) {
    for (Value* v : uses()) block.add_output(v);
    if (in_.accept('#')) in_.line();
    in_.end_of_line();
  }

  // Values with names get numbers above all that are written, so that none is there twice.
  void number_named() {
    for (Value* v : named_) v->set_id(++highest_id_);
  }

  TextCursor& in_;
  const FindType& find_;
  Ranges& ranges_;
  const Headers& headers_;
  std::shared_ptr<Graph> graph_;
  std::unordered_map<std::string, Value*> names_;  // null when its block is over
  std::vector<Value*> named_;
  std::vector<std::vector<Value**>> scopes_{1};  // the definitions of each open block, in names_
  std::vector<Group> groups_;
  uint32_t highest_id_ = 0;
};

}  // namespace

std::shared_ptr<Graph> parse_graph(std::string_view text, const FindType& find) {
  SCONCE_CHECK_AS(value, text.size() < (size_t{1} << 30), "graph text of {} bytes is too long", text.size());
  TextCursor in(text);
  TypeNames names(find);
  names.note(text);
  const FindType finder = names.finder();
  Ranges ranges;
  in.skip_lines();
  std::shared_ptr<Graph> graph = GraphParser(in, finder, ranges, headers_of(text)).parse();
  in.skip_lines();
  if (!in.at_end()) in.expected("the end of the text");
  return graph;
}

}  // namespace sconce::ir
