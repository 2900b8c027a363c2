#include "sconce/serialization/exported/exported_json.h"

#include <algorithm>

#include "sconce/serialization/exported/exported_tree.h"
#include "sconce/serialization/file/json_fields.h"

namespace sconce::exported {
namespace {

using Json = JsonFields::Json;
using Kind = Argument::Kind;

// Names of values are Python identifiers.
bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

class Reader {
 public:
  explicit Reader(const std::string& name) : fields_(name), name_(name) {}

  Program program(std::string_view text) {
    if (text.size() > kMaxJsonBytes) fields_.wrong("has {} bytes; at most {} are read", text.size(), kMaxJsonBytes);
    const JsonDocument document = fields_.parse(text);
    const Json& json = document;
    Program p;
    fields_.in(json, "schema_version", [&](const Json& v) { check_version(v); });
    fields_.in(json, "graph_module", [&](const Json& module) { read_module(p, module); });
    fields_.each_member(json, "range_constraints", [&](const std::string& symbol, const Json& range) {
      p.ranges.emplace_back(symbol, read_range(range));
    });
    fields_.maybe(json, "guards_code", [&](const Json& guards) {
      fields_.items(guards, [&](const Json& guard) { p.guards.push_back(fields_.text(guard)); });
    });
    return p;
  }

  std::vector<Payload> payloads(std::string_view text) {
    if (text.size() > kMaxJsonBytes) fields_.wrong("has {} bytes; at most {} are read", text.size(), kMaxJsonBytes);
    std::vector<Payload> all;
    const JsonDocument document = fields_.parse(text);
    const Json& json = document;
    fields_.each_member(json, "config", [&](const std::string& key, const Json& j) {
      Payload p;
      p.name = key;
      p.file = fields_.text(j, "path_name");
      p.is_parameter = fields_.boolean(j, "is_param");
      p.is_pickled = fields_.boolean(j, "use_pickle");
      fields_.maybe(j, "tensor_meta", [&](const Json& meta) { p.meta = tensor_meta(meta); });
      all.push_back(std::move(p));
    });
    return all;
  }

 private:
  void check_version(const Json& version) {
    const int64_t major = fields_.integer(version, "major");
    if (major < kOldestSchema || major > kNewestSchema) {
      fields_.wrong("the program has schema version {}; versions {} to {} can be read", major, kOldestSchema,
                    kNewestSchema);
    }
  }

  void read_module(Program& p, const Json& module) {
    fields_.in(module, "graph", [&](const Json& j) { read_graph(p.graph, j, 0); });
    fields_.in(module, "signature", [&](const Json& signature) {
      fields_.each(signature, "input_specs", [&](const Json& j) { p.inputs.push_back(input_spec(j)); });
      fields_.each(signature, "output_specs", [&](const Json& j) { p.outputs.push_back(output_spec(j)); });
    });
    TupleFields tuples;
    fields_.maybe(module, "treespec_namedtuple_fields", [&](const Json& j) {
      fields_.members(j, [&](const std::string& name, const Json& tuple) {
        fields_.each(tuple, "field_names", [&](const Json& f) { tuples[name].push_back(fields_.text(f)); });
      });
    });
    bool has_root = false;
    fields_.each(module, "module_call_graph", [&](const Json& entry) {
      if (has_root || !fields_.text(entry, "fqn").empty()) return;
      has_root = true;
      fields_.in(entry, "signature", [&](const Json& signature) { read_calling_convention(p, signature, tuples); });
    });
    if (!has_root) fields_.wrong("module_call_graph has no entry for the module itself (fqn \"\")");
  }

  void read_calling_convention(Program& p, const Json& signature, const TupleFields& tuples) {
    const auto tree = [&](const char* key) {
      const std::string text = fields_.text(signature, key);
      return read_tree(text, name_ + ": " + fields_.place() + "." + key, tuples);
    };
    p.arguments = tree("in_spec");
    p.results = tree("out_spec");
    const std::vector<Tree>& parts = p.arguments.children;
    if (p.arguments.kind != Tree::Kind::tuple || parts.size() != 2 || parts[0].kind != Tree::Kind::tuple ||
        parts[1].kind != Tree::Kind::dict || (!parts[1].keys.empty() && !parts[1].keys[0].is_string())) {
      fields_.wrong("in_spec must be a tuple of positional arguments and a dict of keyword arguments");
    }
    fields_.maybe(signature, "forward_arg_names", [&](const Json& names) {
      fields_.items(names, [&](const Json& name) { p.argument_names.push_back(identifier(name)); });
    });
  }

  // ---- graphs ----

