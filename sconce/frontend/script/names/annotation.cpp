// Annotations to types.
#include <fmt/format.h>

#include <algorithm>

#include "sconce/frontend/script/names/names.h"
#include "sconce/frontend/script/names/namespaces.h"
#include "sconce/syntax/parser.h"

namespace sconce::script {
namespace {

using syntax::as;

struct SimpleName {
  std::string_view name;
  TypePtr (*type)();
};
TypePtr int_list() { return list_type(int_type()); }
template <TypeKind kKind>
TypePtr kind_type() {
  return simple_type(kKind);
}
constexpr SimpleName kSimple[] = {
    {"Tensor", tensor_type},
    {"int", int_type},
    {"float", float_type},
    {"complex", complex_type},
    {"bool", bool_type},
    {"str", string_type},
    {"number", number_type},
    {"Any", any_type},
    {"None", none_type},
    {"NoneType", none_type},
    {"Device", device_type},
    {"device", device_type},
    {"Generator", generator_type},
    {"Stream", kind_type<TypeKind::stream>},
    {"Capsule", kind_type<TypeKind::capsule>},
    {"PyObject", kind_type<TypeKind::py_object>},
    {"AnyClassType", kind_type<TypeKind::any_class>},
    {"AnyEnumType", kind_type<TypeKind::any_enum>},
    {"list", kind_type<TypeKind::any_list>},
    {"tuple", kind_type<TypeKind::any_tuple>},
    // numbers by another name
    {"dtype", int_type},
    {"layout", int_type},
    {"memory_format", int_type},
    {"qscheme", int_type},
    {"Size", int_list},
    // classes of tensors
    {"FloatTensor", tensor_type},
    {"LongTensor", tensor_type},
    {"Parameter", tensor_type},
};
// Prefixes of names that mean the same without them.
constexpr std::string_view kPrefixes[] = {"torch.nn.parameter.",
                                          "torch.nn.",
                                          "torch.jit.",
                                          "torch.futures.",
                                          "torch._C.",
                                          "torch.cuda.",
                                          "torch.",
                                          "typing.",
                                          "typing_extensions.",
                                          "torch._jit_internal.",
                                          "t."};
constexpr std::string_view kConstructors[] = {"List",  "list",   "Dict", "dict",  "Tuple", "tuple",    "Optional",
                                              "Union", "Future", "RRef", "Await", "Final", "ClassVar", "Annotated"};

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix) && name.find('.', prefix.size()) == std::string_view::npos)
      return name.substr(prefix.size());
  }
  return name;
}

bool is_constructor(std::string_view name) {
  return std::find(std::begin(kConstructors), std::end(kConstructors), name) != std::end(kConstructors);
}

class Reader {
 public:
  explicit Reader(Resolver& resolver) : resolver_(resolver) {}

  TypePtr read(syntax::ExprPtr e) {
    if (const auto* constant = as<syntax::Constant>(e)) return read_constant(*constant);
    if (const auto* subscript = as<syntax::Subscript>(e)) return read_subscript(*subscript);
    if (const auto* binary = as<syntax::Binary>(e); binary && binary->op == syntax::Operator::bit_or) {
      return union_type({read(binary->left), read(binary->right)});
    }
    const std::string name = syntax::dotted_name(e);
    if (name.empty()) refuse(e->range, "Expression of this kind cannot be used in a type annotation");
    return read_name(e->range, name);
  }

 private:
  TypePtr read_constant(const syntax::Constant& c) {
    if (c.literal == syntax::Constant::Literal::none) return none_type();
    if (c.literal != syntax::Constant::Literal::string)
      refuse(c.range, "Expression of type const cannot be used in a type expression");
    // The text of a quoted annotation is a program of its own; errors are shown where it stands.
    try {
      const syntax::ParsedExpr parsed = syntax::parse_expression(std::make_shared<Source>("annotation", c.string));
      return read(parsed.expr);
    } catch (const CompileError& error) {
      refuse(c.range, "{}", error.reason());
    }
  }

  TypePtr read_name(const Range& at, const std::string& name) {
    if (TypePtr found = resolver_.find_type(name)) return found;
    if (name.starts_with("torch.classes.")) return require_custom_class(at, name);
    const std::string full = resolver_.full_name(name);
    const std::string_view plain = without_prefix(full);
    if (is_constructor(plain) && plain != "list" && plain != "tuple") {
      const std::string_view example = plain == "Dict" || plain == "dict" ? "Dict[str, int]"
                                       : plain == "Tuple"                 ? "Tuple[int, str]"
                                       : plain == "Optional"              ? "Optional[int]"
                                       : plain == "Union"                 ? "Union[int, str]"
                                       : plain == "Future"                ? "Future[int]"
                                                                          : "List[int]";
      refuse(at, "Attempted to use {} without a contained type. Please add a contained type, e.g. {}", plain, example);
    }
    for (const SimpleName& entry : kSimple) {
      if (entry.name == plain) return entry.type();
    }
    std::vector<std::string> known = resolver_.known_names();
    for (const SimpleName& entry : kSimple) known.emplace_back(entry.name);
    for (const std::string_view c : kConstructors) known.emplace_back(c);
    refuse(at, "Unknown type name '{}'{}", name, did_you_mean(name, known));
  }

