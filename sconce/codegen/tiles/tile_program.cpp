#include "sconce/codegen/tiles/tile_program.h"

#include <algorithm>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/conversion.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/prefetch.h"
#include "sconce/kernels/cpu/engine/scratch.h"

namespace sconce::codegen {

using loops::LoopCall;
using loops::Nest;

namespace {

SCONCE_VARIANT(results_in_place, "nest.in_place", "all results are computed where they are stored");
SCONCE_VARIANT(fetched_ahead, "nest.prefetch", "several loops over operands that are too large for the caches");

constexpr int64_t kLongStrip = 8192;  // elements of a tile that needs no slots

// 64 bytes full of one element.
void splat(char* out, const char* element, int item) {
  for (int at = 0; at < 64; at += item) std::memcpy(out + at, element, item);
}

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int item_of(DType t) { return static_cast<int>(item_size(t)); }

}  // namespace

TileSchedule plain_schedule(const TileGraph& graph) {
  TileSchedule schedule;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].kind != TileValue::buffer) schedule.steps.push_back({static_cast<uint16_t>(v)});
  }
  return schedule;
}

// --- preparation ----------------------------------------------------------------------------------------------------

TileProgram::TileProgram(const Nest& nest, TileGraph graph, TileSchedule schedule)
    : graph_(std::move(graph)), schedule_(std::move(schedule)) {
  params_.resize(nest.calls.size());
  for (const TileStep& step : schedule_.steps) add_action(nest, step);
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const TileValue& value = graph_.values[v];
    if (value.kind == TileValue::buffer)
      loads_.push_back({static_cast<uint16_t>(v), value.number, item_of(value.dtype), false});
  }
  plan_stores(nest);
  place_values();
}

void TileProgram::add_action(const Nest& nest, const TileStep& step) {
  Action action;
  if (step.joined >= 0) {
    action.kind = Action::joined;
    action.joined_loop = static_cast<uint16_t>(step.joined);
    group_ = std::max<int64_t>(group_, schedule_.joined[step.joined].lanes);
    actions_.push_back(action);
    return;
  }
  const TileValue& value = graph_.values[step.value];
  action.uniform = value.uniform;
  action.out = step.value;
  action.item = item_of(value.dtype);
  action.inputs = static_cast<uint8_t>(value.inputs.size());
  for (size_t k = 0; k < value.inputs.size(); ++k) action.in[k] = value.inputs[k];
  if (value.kind == TileValue::convert) {
    action.kind = Action::convert;
    action.converter = conversion(tile_kernels(), graph_.values[value.inputs[0]].dtype, value.dtype);
  } else {
    action.kind = Action::loop;
    const LoopCall& call = nest.calls[value.number];
    action.run = call.loops->loops[cpu_level() - 2][static_cast<int>(value.compute)];
    SCONCE_ASSERT(action.run != nullptr);
    const int lanes = lanes_of(value.compute);
    action.lanes_log2 = static_cast<uint8_t>(std::countr_zero(static_cast<unsigned>(lanes)));
    group_ = std::max<int64_t>(group_, lanes);
    for (size_t k = 0; k < value.inputs.size(); ++k) {
      const TileValue& in = graph_.values[value.inputs[k]];
      action.step[k] = in.uniform ? 0 : item_of(in.dtype) * lanes;
    }
    std::vector<Param>& params = params_[value.number];
    params.assign(call.params.begin(), call.params.end());
    if (call.loops->narrows) {
      const Narrow mode = call.common == DType::float16    ? Narrow::float16
                          : call.common == DType::bfloat16 ? Narrow::bfloat16
                                                           : Narrow::none;
      params.push_back(Param::from_int(static_cast<int64_t>(mode)));
    }
    action.params = params.data();
    heavy_ |= call.loops->math;
  }
  actions_.push_back(action);
}

