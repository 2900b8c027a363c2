#include "sconce/codegen/joined/join.h"

#include <algorithm>

#include "sconce/base/variants/variants.h"
#include "sconce/codegen/joined/machine_code.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"

namespace sconce::codegen {
namespace {

SCONCE_VARIANT(joined_loop, "nest.joined", "two cheap calls or more that the assembler knows, made one loop",
               "level 3");
SCONCE_VARIANT(cut_run, "nest.joined.cut", "more values than a loop has registers for", "level 3");

using loops::Nest;

constexpr size_t kMostValues = 48;  // of one loop: more would only be spilled

class Joiner {
 public:
  Joiner(const Nest& nest, const TileGraph& graph) : nest_(nest), graph_(graph), count_(graph.values.size()) {}

  TileSchedule run() {
    choose_widths();
    number_levels();
    int highest = 0;
    for (const int l : level_) highest = std::max(highest, l);
    for (size_t v = 0; v < count_; ++v) {  // these read nothing but others of their kind
      if (graph_.values[v].kind != TileValue::buffer && graph_.values[v].uniform)
        schedule_.steps.push_back({static_cast<uint16_t>(v)});
    }
    for (int level = 0; level <= highest; ++level) {
      for (const int width : {4, 8}) add_run(level, width);
      for (size_t v = 0; v < count_; ++v) {
        const TileValue& value = graph_.values[v];
        if (value.kind != TileValue::buffer && !value.uniform && width_[v] == 0 && level_[v] == level)
          schedule_.steps.push_back({static_cast<uint16_t>(v)});
      }
    }
    return std::move(schedule_);
  }

 private:
  // Bytes of a lane of the loop that a value would be part of; 0: of none. Bools follow their neighbours.
  void choose_widths() {
    width_.assign(count_, 0);
    const auto of_neighbours = [&](size_t v) {
      for (const uint16_t in : graph_.values[v].inputs) {
        const size_t item = item_size(graph_.values[in].dtype);
        if (width_[in] != 0) return width_[in];
        if (item == 8) return 8;
        if (item == 4) return 4;
      }
      for (size_t w = v + 1; w < count_; ++w) {
        const TileValue& value = graph_.values[w];
        for (const uint16_t in : value.inputs) {
          if (in == v && item_size(value.dtype) == 8) return 8;
        }
      }
      return 4;
    };
    for (size_t v = 0; v < count_; ++v) {
      const TileValue& value = graph_.values[v];
      if (value.kind == TileValue::buffer || value.uniform) continue;
      int width = value.kind == TileValue::call ? static_cast<int>(item_size(compute_dtype(value.compute)))
                                                : static_cast<int>(item_size(value.dtype));
      if (width < 4) width = value.dtype == DType::bool_ ? of_neighbours(v) : 4;
      if (width > 8) continue;
      if (is_joinable(nest_, graph_, static_cast<uint16_t>(v), width)) width_[v] = width;
    }
  }

  // Note [Levels of a schedule]
  void number_levels() {
    level_.assign(count_, 0);
    for (size_t v = 0; v < count_; ++v) {
      for (const uint16_t in : graph_.values[v].inputs) {
        const bool loaded = graph_.values[in].kind == TileValue::buffer || graph_.values[in].uniform;
        const bool later = width_[v] != 0 && !loaded && width_[in] != width_[v];
        level_[v] = std::max(level_[v], level_[in] + (later ? 1 : 0));
      }
    }
  }

  // The joinable values of a level, in loops that have registers for their operands.
  void add_run(int level, int width) {
    std::vector<uint16_t> values;
    for (size_t v = 0; v < count_; ++v) {
      if (width_[v] != width || level_[v] != level) continue;
      values.push_back(static_cast<uint16_t>(v));
      if (cut_run(values.size() > 1 && (values.size() > kMostValues || operands_of_run(values) > kMaxBodyOperands))) {
        values.pop_back();
        add_loop(values, width);
        values.assign(1, static_cast<uint16_t>(v));
      }
    }
    if (!values.empty()) add_loop(values, width);
  }

  bool is_needed_outside(uint16_t v, const std::vector<uint16_t>& values) const {
    for (const TileStore& s : graph_.stores) {
      if (s.value == v) return true;
    }
    for (size_t w = v + size_t{1}; w < count_; ++w) {
      const auto& inputs = graph_.values[w].inputs;
      if (std::find(inputs.begin(), inputs.end(), v) != inputs.end() &&
          std::find(values.begin(), values.end(), w) == values.end())
        return true;
    }
    return false;
  }

  size_t operands_of_run(const std::vector<uint16_t>& values) const {
    std::vector<uint16_t> loads;
    size_t outputs = 0;
    for (const uint16_t v : values) {
      for (const uint16_t in : graph_.values[v].inputs) {
        if (std::find(values.begin(), values.end(), in) == values.end() &&
            std::find(loads.begin(), loads.end(), in) == loads.end())
          loads.push_back(in);
      }
      outputs += is_needed_outside(v, values);
    }
    return loads.size() + outputs;
  }

  void add_loop(const std::vector<uint16_t>& values, int width) {
    const auto alone = [&] {
      for (const uint16_t v : values) schedule_.steps.push_back({v});
    };
    if (!joined_loop(values.size() >= 2)) return alone();  // eager's loop is as good
    std::vector<uint16_t> outputs, loads;
    for (const uint16_t v : values) {
      if (is_needed_outside(v, values)) outputs.push_back(v);
    }
    if (outputs.empty()) return;  // nobody wants them
    const Body body = build_body(nest_, graph_, values, outputs, width, loads);
    const auto code = machine_code(body, std::min(cpu_level(), highest_joined_level));
    if (!code) return alone();
    JoinedLoop loop;
    loop.code = code->entry();
    loop.lanes = 64 / width;
    for (const uint16_t v : loads) loop.operands.push_back(v);
    for (const uint16_t v : outputs) loop.operands.push_back(v), loop.outputs.push_back(v);
    loop.owner = code;
    loop.bytes = code->bytes().size();
    loop.text = codegen::to_string(body);
    schedule_.steps.push_back({0, static_cast<int16_t>(schedule_.joined.size())});
    schedule_.joined.push_back(std::move(loop));
  }

  const Nest& nest_;
  const TileGraph& graph_;
  const size_t count_;
  std::vector<int> width_, level_;
  TileSchedule schedule_;
};

}  // namespace

bool can_join() {
#if defined(__x86_64__)
  return cpu_level() >= 3;
#else
  return false;
#endif
}

TileSchedule join(const Nest& nest, const TileGraph& graph) {
  if (!can_join()) return plain_schedule(graph);
  return Joiner(nest, graph).run();
}

}  // namespace sconce::codegen