  TypePtr read_subscript(const syntax::Subscript& s) {
    const std::string full = resolver_.full_name(syntax::dotted_name(s.value));
    const std::string_view name = without_prefix(full);
    const auto one = [&] {
      if (s.indices.size() != 1) {
        refuse(s.range, "expected exactly one element type but found {}", s.indices.size());
      }
      return read(s.indices[0]);
    };
    if (name == "List" || name == "list") return list_type(one());
    if (name == "Optional") return optional_type(one());
    if (name == "Future") return future_type(one());
    if (name == "RRef") return rref_type(one());
    if (name == "Await" || name == "_Await") return await_type(one());
    if (name == "Final" || name == "ClassVar") return one();
    if (name == "Annotated" && !s.indices.empty()) return read(s.indices[0]);
    if (name == "Union") return union_type(several(s));
    if (name == "Tuple" || name == "tuple") return read_tuple(s);
    if (name == "Dict" || name == "dict" || name == "OrderedDict") {
      if (s.indices.size() != 2) refuse(s.range, "expected exactly 2 element types but found {}", s.indices.size());
      return dict(s.indices[0]->range, read(s.indices[0]), read(s.indices[1]));
    }
    refuse(s.range, "Unknown type constructor {}", full.empty() ? std::string_view("of this kind") : full);
  }

  std::vector<TypePtr> several(const syntax::Subscript& s) {
    std::vector<TypePtr> types;
    for (syntax::ExprPtr e : s.indices) types.push_back(read(e));
    return types;
  }

  TypePtr read_tuple(const syntax::Subscript& s) {
    if (s.indices.size() == 1) {
      if (const auto* literal = as<syntax::TupleExpr>(s.indices[0])) {
        if (!literal->items.empty()) {
          refuse(literal->items[0]->range, "Tuple literal in Tuple type annotation must not have any elements!");
        }
        return tuple_type({});
      }
    }
    return tuple_type(several(s));
  }

  static TypePtr dict(const Range& at, TypePtr key, TypePtr value) {
    switch (key->kind()) {
      case TypeKind::int_:
      case TypeKind::float_:
      case TypeKind::complex:
      case TypeKind::bool_:
      case TypeKind::string:
      case TypeKind::tensor:
      case TypeKind::device:
      case TypeKind::any:
      case TypeKind::enum_:
      case TypeKind::variable:
        return dict_type(key, value);
      default:
        refuse(at,
               "Cannot create dict for key type '{}', only int, float, complex, Tensor, device and string keys are "
               "supported",
               key->annotation());
    }
  }

  Resolver& resolver_;
};

// BroadcastingList2[int] or int[2]: the element expression and the size.
std::optional<std::pair<syntax::ExprPtr, int32_t>> broadcasting(syntax::ExprPtr e) {
  const auto* s = as<syntax::Subscript>(e);
  if (!s || s->indices.size() != 1) return std::nullopt;
  const std::string full = syntax::dotted_name(s->value);
  std::string_view name = full;
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  constexpr std::string_view kName = "BroadcastingList";
  if (name.starts_with(kName) && name.size() == kName.size() + 1 && name.back() >= '1' && name.back() <= '9') {
    return {{s->indices[0], name.back() - '0'}};
  }
  const auto* size = as<syntax::Constant>(s->indices[0]);
  if (size && size->literal == syntax::Constant::Literal::integer && size->integer > 0 && size->integer < 1000) {
    return {{s->value, static_cast<int32_t>(size->integer)}};
  }
  return std::nullopt;
}

// Optional[BroadcastingList2[int]]: the type inside.
syntax::ExprPtr inside_optional(syntax::ExprPtr e) {
  const auto* s = as<syntax::Subscript>(e);
  if (!s || s->indices.size() != 1 || without_prefix(syntax::dotted_name(s->value)) != "Optional") return nullptr;
  return s->indices[0];
}

}  // namespace

TypePtr resolve_annotation(syntax::ExprPtr annotation, Resolver& resolver) {
  Reader reader(resolver);
  if (const auto list = broadcasting(annotation)) return list_type(reader.read(list->first));
  if (const auto list = broadcasting(inside_optional(annotation)))
    return optional_type(list_type(reader.read(list->first)));
  return reader.read(annotation);
}

std::optional<int32_t> broadcasting_size(syntax::ExprPtr annotation) {
  if (const auto list = broadcasting(annotation)) return list->second;
  if (const auto list = broadcasting(inside_optional(annotation))) return list->second;
  return std::nullopt;
}

}  // namespace sconce::script