  void read_graph(Graph& g, const Json& json, int depth) {
    if (depth > kMaxGraphDepth) fields_.wrong("graphs are nested deeper than {}", kMaxGraphDepth);
    g.place = fields_.place();
    fields_.each(json, "inputs", [&](const Json& j) { g.inputs.push_back(argument(j, depth)); });
    fields_.each(json, "outputs", [&](const Json& j) { g.outputs.push_back(argument(j, depth)); });
    fields_.each(json, "nodes", [&](const Json& j) { g.nodes.push_back(node(j, depth)); });
    fields_.each_member(json, "tensor_values",
                        [&](const std::string& name, const Json& j) { g.tensors.emplace(name, tensor_meta(j)); });
    fields_.each_member(json, "sym_int_values",
                        [&](const std::string& name, const Json& j) { g.sym_ints.emplace(name, size(j)); });
  }

  Node node(const Json& json, int depth) {
    Node n;
    n.target = fields_.text(json, "target");
    fields_.each(json, "inputs", [&](const Json& input) {
      std::string name = fields_.text(input, "name");
      n.inputs.emplace_back(std::move(name),
                            fields_.in(input, "arg", [&](const Json& j) { return argument(j, depth); }));
    });
    fields_.each(json, "outputs", [&](const Json& j) { n.outputs.push_back(argument(j, depth)); });
    fields_.maybe(json, "metadata", [&](const Json& metadata) {
      fields_.maybe(metadata, "stack_trace", [&](const Json& j) { n.stack_trace = fields_.text(j); });
      fields_.maybe(metadata, "nn_module_stack", [&](const Json& j) { n.module_stack = fields_.text(j); });
    });
    return n;
  }

  // ---- arguments ----

  const std::string& identifier(const Json& json) {
    const std::string& name = fields_.text(json);
    if (!is_identifier(name)) fields_.wrong("'{}' is no name of a value", name);
    return name;
  }
  static Argument constant(Value v) {
    Argument a;
    a.kind = Kind::constant;
    a.value = std::move(v);
    return a;
  }
  static Argument number(Kind kind, Value v) {
    Argument a = constant(std::move(v));
    a.kind = kind;
    return a;
  }
  Argument named(Kind kind, const Json& name) {
    Argument a;
    a.kind = kind;
    a.text = identifier(name);
    return a;
  }
  // {"name": "x"}
  Argument tensor(const Json& json) {
    return fields_.in(json, "name", [&](const Json& j) { return named(Kind::tensor, j); });
  }
  // {"as_name": "s"} or the constant itself.
  Argument symbolic(Kind kind, const Json& json) {
    Argument a;
    fields_.only(json, [&](const std::string& key, const Json& j) {
      if (key == "as_name")
        a = named(kind, j);
      else if (key == "as_int")
        a = constant(fields_.integer(j));
      else if (key == "as_float")
        a = constant(fields_.real(j));
      else if (key == "as_bool")
        a = constant(fields_.boolean(j));
      else
        fields_.wrong("is no symbol");
    });
    return a;
  }
  Argument optional_tensor(const Json& json) {
    Argument a;
    fields_.only(json, [&](const std::string& key, const Json& j) {
      if (key == "as_tensor")
        a = tensor(j);
      else if (key != "as_none")
        fields_.wrong("is neither a tensor nor none");
    });
    return a;
  }
  template <class F>
  Argument list(const Json& json, F&& item) {
    Argument a;
    a.kind = Kind::list;
    fields_.items(json, [&](const Json& j) { a.items.push_back(item(j)); });
    return a;
  }
  Argument device(const Json& json) {
    std::string text = fields_.text(json, "type");
    fields_.maybe(json, "index", [&](const Json& index) { text += ":" + std::to_string(fields_.integer(index)); });
    return constant(parsed_device(text));
  }
  Device parsed_device(const std::string& text) {
    try {
      return parse_device(text);
    } catch (const Error& error) {
      fields_.wrong("{}", error.what());
    }
  }

  Argument argument(const Json& json, int depth, int nesting = 0) {
    if (nesting > kMaxArgumentDepth) fields_.wrong("arguments are nested deeper than {}", kMaxArgumentDepth);
    Argument a;
    fields_.only(json, [&](const std::string& kind, const Json& j) { a = argument_of(kind, j, depth); });
    return a;
  }

