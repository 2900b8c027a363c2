#include "sconce/serialization/exported/exported_program.h"

#include <algorithm>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/ir/verifier.h"
#include "sconce/serialization/exported/exported_call.h"
#include "sconce/serialization/exported/exported_json.h"
#include "sconce/serialization/exported/exported_module.h"
#include "sconce/serialization/exported/exported_nodes.h"
#include "sconce/serialization/exported/exported_weights.h"
#include "sconce/serialization/exported/number_calls.h"
#include "sconce/serialization/file/load_budget.h"

namespace sconce {
namespace {

using namespace exported;

constexpr std::string_view kModels = "models/", kJson = ".json";
constexpr const char* kOldProgram = "serialized_exported_program.json";

// The model of the archive: "model", as torch.export.save calls it, or the only one.
std::string model_name(const Records& records) {
  std::vector<std::string> names;
  const std::string folder = std::string(records.folder()) + std::string(kModels);
  for (const ZipReader::Record& record : records.zip().records()) {
    if (!record.name.starts_with(folder) || !record.name.ends_with(kJson)) continue;
    names.emplace_back(record.name.substr(folder.size(), record.name.size() - folder.size() - kJson.size()));
  }
  const auto& all_records = records.zip().records();
  const bool compiled = std::any_of(all_records.begin(), all_records.end(), [](const ZipReader::Record& r) {
    return r.name.find("/data/aotinductor/") != r.name.npos;
  });
  SCONCE_CHECK(!names.empty() || !compiled,
               "{}: is a package of AOTInductor, machine code without a graph; save the exported program itself by "
               "torch.export.save(...)",
               records.name());
  SCONCE_CHECK(!names.empty(), "{}: is no exported program: it has no record 'models/model.json'", records.name());
  if (std::find(names.begin(), names.end(), "model") != names.end()) return "model";
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  SCONCE_CHECK(names.size() == 1, "{}: has several models ({}), none of them called 'model'", records.name(), all);
  return names[0];
}

// Parameters, buffers and constants as inputs of the graph, copied back where the program changes them.
class ForwardBuilder {
 public:
  ForwardBuilder(const Program& program, const ModuleTree& modules, ir::CompilationUnit& unit, const std::string& file)
      : program_(program),
        modules_(modules),
        unit_(unit),
        graph_(std::make_shared<ir::Graph>()),
        nodes_(*graph_, file) {}

  void build(ir::Function& forward) {
    check_inputs();
    ir::Value* self = graph_->add_input(modules_.type(), "self");
    Schema schema;
    schema.name = forward.name();
    schema.arguments.emplace_back();
    schema.arguments[0].name = "self";
    schema.arguments[0].type = modules_.type();
    for (Argument_& a : insert_inputs(*graph_, program_, nodes_, names_, unit_))
      schema.arguments.push_back(std::move(a));
    insert_attributes(self);
    nodes_.insert_nodes(program_.graph, names_);
    insert_mutations();
    ir::Value* result = insert_result(*graph_, program_, nodes_, names_, unit_);
    graph_->add_output(result);
    schema.returns.emplace_back();
    schema.returns[0].type = result->type();
    drop_unused();
    ir::verify(*graph_);
    forward.set_schema(std::move(schema));
    forward.set_graph(graph_);
    forward.set_self_type(modules_.type());
  }

 private:
  using Argument_ = sconce::Argument;

  // The signature gives the role of each input of the graph.
  void check_inputs() const {
    const std::vector<exported::Argument>& inputs = program_.graph.inputs;
    SCONCE_CHECK(inputs.size() == program_.inputs.size(), "the graph has {} inputs, the signature {}", inputs.size(),
                 program_.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      SCONCE_CHECK(!inputs[i].is_name() || inputs[i].text == program_.inputs[i].name,
                   "input {} of the graph is '{}', of the signature '{}'", i, inputs[i].text, program_.inputs[i].name);
    }
  }

  void insert_attributes(ir::Value* self) {
    for (const InputSpec& spec : program_.inputs) {
      if (spec.kind == InputSpec::Kind::token) {
        nodes_.define(names_, spec.name, graph_->insert_constant(Value(), {}, none_type()));
      }
      if (spec.target.empty()) continue;
      ir::Value* v = modules_.insert_get(*graph_, self, spec.target);
      nodes_.define(names_, spec.name, v);
      lifted_.push_back(v);
      attributes_.emplace(spec.target, v);
    }
  }

