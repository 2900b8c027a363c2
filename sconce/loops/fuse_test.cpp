#include "sconce/loops/fuse.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <sstream>

#include "sconce/dispatch/registry.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce::loops {
namespace {

// A graph from text, a line for each value:
//   x f32 1024 1024           an input, with its sizes
//   y = relu x                a pointwise operator of the table; numbers are parameters
//   s = softmax_row y         a row operator
//   z = opaque 8 8 : y x      a node of another kind; its sizes, then its inputs
//   out y z                   what is visible
struct Text {
  FuseGraph graph;
  std::deque<LoopCall> calls;  // stay where they are
  std::map<std::string, int32_t> names;

  int32_t add_value(const std::string& name, DType dtype, const Dims& sizes) {
    GraphValue v{dtype, sizes, Dims(sizes.size())};
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) v.strides[d] = stride;
    graph.values.push_back(v);
    return names[name] = static_cast<int32_t>(graph.values.size() - 1);
  }

  static Dims numbers(std::istream& in) {
    Dims sizes;
    for (int64_t n; in >> n;) sizes.push_back(n);
    in.clear();
    return sizes;
  }

  const PointwiseCase& last_case(const Op& op) {
    const auto cases = op.info.entry->pointwise();
    return cases[cases.size() - 1];  // the one for everything that is not special
  }

  void add_node(const std::string& name, const std::string& kind, std::istream& in) {
    GraphNode node;
    std::string word;
    if (kind == "opaque") {
      const Dims sizes = numbers(in);
      in >> word;  // the colon
      while (in >> word) node.inputs.push_back(names.at(word));
      node.outputs.push_back(add_value(name, DType::float32, sizes));
      graph.nodes.push_back(node);
      return;
    }
    if (kind == "softmax_row" || kind == "layer_norm_row") {
      while (in >> word) node.inputs.push_back(names.at(word));
      const GraphValue row = graph.values[static_cast<size_t>(node.inputs[0])];
      calls.push_back(make_row_call(kind[0] == 's' ? RowOp::softmax : RowOp::layer_norm, row.dtype, 1e-5));
      node.call = &calls.back();
      node.outputs.push_back(add_value(name, row.dtype, row.sizes));
      graph.nodes.push_back(node);
      return;
    }
    const Op* op = find_op("aten::" + kind);
    ASSERT_TRUE(op) << kind;
    const PointwiseCase& rule = last_case(*op);
    SmallVector<Param, 2> params;
    Dims sizes;
    DType common = DType::float32;
    while (in >> word) {
      if (!names.contains(word)) {
        params.push_back(Param::from_float(std::stod(word)));
        continue;
      }
      const GraphValue& v = graph.values[static_cast<size_t>(names[word])];
      if (node.inputs.empty()) common = v.dtype;
      node.inputs.push_back(names[word]);
      int64_t now = 1, then = 1;
      for (const int64_t s : v.sizes) now *= s;
      for (const int64_t s : sizes) then *= s;
      if (node.inputs.size() == 1 || now > then) sizes = v.sizes;
    }
    const DType result = rule.loops->result == LoopResult::boolean ? DType::bool_ : common;
    LoopCall call = make_call(*op, *rule.loops, common, result);
    while (params.size() < rule.loops->params) params.push_back(Param::from_int(1));
    call.params = params;
    calls.push_back(call);
    node.call = &calls.back();
    node.outputs.push_back(add_value(name, result, sizes));
    graph.nodes.push_back(node);
  }

  explicit Text(const std::string& source) {
    std::istringstream lines(source);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream in(line);
      std::string name, second;
      if (!(in >> name >> second)) continue;
      if (name == "out") {
        do {
          for (GraphNode& n : graph.nodes) n.visible |= n.outputs[0] == names.at(second);
        } while (in >> second);
      } else if (second == "=") {
        std::string kind;
        in >> kind;
        add_node(name, kind, in);
      } else {
        add_value(name, second == "bf16" ? DType::bfloat16 : DType::float32, numbers(in));
      }
    }
  }
};

std::string fused(const std::string& source) {
  const Text text(source);
  const std::vector<Group> schedule = fuse(text.graph);
  std::string out = to_string(text.graph, schedule);
  for (size_t g = 0; g < schedule.size(); ++g) {
    if (text.graph.nodes[static_cast<size_t>(schedule[g].nodes[0])].call == nullptr) continue;
    const BuiltNest built = build_nest(text.graph, schedule, g);
    check(built.nest);
    out += to_string(built.nest);
  }
  return out;
}

TEST(Fuse, GraphsHaveTheExpectedNests) {
  sconce::testing::check_golden_file(sconce::testing::source_path("sconce/loops/fuse.test"), fused);
}

// Every node runs after what it reads, whatever was fused.
TEST(Fuse, SchedulesOfRandomGraphsRespectTheirOrder) {
  uint32_t state = 1;
  const auto random = [&](uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
  };
  const char* const kinds[] = {"relu", "sigmoid", "neg", "mul.Tensor", "add.Tensor", "maximum"};
  for (int round = 0; round < 200; ++round) {
    std::string source = "v0 f32 64 256\nv1 f32 256\n";
    const int count = 3 + static_cast<int>(random(25));
    for (int k = 2; k < count; ++k) {
      const auto any = [&] { return "v" + std::to_string(random(static_cast<uint32_t>(k))); };
      const std::string name = "v" + std::to_string(k);
      if (random(5) == 0) {
        source += name + " = opaque 64 256 : " + any() + " " + any() + "\n";
      } else {
        const uint32_t kind = random(6);
        source += name + " = " + kinds[kind] + " " + any() + (kind >= 3 ? " " + any() : "") + "\n";
      }
      if (random(4) == 0) source += "out " + name + "\n";
    }
    source += "out v" + std::to_string(count - 1) + "\n";
    const Text text(source);
    const std::vector<Group> schedule = fuse(text.graph);
    std::vector<bool> written(text.graph.values.size(), false);
    std::vector<bool> ran(text.graph.nodes.size(), false);
    written[0] = written[1] = true;
    for (size_t g = 0; g < schedule.size(); ++g) {
      for (const int32_t n : schedule[g].nodes) ran[static_cast<size_t>(n)] = true;
      const GraphNode& first = text.graph.nodes[static_cast<size_t>(schedule[g].nodes[0])];
      if (first.call == nullptr) {
        for (const int32_t v : first.inputs) ASSERT_TRUE(written[static_cast<size_t>(v)]) << source;
        written[static_cast<size_t>(first.outputs[0])] = true;
        continue;
      }
      const BuiltNest built = build_nest(text.graph, schedule, g);
      if (!built.nest.stores.empty()) check(built.nest);
      for (size_t b = 0; b < built.values.size(); ++b) {
        if (!built.nest.buffers[b].written) {
          ASSERT_TRUE(written[static_cast<size_t>(built.values[b])]) << source << to_string(text.graph, schedule);
        }
      }
      for (size_t b = 0; b < built.values.size(); ++b) written[static_cast<size_t>(built.values[b])] = true;
    }
    for (size_t n = 0; n < ran.size(); ++n) {
      EXPECT_TRUE(ran[n]);
      if (!text.graph.nodes[n].visible) continue;
      EXPECT_TRUE(written[static_cast<size_t>(text.graph.nodes[n].outputs[0])]) << source;
    }
  }
}

}  // namespace
}  // namespace sconce::loops
