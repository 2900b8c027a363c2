// Exported programs that are wrong: each field is checked, and the message names its place. What right ones do is in
// tests/conformance/exported.
#include "sconce/serialization/exported/exported_program.h"

#include <gtest/gtest.h>

#include <numeric>

#include <nlohmann/json.hpp>

#include "sconce/api/jit.h"
#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/serialization/exported/exported_json.h"
#include "sconce/serialization/exported/exported_module.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using Json = nlohmann::json;

Json tensor_meta(std::initializer_list<int> sizes, std::initializer_list<int> strides) {
  Json meta = {{"dtype", 7},
               {"sizes", Json::array()},
               {"requires_grad", false},
               {"device", {{"type", "cpu"}, {"index", nullptr}}},
               {"strides", Json::array()},
               {"storage_offset", {{"as_int", 0}}},
               {"layout", 7}};
  for (int n : sizes) meta["sizes"].push_back({{"as_int", n}});
  for (int n : strides) meta["strides"].push_back({{"as_int", n}});
  return meta;
}

// Of one element, `{x}` is a list for g++ and a copy of x for clang: lists are said by Json::array.
Json named(const char* name) { return {{"as_tensor", {{"name", name}}}}; }

// forward(x) = x * w, both of size [s0 = 2 to 8] and [2].
Json program() {
  Json j;
  Json& module = j["graph_module"];
  Json& graph = module["graph"];
  graph["inputs"] = {named("p_w"), named("x")};
  graph["outputs"] = Json::array({named("mul")});
  graph["nodes"] = Json::array({{{"target", "torch.ops.aten.mul.Tensor"},
                                 {"inputs",
                                  {{{"name", "self"}, {"arg", named("x")}, {"kind", 1}},
                                   {{"name", "other"}, {"arg", named("p_w")}, {"kind", 1}}}},
                                 {"outputs", Json::array({named("mul")})},
                                 {"metadata", Json::object()}}});
  graph["tensor_values"]["p_w"] = tensor_meta({2}, {1});
  graph["tensor_values"]["x"] = tensor_meta({0, 2}, {2, 1});
  graph["tensor_values"]["x"]["sizes"][0] = {
      {"as_expr", {{"expr_str", "Symbol('s0', integer=True)"}, {"hint", nullptr}}}};
  graph["sym_int_values"] = Json::object();
  module["signature"]["input_specs"] = {{{"parameter", {{"arg", {{"name", "p_w"}}}, {"parameter_name", "inner.w"}}}},
                                        {{"user_input", {{"arg", named("x")}}}}};
  module["signature"]["output_specs"] = Json::array({{{"user_output", {{"arg", named("mul")}}}}});
  const char* leaf = R"({"type": null, "context": null, "children_spec": []})";
  const std::string tuple =
      std::string(R"({"type": "builtins.tuple", "context": "null", "children_spec": [)") + leaf + "]}";
  const std::string keywords = R"({"type": "builtins.dict", "context": "[]", "children_spec": []})";
  module["module_call_graph"] =
      Json::array({{{"fqn", ""},
                    {"signature",
                     {{"in_spec", R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [)" + tuple +
                                      ", " + keywords + "]}]"},
                      {"out_spec", std::string("[1, ") + leaf + "]"},
                      {"forward_arg_names", Json::array({"x"})}}}}});
  j["range_constraints"]["s0"] = {{"min_val", 2}, {"max_val", 8}};
  j["schema_version"] = {{"major", 8}, {"minor", 20}};
  j["guards_code"] = Json::array();
  return j;
}

Json weights() {
  return {{"config",
           {{"inner.w",
             {{"path_name", "weight_0"},
              {"is_param", true},
              {"use_pickle", false},
              {"tensor_meta", tensor_meta({2}, {1})}}}}}};
}

class ExportedProgram : public ::testing::Test {
 protected:
  Json program_ = program(), weights_ = weights();

