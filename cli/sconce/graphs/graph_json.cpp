#include "graphs/graph_json.h"

#include <map>

#include <nlohmann/json.hpp>

#include "sconce/dispatch/schema.h"
#include "sconce/ir/literal.h"
#include "sconce/ir/printer.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestConstant = 200;  // characters of a constant that are kept

// UTF-16 units of a UTF-8 text: what offsets count in the page.
size_t utf16_units(std::string_view text) {
  size_t units = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    units += (byte & 0xC0) != 0x80;
    units += byte >= 0xF0;
  }
  return units;
}

std::string cut(std::string text) {
  if (text.size() > kLongestConstant) {
    text.resize(kLongestConstant);
    text += "...";
  }
  return text;
}

}  // namespace

struct GraphDocument::State {
  Json document;
  std::map<std::tuple<std::string, int, std::string>, size_t> sources;
  std::unordered_map<const Source*, size_t> known_sources;
  std::unordered_map<const Op*, size_t> schemas;

  size_t source(const Source& s) {
    if (const auto known = known_sources.find(&s); known != known_sources.end()) return known->second;
    const auto [at, is_new] = sources.try_emplace({s.name(), s.first_line(), s.text()}, sources.size());
    if (is_new) document["sources"].push_back({{"name", s.name()}, {"line", s.first_line()}, {"text", s.text()}});
    return at->second;
  }

  Json place(const Range& range) {
    const std::string_view text = range.source->text();
    const size_t begin = utf16_units(text.substr(0, range.begin));
    return {{"source", source(*range.source)},
            {"line", range.line()},
            {"begin", begin},
            {"end", begin + utf16_units(range.text())},
            {"text", range.to_string()}};
  }

  size_t schema(const Op& op) {
    const auto [at, is_new] = schemas.try_emplace(&op, schemas.size());
    if (is_new) {
      Json arguments = Json::array();
      for (const Argument& a : op.schema().arguments) arguments.push_back(a.name);
      document["schemas"].push_back({{"text", op.schema().to_string()}, {"arguments", std::move(arguments)}});
    }
    return at->second;
  }
};

namespace {

// One graph.
template <class State>
class Writer {
 public:
  Writer(State& state, const GraphRun* run) : state_(state), run_(run) {}

  Json write(const std::string& name, const ir::Graph& graph) {
    out_["name"] = name;
    for (const char* key : {"inputs", "outputs", "values", "nodes", "blocks", "scopes", "edges"})
      out_[key] = Json::array();
    add_block(*graph.block(), nullptr);
    out_["inputs"] = numbers(graph.inputs());
    out_["outputs"] = numbers(graph.outputs());
    for (const auto& [user, inputs] : uses_) {
      for (const ir::Value* v : inputs) {
        const auto maker = nodes_.find(v->node());
        if (maker != nodes_.end()) out_["edges"].push_back({maker->second, user, values_.at(v)});
      }
    }
    if (run_) out_["ns"] = run_->ns, out_["runs"] = run_->runs;
    if (run_ && run_->means) out_["means"] = true;
    if (run_ && !run_->steps.empty()) {
      Json& steps = out_["steps"] = Json::array();
      for (const GraphRun::Step& step : run_->steps) {
        steps.push_back({{"text", step.text}});
        if (!step.nest.empty()) steps.back()["nest"] = step.nest;
      }
    }
    return std::move(out_);
  }

 private:
  size_t number(const ir::Value* v) {
    const auto [at, is_new] = values_.try_emplace(v, values_.size());
    if (is_new) {
      Json value{{"name", v->name()}, {"type", v->type()->to_string()}};
      if (run_) {
        const auto seen = run_->values.find(v);
        if (seen != run_->values.end()) value["seen"] = seen->second;
      }
      out_["values"].push_back(std::move(value));
    }
    return at->second;
  }
  Json numbers(const std::vector<ir::Value*>& values) {
    Json out = Json::array();
    for (const ir::Value* v : values) out.push_back(number(v));
    return out;
  }

  Json scope(const std::shared_ptr<const ir::InlinedCall>& call) {
    if (!call) return nullptr;
    const auto known = scopes_.find(call.get());
    if (known != scopes_.end()) return known->second;
    Json made{{"function", call->function}, {"object", call->object}, {"outer", scope(call->outer)}};
    if (call->call) made["call"] = place_people_wrote(call->call);
    const size_t index = out_["scopes"].size();
    out_["scopes"].push_back(std::move(made));
    scopes_.emplace(call.get(), index);
    return index;
  }