void TileProgram::plan_stores(const Nest& nest) {
  // For each value, the action that computes it; for each buffer, the last action that reads it.
  std::vector<int> made(graph_.values.size(), -1), last_read(nest.buffers.size(), -1);
  std::vector<bool> last_converts(nest.buffers.size(), false);
  const auto read = [&](uint16_t value, int action, bool converts) {
    const TileValue& v = graph_.values[value];
    if (v.kind != TileValue::buffer) return;
    last_read[v.number] = action;
    last_converts[v.number] = converts;
  };
  for (size_t i = 0; i < actions_.size(); ++i) {
    const Action& a = actions_[i];
    const int at = static_cast<int>(i);
    if (a.kind == Action::joined) {
      const JoinedLoop& joined = schedule_.joined[a.joined_loop];
      for (const uint16_t v : joined.operands) read(v, at, false);
      for (const uint16_t v : joined.outputs) made[v] = at;
    } else {
      for (int k = 0; k < a.inputs; ++k) read(a.in[k], at, a.kind == Action::convert);
      made[a.out] = at;
    }
  }
  std::vector<bool> taken(graph_.values.size(), false);
  for (const TileStore& s : graph_.stores) {
    const TileValue& value = graph_.values[s.value];
    const loops::Buffer& target = nest.buffers[s.buffer];
    StorePlan plan{s.value, s.buffer, item_of(value.dtype), true, value.uniform, taken[s.value]};
    plan.in_place = !value.uniform && value.kind != TileValue::buffer && !plan.again;
    taken[s.value] = true;
    for (size_t b = 0; b < nest.buffers.size(); ++b) {
      const loops::Buffer& other = nest.buffers[b];
      if (item_size(other.dtype) != item_size(target.dtype) || !(other.strides == target.strides)) continue;
      if (last_read[b] > made[s.value] || (last_read[b] == made[s.value] && last_converts[b])) plan.in_place = false;
    }
    if (value.kind == TileValue::buffer) {
      for (Load& l : loads_) l.copied |= l.value == s.value;
    }
    all_in_place_ &= plan.in_place;
    stores_.push_back(plan);
  }
  // A result of an action that nothing stores needs its slot.
  size_t results = 0;
  for (size_t v = 0; v < made.size(); ++v) results += made[v] >= 0 && !graph_.values[v].uniform;
  all_in_place_ &= results == stores_.size();
}

void TileProgram::place_values() {
  struct Free {
    int64_t offset, bytes;
  };
  std::vector<Free> free;
  std::vector<int> last(graph_.values.size(), -1);
  const auto each_operand = [&](const Action& a, const auto& body) {
    if (a.kind == Action::joined) {
      for (const uint16_t v : schedule_.joined[a.joined_loop].operands) body(v);
    } else {
      for (int k = 0; k < a.inputs; ++k) body(a.in[k]);
      body(a.out);
    }
  };
  for (size_t i = 0; i < actions_.size(); ++i) {
    each_operand(actions_[i], [&](uint16_t v) { last[v] = static_cast<int>(i); });
  }
  for (const StorePlan& s : stores_) last[s.value] = static_cast<int>(actions_.size());

  slots_.assign(graph_.values.size(), -1);
  // Apart by more than a multiple of 4096, so that tiles do not compete for the same lines of the cache.
  const auto bytes_of = [&](uint16_t v) {
    return graph_.values[v].uniform ? int64_t{64} : kTileElements * item_of(graph_.values[v].dtype) + 192;
  };
  const auto place = [&](uint16_t v) {
    if (slots_[v] >= 0) return;
    const int64_t bytes = bytes_of(v);
    for (size_t k = 0; k < free.size(); ++k) {
      if (free[k].bytes != bytes) continue;
      slots_[v] = free[k].offset;
      free.erase(free.begin() + static_cast<int64_t>(k));
      return;
    }
    slots_[v] = scratch_bytes_;
    scratch_bytes_ += round_up(bytes, 64);
  };
  for (const Load& l : loads_) place(l.value);  // for themselves: what is loaded is kept from tile to tile
  for (size_t i = 0; i < actions_.size(); ++i) {
    each_operand(actions_[i], [&](uint16_t v) { place(v); });
    each_operand(actions_[i], [&](uint16_t v) {
      if (last[v] != static_cast<int>(i) || graph_.values[v].kind == TileValue::buffer) return;
      for (const Free& f : free) {
        if (f.offset == slots_[v]) return;  // twice an operand
      }
      free.push_back({slots_[v], bytes_of(v)});
    });
  }
  between_ = scratch_bytes_;
  scratch_bytes_ += kTileElements * 16;
}

// --- running --------------------------------------------------------------------------------------------------------

// The content of a buffer's slot is kept while the next tile would load the same again.
struct TileProgram::State {
  Scratch scratch;
  char* slots;
  char** at;  // where each value is in this tile
  struct Loaded {
    const char* data;
    int64_t rows, columns;
  };
  Loaded* loaded;

  explicit State(const TileProgram& program) {
    slots = scratch.take<char>(program.scratch_bytes_);
    at = scratch.take<char*>(static_cast<int64_t>(program.graph_.values.size()));
    loaded = scratch.take<Loaded>(static_cast<int64_t>(program.loads_.size()));
    for (size_t k = 0; k < program.loads_.size(); ++k) loaded[k] = {nullptr, 0, 0};
    for (size_t v = 0; v < program.graph_.values.size(); ++v) at[v] = slots + program.slots_[v];
  }
};