  jit::Module load(const std::string& json) {
    const std::string path = folder_.file("m.pt2");
    FileWriter file(path);
    ZipWriter zip(file, "m");
    const float w[] = {3, 4};
    zip.add("data/weights/weight_0", std::as_bytes(std::span(w)));
    zip.add("data/weights/model_weights_config.json", weights_.dump());
    zip.add("models/model.json", json);
    zip.add("archive_format", std::string_view("pt2"));
    zip.finish();
    file.commit();
    Archive archive = load_exported_program(path);
    return jit::Module(std::move(archive.unit), std::move(archive.module));
  }
  jit::Module load() { return load(program_.dump()); }
  Json& graph() { return program_["graph_module"]["graph"]; }
  Json& node() { return graph()["nodes"][0]; }

  testing::TemporaryFolder folder_;
};

TEST_F(ExportedProgram, RunsAndChecksSizes) {
  const jit::Module module = load();
  Tensor x = empty_tensor({2, 2}, DType::float32);
  for (int i = 0; i < 4; ++i) x.data<float>()[i] = static_cast<float>(i);
  const Tensor y = module(x).to_tensor();
  EXPECT_EQ(y.data<float>()[3], 12);
  EXPECT_EQ(module.state_dict().at(0).first, "inner.w");
  EXPECT_ERROR(module(empty_tensor({9, 2}, DType::float32)),
               "input 'x': dimension 0 is 9, the program was exported for at most 8");
  EXPECT_ERROR(module(Value(3)), "Expected a value of type 'Tensor' for argument 'x'");
}

TEST_F(ExportedProgram, MayNotNameOperatorsOfTheLibrary) {
  node()["target"] = "torch.ops.sconce.cdist_direct.default";
  node()["inputs"].push_back({{"name", "p"}, {"arg", {{"as_float", 2.0}}}, {"kind", 1}});
  EXPECT_ERROR(load(), "sconce::cdist_direct");
  EXPECT_ERROR(load(), kHidden);
}

TEST_F(ExportedProgram, PlacesOfWrongFields) {
  EXPECT_ERROR(load("{"), "m.pt2: models/model.json: is not JSON");
  EXPECT_ERROR(load("[]"), "models/model.json: must be an object, is array");
  EXPECT_ERROR(load("{}"), "has no field 'schema_version'");
  program_["schema_version"]["major"] = 9;
  EXPECT_ERROR(load(), "schema_version: the program has schema version 9; versions 7 to 8 can be read");
  program_ = program();
  node()["inputs"][1]["arg"] = {{"as_tensor", {{"name", 5}}}};
  EXPECT_ERROR(load(), "graph_module.graph.nodes[0].inputs[1].arg.as_tensor.name: must be a text, is number");
  node()["inputs"][1]["arg"] = {{"as_tensor", {{"name", "a b"}}}};
  EXPECT_ERROR(load(), "'a b' is no name of a value");
  node()["inputs"][1]["arg"] = {{"as_frob", 1}};
  EXPECT_ERROR(load(), "nodes[0].inputs[1].arg.as_frob: is no kind of argument that is known");
  node()["inputs"][1]["arg"] = {{"as_int", 1}, {"as_float", 2.5}};
  EXPECT_ERROR(load(), "must have one field, has 'as_float' and 'as_int'");
  node()["inputs"][1]["arg"] = {{"as_int", 18446744073709551615u}};
  EXPECT_ERROR(load(), "must be an integer of 64 bits, is 18446744073709551615");
}

TEST_F(ExportedProgram, NodesThatMeanNothing) {
  node()["inputs"][1]["arg"] = named("y");
  EXPECT_ERROR(load(), "graph_module.graph.nodes[0] (torch.ops.aten.mul.Tensor): there is no value 'y'");
  program_ = program();
  node()["inputs"][1]["name"] = "frob";
  EXPECT_ERROR(load(), "has an argument 'frob', the operator is aten::mul.Tensor(Tensor self, Tensor other) -> Tensor");
  node()["inputs"][1]["name"] = "self";
  EXPECT_ERROR(load(), "has argument 'self' twice");
  node()["inputs"].erase(1);
  EXPECT_ERROR(load(), "has no argument 'other'");
  program_ = program();
  node()["inputs"][1]["arg"] = {{"as_string", "text"}};
  EXPECT_ERROR(load(), "is called with (Tensor, str)");
  node()["inputs"][1]["arg"] = named("p_w");
  node()["outputs"].push_back(named("other"));
  EXPECT_ERROR(load(), "has 2 outputs, the operator has 1");
  program_ = program();
  node()["outputs"][0] = named("x");
  EXPECT_ERROR(load(), "the value 'x' is defined twice");
  node()["outputs"][0] = {{"as_tensors", Json::array({{{"name", "a"}}})}};
  EXPECT_ERROR(load(), "has a list of outputs, and its result is of type Tensor");
}