  Argument argument_of(const std::string& kind, const Json& j, int depth) {
    const auto is = [&](std::string_view name) { return kind == name; };
    const auto an_int = [&](const Json& i) { return constant(fields_.integer(i)); };
    const auto a_real = [&](const Json& i) { return constant(fields_.real(i)); };
    const auto a_bool = [&](const Json& i) { return constant(fields_.boolean(i)); };
    const auto a_text = [&](const Json& i) { return constant(fields_.text(i)); };
    const auto a_tensor = [&](const Json& i) { return tensor(i); };
    const auto symbols = [&](Kind k) { return list(j, [&](const Json& i) { return symbolic(k, i); }); };
    if (is("as_none")) return {};
    if (is("as_tensor")) return tensor(j);
    if (is("as_tensors")) return list(j, a_tensor);
    if (is("as_optional_tensor")) return optional_tensor(j);
    if (is("as_optional_tensors")) return list(j, [&](const Json& i) { return optional_tensor(i); });
    if (is("as_nested_tensors")) return list(j, [&](const Json& i) { return list(i, a_tensor); });
    if (is("as_int")) return an_int(j);
    if (is("as_ints")) return list(j, an_int);
    if (is("as_int_lists")) return list(j, [&](const Json& i) { return list(i, an_int); });
    if (is("as_float")) return a_real(j);
    if (is("as_floats")) return list(j, a_real);
    if (is("as_float_lists")) return list(j, [&](const Json& i) { return list(i, a_real); });
    if (is("as_bool")) return a_bool(j);
    if (is("as_bools")) return list(j, a_bool);
    if (is("as_string")) return a_text(j);
    if (is("as_strings")) return list(j, a_text);
    if (is("as_sym_int")) return symbolic(Kind::sym_int, j);
    if (is("as_sym_ints")) return symbols(Kind::sym_int);
    if (is("as_sym_float")) return symbolic(Kind::sym_float, j);
    if (is("as_sym_floats")) return symbols(Kind::sym_float);
    if (is("as_sym_bool")) return symbolic(Kind::sym_bool, j);
    if (is("as_sym_bools")) return symbols(Kind::sym_bool);
    if (is("as_scalar_type")) return number(Kind::dtype, Value(dtype(j)));
    if (is("as_layout")) return number(Kind::layout, Value(layout(j)));
    if (is("as_memory_format")) return number(Kind::memory_format, Value(memory_format(j)));
    if (is("as_device")) return device(j);
    if (is("as_complex")) {
      const auto part = [&](const char* key) {
        return fields_.in(j, key, [&](const Json& p) { return fields_.real(p); });
      };
      return constant(std::complex<double>(part("real"), part("imag")));
    }
    Argument a;
    if (is("as_graph")) {
      auto graph = std::make_shared<Graph>();
      a.kind = Kind::graph;
      a.text = fields_.text(j, "name");
      fields_.in(j, "graph", [&](const Json& g) { read_graph(*graph, g, depth + 1); });
      a.graph = std::move(graph);
      return a;
    }
    if (is("as_operator")) {
      a.kind = Kind::op;
      a.text = fields_.text(j);
      return a;
    }
    a.kind = Kind::unsupported;
    a.text = kind;
    if (is("as_custom_obj")) a.text = "object of class '" + fields_.text(j, "class_fqn") + "'";
    if (is("as_string_to_argument")) a.text = "dict of arguments";
    if (a.text == kind) fields_.wrong("is no kind of argument that is known");
    return a;
  }

  // ---- tensors ----

  // The format's own numbers; see ScalarType in the reference.
  DType dtype(const Json& json) {
    const int64_t number = fields_.integer(json);
    constexpr DType kNumbered[] = {DType::uint8,      DType::int8,    DType::int16,   DType::int32, DType::int64,
                                   DType::float16,    DType::float32, DType::float64, kComplex32,   DType::complex64,
                                   DType::complex128, DType::bool_,   DType::bfloat16};
    constexpr std::pair<int64_t, DType> kLater[] = {{28, DType::uint16},
                                                    {29, DType::float8_e4m3fn},
                                                    {30, DType::float8_e5m2},
                                                    {34, DType::uint32},
                                                    {35, DType::uint64}};
    if (number >= 1 && number <= 13 && kNumbered[number - 1] != kComplex32) return kNumbered[number - 1];
    for (const auto& [later, dtype] : kLater) {
      if (later == number) return dtype;
    }
    fields_.wrong("dtype number {} is not supported{}", number, other_dtype(number));
  }
  static const char* other_dtype(int64_t number) {
    switch (number) {
      case 9:
        return " (complex32)";
      case 31:
        return " (float8_e4m3fnuz)";
      case 32:
        return " (float8_e5m2fnuz)";
      case 33:
        return " (float8_e8m0fnu)";
      default:
        return "";
    }
  }
  Layout layout(const Json& json) {
    const int64_t number = fields_.integer(json);
    if (number != 7) fields_.wrong("layout number {} is not supported; 7 (strided) is", number);
    return Layout::strided;
  }
  MemoryFormat memory_format(const Json& json) {
    const int64_t number = fields_.integer(json);
    switch (number) {
      case 1:
        return MemoryFormat::contiguous;
      case 2:
        return MemoryFormat::channels_last;
      case 3:
        return MemoryFormat::channels_last_3d;
      case 4:
        return MemoryFormat::preserve;
      default:
        fields_.wrong("{} is no number of a memory format", number);
    }
  }