void TileProgram::load(State& state, const Load& load, const TileAccess& access, const char* data, int64_t rows,
                       int64_t columns, int64_t padded) const {
  State::Loaded& loaded = state.loaded[&load - loads_.data()];
  char* slot = state.slots + slots_[load.value];
  if (graph_.values[load.value].uniform) {
    if (loaded.data != data) splat(slot, data, load.item);
    loaded.data = data;
    return;
  }
  const int64_t n = rows * columns;
  const bool dense = access.column_stride == load.item && (rows == 1 || access.row_stride == columns * load.item);
  if (dense && n == padded && !load.copied) {
    state.at[load.value] = const_cast<char*>(data);
    return;
  }
  state.at[load.value] = slot;
  if (loaded.data == data && loaded.rows == rows && loaded.columns == columns) return;
  loaded = {data, rows, columns};
  const TileKernels& tiles = tile_kernels();
  if (dense) {
    std::memcpy(slot, data, n * load.item);
  } else {
    const TileOperand operand{nullptr, load.item, load.item, access.row_stride, access.column_stride, false, {}};
    gather_tile(tiles, slot, data, operand, rows, columns);
  }
  if (n != padded) tiles.fill[size_log2(load.item)](slot + n * load.item, slot, padded - n);
}

void TileProgram::store(State& state, const StorePlan& plan, const TileAccess& access, char* data, int64_t rows,
                        int64_t columns, bool stream) const {
  const TileKernels& tiles = tile_kernels();
  const int64_t n = rows * columns;
  const char* from = state.at[plan.value];
  const bool dense = access.column_stride == plan.item && (rows == 1 || access.row_stride == columns * plan.item);
  if (plan.fill) {
    if (dense) return tiles.fill[size_log2(plan.item)](data, from, n);
    char* whole = state.slots + between_;
    tiles.fill[size_log2(plan.item)](whole, from, n);
    from = whole;
  }
  if (dense && stream) return tiles.stream(data, from, n * plan.item);
  if (dense) {
    std::memcpy(data, from, n * plan.item);
    return;
  }
  const TileOperand operand{nullptr, plan.item, plan.item, access.row_stride, access.column_stride, false, {}};
  scatter_tile(tiles, data, from, operand, rows, columns);
}

void TileProgram::run_actions(State& state, int64_t padded) const {
  char** at = state.at;
  for (const Action& a : actions_) {
    switch (a.kind) {
      case Action::loop: {
        const char* from[kMaxLoopInputs];
        for (int k = 0; k < a.inputs; ++k) from[k] = at[a.in[k]];
        a.run(at[a.out], from, a.step, a.uniform ? 1 : padded >> a.lanes_log2, a.params);
        break;
      }
      case Action::convert:
        a.converter(at[a.out], at[a.in[0]], a.uniform ? 1 : padded);
        break;
      case Action::joined: {
        const JoinedLoop& joined = schedule_.joined[a.joined_loop];
        void* pointers[16];
        for (size_t k = 0; k < joined.operands.size(); ++k) pointers[k] = at[joined.operands[k]];
        joined.code(pointers, padded);
        continue;
      }
    }
    if (a.uniform) {
      char element[16];
      std::memcpy(element, at[a.out], a.item);
      splat(at[a.out], element, a.item);
    }
  }
}

void TileProgram::run_tile(State& state, const TileAccess* access, char* const* data, int64_t rows, int64_t columns,
                           bool stream) const {
  const int64_t n = rows * columns, padded = round_up(n, group_);
  for (const Load& l : loads_) load(state, l, access[l.buffer], data[l.buffer], rows, columns, padded);
  uint32_t done = 0;  // bit k: store k needs nothing afterwards
  for (size_t k = 0; k < stores_.size(); ++k) {
    const StorePlan& s = stores_[k];
    const TileAccess& a = access[s.buffer];
    const bool dense = a.column_stride == s.item && (rows == 1 || a.row_stride == columns * s.item);
    if (s.in_place && dense && n == padded && !stream) {
      state.at[s.value] = data[s.buffer];
      done |= 1u << k;
    } else if (graph_.values[s.value].kind != TileValue::buffer && !s.again) {
      state.at[s.value] = state.slots + slots_[s.value];
    }
  }
  run_actions(state, padded);
  for (size_t k = 0; k < stores_.size(); ++k) {
    const StorePlan& s = stores_[k];
    if (!(done >> k & 1)) store(state, s, access[s.buffer], data[s.buffer], rows, columns, stream);
  }
}