TEST_F(ExportedProgram, MissingOperatorsAreListedTogether) {
  graph()["nodes"] = {node(), node(), node()};
  graph()["nodes"][0]["target"] = "torch.ops.aten.frobnicate.default";
  graph()["nodes"][1]["target"] = "torch.ops.mylib.thing.Tensor";
  graph()["nodes"][2]["target"] = "os.system";
  EXPECT_ERROR(
      load(),
      "the program calls operators that Sconce does not have:\n  aten::frobnicate\n  mylib::thing.Tensor\n  os.system");
}

TEST_F(ExportedProgram, SignaturesMustFit) {
  program_["graph_module"]["signature"]["input_specs"].erase(0);
  EXPECT_ERROR(load(), "the graph has 2 inputs, the signature 1");
  program_ = program();
  program_["graph_module"]["signature"]["output_specs"] = Json::array();
  EXPECT_ERROR(load(), "out_spec has 1 leaves, the signature has 0 outputs");
  program_ = program();
  program_["graph_module"]["signature"]["input_specs"][0]["parameter"]["parameter_name"] = "v";
  EXPECT_ERROR(load(), "m.pt2: there is no tensor 'v', an input of the program");
  program_ = program();
  program_["graph_module"]["signature"]["input_specs"][1] = {
      {"custom_obj", {{"arg", {{"name", "x"}, {"class_fqn", "__torch__.torch.classes.my.Queue"}}}}}};
  EXPECT_ERROR(
      load(),
      "signature.input_specs[1].custom_obj: holds an object of class '__torch__.torch.classes.my.Queue', custom "
      "objects are not supported");
  program_["graph_module"]["signature"]["input_specs"][1] = {{"oracle", {{"arg", {{"name", "x"}}}}}};
  EXPECT_ERROR(load(), "signature.input_specs[1].oracle: inputs of this kind are not supported");
  program_ = program();
  Json& call = program_["graph_module"]["module_call_graph"][0]["signature"];
  call["out_spec"] = R"([1, {"type": "mylib.Thing", "context": "null", "children_spec": []}])";
  EXPECT_ERROR(load(), "type: containers of type 'mylib.Thing' are not supported");
  call["out_spec"] = "[2, {}]";
  EXPECT_ERROR(load(), "has version 2; version 1 can be read");
  call["forward_arg_names"] = {"a-b"};
  call["out_spec"] = program()["graph_module"]["module_call_graph"][0]["signature"]["out_spec"];
  EXPECT_ERROR(load(), "forward_arg_names[0]: 'a-b' is no name of a value");
}

TEST_F(ExportedProgram, TensorsMustLieInTheirRecords) {
  Json& w = weights_["config"]["inner.w"];
  w["tensor_meta"] = tensor_meta({3}, {1});
  EXPECT_ERROR(load(), "m.pt2: tensor 'inner.w': ");
  w["tensor_meta"] = tensor_meta({2}, {-1});
  EXPECT_ERROR(load(), "m.pt2: tensor 'inner.w': ");
  w["tensor_meta"] = tensor_meta({2, 2}, {1});
  EXPECT_ERROR(load(), "m.pt2: tensor 'inner.w': ");
  w["tensor_meta"] = tensor_meta({2}, {1});
  w["tensor_meta"]["storage_offset"]["as_int"] = INT64_MAX;
  EXPECT_ERROR(load(), "m.pt2: tensor 'inner.w': ");
  w["tensor_meta"] = tensor_meta({2}, {1});
  w["tensor_meta"]["device"]["type"] = "cuda";
  EXPECT_ERROR(load(), "tensor 'inner.w' is on cuda; programs exported for the CPU can be read");
  w["tensor_meta"] = tensor_meta({2}, {1});
  w["tensor_meta"]["dtype"] = 31;
  EXPECT_ERROR(load(), "config.inner.w.tensor_meta.dtype: dtype number 31 is not supported (float8_e4m3fnuz)");
  w["tensor_meta"] = tensor_meta({2}, {1});
  w["path_name"] = "../x";
  EXPECT_ERROR(load(), "there is no record 'data/weights/../x' for tensor 'inner.w'");
}

