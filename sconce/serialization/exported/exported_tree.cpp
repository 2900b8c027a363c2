#include "sconce/serialization/exported/exported_tree.h"

#include "sconce/serialization/file/json_fields.h"

namespace sconce::exported {
namespace {

using Json = JsonFields::Json;

class TreeReader {
 public:
  TreeReader(const std::string& name, const TupleFields& tuples) : fields_(name), name_(name), tuples_(tuples) {}

  Tree read(std::string_view text) {
    const JsonDocument document = fields_.parse(text);
    const Json& json = document;
    if (!json.is_array() || json.size() != 2) fields_.wrong("must be a list of a version and a tree");
    const int64_t version = fields_.integer(json[0]);
    if (version != 1) fields_.wrong("has version {}; version 1 can be read", version);
    return tree(json[1], 0);
  }

 private:
  Tree tree(const Json& json, int depth) {
    if (depth > kMaxTreeDepth) fields_.wrong("is nested deeper than {}", kMaxTreeDepth);
    Tree t;
    fields_.each(json, "children_spec", [&](const Json& child) { t.children.push_back(tree(child, depth + 1)); });
    fields_.in(json, "type", [&](const Json& type) {
      if (!type.is_null()) set_kind(t, fields_.text(type), json);
    });
    if (t.kind == Tree::Kind::leaf && !t.children.empty()) fields_.wrong("a leaf has children");
    if (t.kind == Tree::Kind::dict && t.keys.size() != t.children.size()) {
      fields_.wrong("a dict has {} keys and {} values", t.keys.size(), t.children.size());
    }
    if (t.kind == Tree::Kind::named_tuple && t.fields.size() != t.children.size()) {
      fields_.wrong("named tuple '{}' has {} fields and {} values", t.name, t.fields.size(), t.children.size());
    }
    return t;
  }

  void set_kind(Tree& t, const std::string& type, const Json& json) {
    const auto is = [&](std::string_view a) { return type == a; };
    if (is("builtins.tuple") || is("torch.Size")) {
      t.kind = Tree::Kind::tuple;
    } else if (is("builtins.list") || is("collections.deque") || is("torch.fx.immutable_collections.immutable_list")) {
      t.kind = Tree::Kind::list;
    } else if (is("builtins.dict") || is("collections.OrderedDict") ||
               is("torch.fx.immutable_collections.immutable_dict")) {
      t.kind = Tree::Kind::dict;
      read_keys(t, context(json));
    } else if (is("collections.defaultdict")) {
      t.kind = Tree::Kind::dict;
      const JsonDocument document = context(json);
      const Json& inner = document;
      if (!inner.is_object() || !inner.contains("dict_context")) fields_.wrong("the context of a defaultdict is wrong");
      read_keys(t, inner["dict_context"]);
    } else if (is("collections.namedtuple")) {
      t.kind = Tree::Kind::named_tuple;
      read_named_tuple(t, json);
    } else {
      fields_.wrong("containers of type '{}' are not supported", type);
    }
  }

  // A text that holds JSON again.
  JsonDocument context(const Json& json) {
    const std::string text = fields_.text(json, "context");
    return JsonFields(name_ + ": " + fields_.place() + ".context").parse(text);
  }

  void read_keys(Tree& t, const Json& keys) {
    if (!keys.is_array()) fields_.wrong("the keys of a dict must be a list");
    for (const Json& key : keys) {
      if (key.is_string())
        t.keys.emplace_back(key.get_ref<const std::string&>());
      else if (key.is_number_integer())
        t.keys.emplace_back(fields_.integer(key));
      else
        fields_.wrong("keys of a dict must be texts or integers, got {}", key.dump());
      if (t.keys.back().tag() != t.keys.front().tag()) fields_.wrong("keys of a dict must be of one type");
    }
  }

  // The context is the name of the type, as a text or as JSON of a text.
  void read_named_tuple(Tree& t, const Json& json) {
    t.name = fields_.text(json, "context");
    if (t.name.starts_with('"')) t.name = fields_.text(context(json));
    const auto found = tuples_.find(t.name);
    if (found == tuples_.end()) fields_.wrong("the fields of named tuple '{}' are not known", t.name);
    t.fields = found->second;
  }

  JsonFields fields_;
  const std::string& name_;
  const TupleFields& tuples_;
};

}  // namespace

size_t Tree::leaves() const {
  if (kind == Kind::leaf) return 1;
  size_t n = 0;
  for (const Tree& child : children) n += child.leaves();
  return n;
}

Tree read_tree(std::string_view json, const std::string& name, const TupleFields& fields) {
  return TreeReader(name, fields).read(json);
}

}  // namespace sconce::exported