  // New values of buffers and inputs are written there in the end.
  void insert_mutations() {
    for (const OutputSpec& spec : program_.outputs) {
      if (spec.kind == OutputSpec::Kind::user || spec.kind == OutputSpec::Kind::token) continue;
      const bool is_input = spec.kind == OutputSpec::Kind::input_mutation;
      const auto& places = is_input ? names_ : attributes_;
      const auto place = places.find(spec.target);
      SCONCE_CHECK(place != places.end(), "the program changes '{}', which it does not have", spec.target);
      ir::Value* v = nodes_.value_of(spec.argument, names_);
      insert_call(*graph_, "aten::copy_", {place->second, v, graph_->insert_constant(Value(false))});
    }
  }

  void drop_unused() {
    for (auto v = lifted_.rbegin(); v != lifted_.rend(); ++v) {
      for (ir::Node* node = (*v)->node(); node->is(ir::kind::GetAttr) && !node->output()->has_uses();) {
        ir::Node* owner = node->input()->node();
        node->destroy();
        node = owner;
      }
    }
  }

  const Program& program_;
  const ModuleTree& modules_;
  ir::CompilationUnit& unit_;
  std::shared_ptr<ir::Graph> graph_;
  NodeBuilder nodes_;
  NodeBuilder::Names names_, attributes_;
  std::vector<ir::Value*> lifted_;
};

// The parts that the layouts have in common.
struct ExportedFile {
  std::string record, json;  // the program
  Weights weights;
  int version = 0;
  std::vector<std::pair<std::string, std::string>> extra_files;
};

std::vector<std::pair<std::string, std::string>> records_in(const ZipReader& zip, const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const ZipReader::Record& r : zip.records()) {
    if (r.name.starts_with(folder)) found.emplace_back(r.name.substr(folder.size()), zip.read(r));
  }
  return found;
}

// PyTorch 2.1 to 2.7: records at the top of the zip file.
ExportedFile read_old_file(const ZipReader& zip) {
  const std::string& name = zip.file()->name();
  const auto read = [&](const char* record) {
    const ZipReader::Record* found = zip.find(record);
    SCONCE_CHECK(found, "{}: there is no record '{}'", name, record);
    return zip.read(*found);
  };
  ExportedFile file;
  file.record = kOldProgram;
  file.json = read(kOldProgram);
  file.weights = read_pickled_weights(read("serialized_state_dict.pt"), read("serialized_constants.pt"), name);
  file.extra_files = records_in(zip, "extra_files/");
  return file;
}

Archive build(const ExportedFile& file, const std::string& name) {
  const Program program = read_program(file.json, name + ": " + file.record);
  const std::vector<std::string> missing = missing_operators(program.graph);
  if (!missing.empty()) {
    std::string all;
    for (const std::string& op : missing) all += "\n  " + op;
    fail("{}: the program calls operators that Sconce does not have:{}", name, all);
  }
  Archive archive;
  archive.version = file.version;
  archive.extra_files = file.extra_files;
  archive.unit = std::make_shared<ir::CompilationUnit>();
  ModuleTree modules(program, file.weights, *archive.unit, name);
  archive.module = modules.root();
  ir::Function& forward = archive.unit->add_function(modules.type()->name() + ".forward");
  try {
    ForwardBuilder(program, modules, *archive.unit, name).build(forward);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal || std::string_view(error.what()).starts_with(name)) throw;
    fail("{}: {}: {}", name, file.record, error.what());
  }
  modules.add_method("forward", forward);
  return archive;
}

}  // namespace

Archive load_exported_program(const std::string& path) { return load_exported_program(FileBytes::map(path)); }

Archive load_exported_program(FileBytesPtr file, const LoadOptions& options) {
  const BudgetScope scope(load_budget(*file, options.limits));
  const std::string& name = file->name();
  if (ZipReader zip(file); zip.find(kOldProgram)) return build(read_old_file(zip), name);
  const Records records(file);
  ExportedFile parts;
  const std::string model = model_name(records);
  parts.record = std::string(kModels) + model + std::string(kJson);
  if (records.find("byteorder")) {
    SCONCE_CHECK(records.read("byteorder") == "little", "{}: its tensors are not little-endian", name);
  }
  parts.json = records.read(parts.record);
  parts.weights = read_weights(records, model);
  if (records.find(".data/version")) parts.version = records.version();
  parts.extra_files = records_in(records.zip(), std::string(records.folder()) + "extra/");
  return build(parts, name);
}

}  // namespace sconce