TEST_F(ExportedProgram, PickledTensors) {
  weights_["config"]["inner.w"]["use_pickle"] = true;  // and the record is none
  EXPECT_ERROR(load(), "m.pt2: data/weights/weight_0");
}

TEST_F(ExportedProgram, NamesOfTensorsMakeModules) {
  Json& config = weights_["config"];
  config["inner"] = config["inner.w"];
  EXPECT_ERROR(load(), "is a tensor and has more inside");
  config.erase("inner");
  config["a..b"] = config["inner.w"];
  EXPECT_ERROR(load(), "'a..b' is no name of a tensor");
  config.erase("a..b");
  std::string deep = "a";
  for (int i = 0; i <= exported::kMaxModuleDepth; ++i) deep += ".a";
  config[deep] = config["inner.w"];
  EXPECT_ERROR(load(), "modules are nested deeper than 100");
}

TEST_F(ExportedProgram, Limits) {
  std::string deep = R"({"type": null, "context": null, "children_spec": []})";
  for (int i = 0; i <= exported::kMaxTreeDepth; ++i) {
    deep = R"({"type": "builtins.list", "context": "null", "children_spec": [)" + deep + "]}";
  }
  program_["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = "[1, " + deep + "]";
  EXPECT_ERROR(load(), "is nested deeper than 100");
  program_ = program();
  Json inner = graph();
  for (int i = 0; i <= exported::kMaxGraphDepth; ++i) {
    Json outer = graph();
    outer["nodes"][0]["inputs"][0]["arg"] = {{"as_graph", {{"name", "g"}, {"graph", inner}}}};
    inner = outer;
  }
  graph() = inner;
  EXPECT_ERROR(load(), "graphs are nested deeper than 50");
  EXPECT_ERROR(load(std::string(1'000'000, '[')), "is not JSON");
  EXPECT_ERROR(exported::read_program(std::string(exported::kMaxJsonBytes + 1, ' '), "big"),
               "at most 268435456 are read");
}

TEST_F(ExportedProgram, HigherOrderOperatorsAreRefusedByName) {
  node()["target"] = "torch.ops.higher_order.flex_attention";
  EXPECT_ERROR(load(), "the higher-order operator 'flex_attention' is not supported");
  node()["target"] = "torch.ops.higher_order.cond";
  EXPECT_ERROR(load(), "argument 1 must be a graph");
}

Json vmap_node(const char* function, std::initializer_list<Json> arguments, const char* result = nullptr) {
  Json node = {{"target", std::string("torch._functorch.predispatch.") + function},
               {"inputs", Json::array()},
               {"outputs", Json::array({result ? named(result) : Json{{"as_none", true}}})},
               {"metadata", Json::object()}};
  for (const Json& argument : arguments) node["inputs"].push_back({{"name", ""}, {"arg", argument}, {"kind", 1}});
  return node;
}

Json number(int n) { return {{"as_int", n}}; }

// forward(x) = vmap(lambda row: row * w)(x), for two rows
void map_rows(Json& graph) {
  Json product = graph["nodes"][0];
  product["inputs"][0]["arg"] = named("row");
  product["outputs"] = Json::array({named("scaled")});
  graph["tensor_values"]["row"] = graph["tensor_values"]["scaled"] = tensor_meta({2}, {1});
  graph["tensor_values"]["mul"] = tensor_meta({2, 2}, {2, 1});
  graph["nodes"] = {vmap_node("_vmap_increment_nesting", {number(2), {{"as_string", "error"}}}),
                    vmap_node("_add_batch_dim", {named("x"), number(0), number(1)}, "row"), product,
                    vmap_node("_remove_batch_dim", {named("scaled"), number(1), number(2), number(0)}, "mul"),
                    vmap_node("_vmap_decrement_nesting", {})};
}

TEST_F(ExportedProgram, RowsAreMapped) {
  map_rows(graph());
  Tensor x = empty_tensor({2, 2}, DType::float32);
  std::iota(static_cast<float*>(x.data()), static_cast<float*>(x.data()) + 4, 1.0f);
  const Tensor rows = load()(x).to_tensor();
  const auto* y = static_cast<const float*>(rows.data());
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{3, 8, 9, 16}));
}