  Size size(const Json& json) {
    Size s;
    fields_.only(json, [&](const std::string& key, const Json& j) {
      if (key == "as_int")
        s.number = fields_.integer(j);
      else if (key == "as_expr")
        s.expression = fields_.text(j, "expr_str");
      else
        fields_.wrong("is neither a number nor an expression");
    });
    return s;
  }

  TensorMeta tensor_meta(const Json& json) {
    TensorMeta m;
    m.dtype = fields_.in(json, "dtype", [&](const Json& j) { return dtype(j); });
    fields_.in(json, "layout", [&](const Json& j) { return layout(j); });
    fields_.each(json, "sizes", [&](const Json& j) { m.sizes.push_back(size(j)); });
    fields_.each(json, "strides", [&](const Json& j) { m.strides.push_back(size(j)); });
    m.offset = fields_.in(json, "storage_offset", [&](const Json& j) { return size(j); });
    m.requires_grad = fields_.boolean(json, "requires_grad");
    m.device = fields_.in(json, "device", [&](const Json& j) { return device(j).value.to_device(); });
    return m;
  }

  Range read_range(const Json& json) {
    Range r;
    fields_.maybe(json, "min_val", [&](const Json& j) { r.min = fields_.integer(j); });
    fields_.maybe(json, "max_val", [&](const Json& j) { r.max = fields_.integer(j); });
    return r;
  }

  // ---- the signature ----

  InputSpec input_spec(const Json& json) {
    InputSpec spec;
    fields_.only(json, [&](const std::string& kind, const Json& j) {
      const auto lifted = [&](InputSpec::Kind k, const char* target) {
        spec.kind = k;
        spec.target = fields_.text(j, target);
        fields_.in(j, "arg", [&](const Json& a) { spec.argument = tensor(a); });
        spec.name = spec.argument.text;
      };
      if (kind == "user_input") {
        fields_.in(j, "arg", [&](const Json& a) { spec.argument = argument(a, 0); });
        spec.name = spec.argument.text;
      } else if (kind == "constant_input") {
        spec.kind = InputSpec::Kind::constant;
        fields_.in(j, "name", [&](const Json& n) { spec.name = identifier(n); });
        fields_.in(j, "value", [&](const Json& v) { spec.argument = argument(v, 0); });
      } else if (kind == "parameter") {
        lifted(InputSpec::Kind::parameter, "parameter_name");
      } else if (kind == "buffer") {
        lifted(InputSpec::Kind::buffer, "buffer_name");
        fields_.maybe(j, "persistent", [&](const Json& p) { spec.persistent = fields_.boolean(p); });
      } else if (kind == "tensor_constant") {
        lifted(InputSpec::Kind::tensor_constant, "tensor_constant_name");
      } else if (kind == "token") {
        spec.kind = InputSpec::Kind::token;
        fields_.in(j, "arg", [&](const Json& a) { spec.name = tensor(a).text; });
      } else if (kind == "custom_obj") {
        std::string class_name = "?";
        fields_.in(j, "arg", [&](const Json& a) {
          fields_.maybe(a, "class_fqn", [&](const Json& name) { class_name = fields_.text(name); });
        });
        fields_.wrong("holds an object of class '{}', custom objects are not supported", class_name);
      } else {
        fields_.wrong("inputs of this kind are not supported");
      }
    });
    return spec;
  }

  OutputSpec output_spec(const Json& json) {
    OutputSpec spec;
    fields_.only(json, [&](const std::string& kind, const Json& j) {
      const auto mutation = [&](OutputSpec::Kind k, const char* target) {
        spec.kind = k;
        spec.target = fields_.text(j, target);
        fields_.in(j, "arg", [&](const Json& a) { spec.argument = tensor(a); });
      };
      if (kind == "user_output")
        fields_.in(j, "arg", [&](const Json& a) { spec.argument = argument(a, 0); });
      else if (kind == "loss_output")
        fields_.in(j, "arg", [&](const Json& a) { spec.argument = tensor(a); });
      else if (kind == "buffer_mutation")
        mutation(OutputSpec::Kind::buffer_mutation, "buffer_name");
      else if (kind == "parameter_mutation")
        mutation(OutputSpec::Kind::parameter_mutation, "parameter_name");
      else if (kind == "user_input_mutation")
        mutation(OutputSpec::Kind::input_mutation, "user_input_name");
      else if (kind == "token")
        spec.kind = OutputSpec::Kind::token;
      else
        fields_.wrong("outputs of this kind are not supported");  // gradients
    });
    return spec;
  }

  JsonFields fields_;
  std::string name_;
};

}  // namespace

Program read_program(std::string_view json, const std::string& name) { return Reader(name).program(json); }
std::vector<Payload> read_payloads(std::string_view json, const std::string& name) {
  return Reader(name).payloads(json);
}

}  // namespace sconce::exported
