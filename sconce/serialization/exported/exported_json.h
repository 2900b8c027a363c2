// Schema of exported programs: the description of one (models/<name>.json of a .pt2 file) as checked structs.
//
// Every field is checked where it is read; an error names its place: "model.pt2: models/model.json:
// graph_module.graph.nodes[3].inputs[0].arg: ...". Only the form is checked here; the builder of the graph checks that
// names mean something.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/tensor/device.h"
#include "sconce/tensor/dtype.h"
#include "sconce/types/value.h"

namespace sconce::exported {

// Limits against hostile files; each has a clear error and a test.
inline constexpr size_t kMaxJsonBytes = 256u << 20;         // of one description
inline constexpr int kMaxGraphDepth = 50;                   // of graphs in graphs (branches, loop bodies)
inline constexpr int kMaxArgumentDepth = 20;                // of arguments in arguments
inline constexpr int kMaxTreeDepth = 100;                   // of containers in containers, in inputs and outputs
inline constexpr int kOldestSchema = 7, kNewestSchema = 8;  // major versions that can be read

struct Graph;

// A size, stride or offset: a number, or an expression over symbols ("Mul(Integer(2), Symbol('s0'))").
struct Size {
  std::optional<int64_t> number;
  std::string expression;  // when there is no number
};

struct TensorMeta {
  DType dtype = DType::float32;
  std::vector<Size> sizes, strides;
  Size offset;
  Device device;
  bool requires_grad = false;
};

struct Argument {
  enum class Kind : uint8_t {
    none,
    tensor,     // text: the name of a value
    sym_int,    // likewise
    sym_float,  // likewise
    sym_bool,   // likewise
    constant,   // value: int, float, bool, str, complex, Device
    dtype,      // value: its number in Sconce
    layout,
    memory_format,
    list,         // items
    graph,        // graph; text: its name
    op,           // text: "torch.ops.aten.add.Tensor"
    unsupported,  // custom objects, dicts: text says what
  };
  Kind kind = Kind::none;
  std::string text;
  Value value;
  std::vector<Argument> items;
  std::shared_ptr<const Graph> graph;

  bool is_name() const { return kind >= Kind::tensor && kind <= Kind::sym_bool; }
};

struct Node {
  std::string target;  // "torch.ops.aten.add.Tensor", "_operator.mul"
  std::vector<std::pair<std::string, Argument>> inputs;
  std::vector<Argument> outputs;
  std::string stack_trace, module_stack;  // empty if unknown
};

struct Graph {
  std::string place;  // "graph_module.graph", for messages
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, Size> sym_ints;
};

struct InputSpec {
  enum class Kind : uint8_t { user, constant, parameter, buffer, tensor_constant, token };
  Kind kind = Kind::user;
  Argument argument;       // of the user: the graph's input; of a constant: the constant
  std::string name;        // the graph's input
  std::string target;      // of a parameter, buffer, constant: its dotted name
  bool persistent = true;  // of a buffer
};

struct OutputSpec {
  enum class Kind : uint8_t { user, buffer_mutation, parameter_mutation, input_mutation, token };
  Kind kind = Kind::user;
  Argument argument;
  std::string target;  // the buffer's or parameter's name, the graph's input
};

// How inputs and outputs are put together: a pytree.
struct Tree {
  enum class Kind : uint8_t { leaf, tuple, named_tuple, list, dict };
  Kind kind = Kind::leaf;
  std::string name;                 // of a named tuple
  std::vector<std::string> fields;  // likewise
  std::vector<Value> keys;          // of a dict: str or int
  std::vector<Tree> children;
  size_t leaves() const;
};

struct Range {
  std::optional<int64_t> min, max;
};

struct Program {
  Graph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  Tree arguments;  // a tuple of two: positional ones (a tuple) and keywords (a dict)
  Tree results;
  std::vector<std::string> argument_names;            // may be fewer than there are
  std::vector<std::pair<std::string, Range>> ranges;  // by expression: "s0", "2*s0"
  std::vector<std::string> guards;                    // "L['x'].size()[0] > 3"
};

// Where the tensors of an archive are.
struct Payload {
  std::string name;  // "layers.0.weight"
  std::string file;  // "weight_0"
  bool is_parameter = false;
  bool is_pickled = false;
  std::optional<TensorMeta> meta;
};

// `name` is the name of the text in errors. Throw Error.
Program read_program(std::string_view json, const std::string& name);
std::vector<Payload> read_payloads(std::string_view json, const std::string& name);

}  // namespace sconce::exported