TEST_F(ExportedProgram, MapsThatCannotBe) {
  map_rows(graph());
  const Json good = graph()["nodes"];
  const auto refused = [&](const auto& change) {
    graph()["nodes"] = good;
    change(graph()["nodes"]);
    return testing::error_of([&] { load(); });
  };
  const auto says = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), message.npos) << message;
  };
  says(refused([](Json& n) { n.erase(4); }), "graph_module.graph: 1 vmaps are open at its end");
  says(refused([](Json& n) { n.push_back(n[4]); }), "leaves a vmap, and none is open");
  says(refused([](Json& n) { n[1]["inputs"][2]["arg"] = number(2); }),
       "takes dimension 0 for level 2, and 1 vmaps are open");
  says(refused([](Json& n) { n[3]["inputs"][1]["arg"] = number(3); }), "gives level 3 back, and 1 vmaps are open");
  says(refused([](Json& n) { n[3]["inputs"][3]["arg"] = number(2); }), "puts the rows into dimension 2 of 2");
  says(refused([](Json& n) { std::swap(n[3], n[4]); }), "gives level 1 back, and 0 vmaps are open");
  says(refused([](Json& n) { std::swap(n[2], n[4]); }), "there is no value 'scaled'");
  says(refused([](Json& n) {
         n[2]["target"] = "torch.ops.aten.mul_.Tensor";
         n[2]["inputs"][0]["arg"] = named("p_w");
         n[2]["inputs"][1]["arg"] = named("row");
       }),
       "vmap: inplace arithmetic(self, *extra_args) is not possible");
  says(refused([](Json& n) {
         n[2]["target"] = "torch.ops.aten.bernoulli.default";
         n[2]["inputs"].erase(1);
       }),
       "aten::bernoulli draws random numbers inside of a vmap (randomness 'error'): not supported");
  says(refused([](Json& n) {
         n[2]["target"] = "torch.ops.aten.item.default";
         n[2]["inputs"].erase(1);
       }),
       "aten::item gives a number inside of a vmap: not supported");
  says(refused([](Json& n) {
         n[2]["target"] = "torch.ops.higher_order.scan";
         n[2]["inputs"] = Json::array({{{"name", ""}, {"arg", named("row")}, {"kind", 1}}});
       }),
       "inside of a vmap is not supported: 'row' differs from row to row");
}

TEST_F(ExportedProgram, GuardsAndRangesAreChecked) {
  program_["guards_code"] = {"L['x'].size()[0] != 5"};
  const jit::Module module = load();
  EXPECT_ERROR(module(empty_tensor({5, 2}, DType::float32)), "the program was exported for inputs with x.size(0) != 5");
  program_["guards_code"] = {"L['y'].size()[0] != 5"};
  EXPECT_ERROR(load(), "the expression mentions 'y', which no input has");
  program_["guards_code"] = {"frob(L['x'])"};
  EXPECT_ERROR(load(), "the expression 'frob(L['x'])' has a part that is not supported: 'frob'");
  program_["guards_code"] = {"L['x'].size()[0] + 1"};
  EXPECT_ERROR(load(), "the guard 'L['x'].size()[0] + 1' is no condition");
}

}  // namespace
}  // namespace sconce