void TileProgram::run_tiles(const TileWalk& walk, void* const* buffers, int64_t begin, int64_t end, bool stream) const {
  State state(*this);
  TileAccess access[loops::kMaxBuffers];
  for (int k = 0; k < walk.buffers; ++k) access[k] = {walk.row_stride(k), walk.column_stride(k)};
  walk.each(begin, end, [&](const int64_t* offset, int64_t rows, int64_t columns) {
    char* data[loops::kMaxBuffers];
    for (int k = 0; k < walk.buffers; ++k) data[k] = static_cast<char*>(buffers[k]) + offset[k];
    run_tile(state, access, data, rows, columns, stream);
  });
  if (stream) tile_kernels().stream_fence();
}

void TileProgram::run_linear(const TileWalk& walk, void* const* buffers, int64_t begin, int64_t end,
                             bool stream) const {
  State state(*this);
  TileAccess access[loops::kMaxBuffers];
  char* data[loops::kMaxBuffers];
  for (int k = 0; k < walk.buffers; ++k) {
    access[k] = {0, walk.column_stride(k)};
    data[k] = static_cast<char*>(buffers[k]) + begin * access[k].column_stride;
  }
  const int64_t most = results_in_place(all_in_place_ && !stream) ? kLongStrip : kTileElements;
  // One loop over memory is followed by the processor; between the loops of a tile it loses the track.
  const bool prefetch = fetched_ahead(actions_.size() > 1 && walk.columns() * 4 >= kPrefetchBytes);
  for (int64_t at = begin; at < end;) {
    int64_t n = std::min(most, end - at);
    if (n > group_) n -= n % group_;  // the rest of a group goes through slots, by itself
    if (prefetch) {
      for (const Load& l : loads_) prefetch_after(data[l.buffer], n * access[l.buffer].column_stride);
    }
    run_tile(state, access, data, 1, n, stream);
    for (int k = 0; k < walk.buffers; ++k) data[k] += n * access[k].column_stride;
    at += n;
  }
  if (stream) tile_kernels().stream_fence();
}

void TileProgram::run_block(const TileAccess* access, char* const* data, int64_t rows, int64_t columns) const {
  if (rows == 0 || columns == 0) return;
  State state(*this);
  const int64_t tile_columns = std::min(columns, kTileElements);
  const int64_t tile_rows = kTileElements / tile_columns;
  size_t buffers = 0;
  for (const Load& l : loads_) buffers = std::max<size_t>(buffers, l.buffer + size_t{1});
  for (const StorePlan& s : stores_) buffers = std::max<size_t>(buffers, s.buffer + size_t{1});
  for (int64_t r = 0; r < rows; r += tile_rows) {
    for (int64_t c = 0; c < columns; c += tile_columns) {
      char* at[loops::kMaxBuffers];
      for (size_t k = 0; k < buffers; ++k) at[k] = data[k] + r * access[k].row_stride + c * access[k].column_stride;
      run_tile(state, access, at, std::min(tile_rows, rows - r), std::min(tile_columns, columns - c), false);
    }
  }
}

std::string TileProgram::to_string(const Nest& nest) const {
  const auto name = [&](uint16_t v) {
    const TileValue& value = graph_.values[v];
    return (value.kind == TileValue::buffer ? "b" + std::to_string(value.number) : "%" + std::to_string(v)) +
           (value.uniform ? "!" : "");
  };
  std::string out;
  for (const Action& a : actions_) {
    if (a.kind == Action::joined) {
      const JoinedLoop& joined = schedule_.joined[a.joined_loop];
      out.append("joined");
      for (const uint16_t v : joined.outputs) out.append(" ").append(name(v));
      out.append("\n").append(joined.text);
      continue;
    }
    out.append(name(a.out)).append(" = ");
    const TileValue& value = graph_.values[a.out];
    out.append(a.kind == Action::convert ? "to " + std::string(dtype_name(value.dtype))
                                         : std::string(nest.calls[value.number].loops->name));
    for (int k = 0; k < a.inputs; ++k) out.append(k ? ", " : " ").append(name(a.in[k]));
    out.append("\n");
  }
  for (const StorePlan& s : stores_) {
    out.append("b").append(std::to_string(s.buffer)).append(" = ").append(name(s.value));
    out.append(s.in_place ? "\n" : " (copied)\n");
  }
  return out;
}

}  // namespace sconce::codegen