  // "__module.layer1/__module.layer1.0" of a traced graph: a scope for each part.
  Json traced_scope(std::string_view text) {
    if (text.empty()) return nullptr;
    const auto known = traced_.find(std::string(text));
    if (known != traced_.end()) return known->second;
    const size_t slash = text.rfind('/');
    const std::string_view last = slash == text.npos ? text : text.substr(slash + 1);
    Json made{{"function", "forward"},
              {"object", last},
              {"outer", slash == text.npos ? Json(nullptr) : traced_scope(text.substr(0, slash))}};
    const size_t index = out_["scopes"].size();
    out_["scopes"].push_back(std::move(made));
    traced_.emplace(text, index);
    return index;
  }

  Json place_people_wrote(const Range& range) {
    const Range original = range.original();
    return state_.place(original ? original : range);
  }

  // Returns its number. Numbers are given before those of blocks inside.
  size_t add_block(const ir::Block& block, const Json& owner) {
    const size_t index = out_["blocks"].size();
    out_["blocks"].push_back({{"owner", owner}});
    const Json inputs = numbers(block.inputs());
    Json nodes = Json::array();
    for (const ir::Node* n : block.nodes()) nodes.push_back(add_node(*n));
    Json& made = out_["blocks"][index];
    made["inputs"] = inputs;
    made["outputs"] = numbers(block.outputs());
    made["nodes"] = std::move(nodes);
    return index;
  }

  size_t add_node(const ir::Node& node) {
    const size_t index = out_["nodes"].size();
    nodes_.emplace(&node, index);
    out_["nodes"].push_back(Json::object());
    Json made{{"kind", node.kind().text()}, {"inputs", numbers(node.inputs())}, {"outputs", numbers(node.outputs())}};
    made["blocks"] = Json::array();
    made["scope"] = node.inlined() ? scope(node.inlined()) : traced_scope(node.scope());
    if (std::string text = ir::attributes_text(node); !text.empty()) made["attributes"] = std::move(text);
    if (node.is(ir::kind::GetAttr)) made["name"] = node.string_attribute("name");
    if (node.is(ir::kind::Constant) && node.attribute("value")) {
      made["value"] = cut(ir::nested_literal_text(node.value_attribute("value")));
    }
    if (node.op()) made["schema"] = state_.schema(*node.op());
    if (node.range()) {
      made["at"] = place_people_wrote(node.range());
      if (node.range().original()) made["written"] = state_.place(node.range());
    }
    if (run_) {
      const auto seen = run_->nodes.find(&node);
      made["calls"] = seen == run_->nodes.end() ? 0 : seen->second.calls;
      made["ns"] = seen == run_->nodes.end() ? 0 : seen->second.ns;
      if (seen != run_->nodes.end() && seen->second.step >= 0) made["step"] = seen->second.step;
    }
    uses_.emplace_back(index, node.inputs());
    for (const ir::Block* b : node.blocks()) made["blocks"].push_back(add_block(*b, index));
    for (const auto& [name, v] : node.attributes()) {
      if (const auto* graph = std::get_if<std::shared_ptr<ir::Graph>>(&v)) {
        made["blocks"].push_back(add_block(*(*graph)->block(), index));
      }
    }
    out_["nodes"][index] = std::move(made);
    return index;
  }

  State& state_;
  const GraphRun* run_;
  Json out_;
  std::unordered_map<const ir::Value*, size_t> values_;
  std::unordered_map<const ir::Node*, size_t> nodes_;
  std::unordered_map<const ir::InlinedCall*, size_t> scopes_;
  std::unordered_map<std::string, size_t> traced_;
  std::vector<std::pair<size_t, std::vector<ir::Value*>>> uses_;
};

}  // namespace

GraphDocument::GraphDocument(std::string file) : state_(std::make_unique<State>()) {
  state_->document["file"] = std::move(file);
  for (const char* key : {"graphs", "schemas", "sources"}) state_->document[key] = Json::array();
}
GraphDocument::~GraphDocument() = default;

void GraphDocument::add(const std::string& name, const ir::Graph& graph, const GraphRun* run) {
  Json made = Writer(*state_, run).write(name, graph);
  state_->document["graphs"].push_back(std::move(made));
}

Json GraphDocument::finish() { return std::move(state_->document); }

}  // namespace sconce::cli
