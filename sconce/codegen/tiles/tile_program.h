// Tile program: vectorised interpretation of a nest. A prepared list of loops, each of which works on a whole tile of
// some hundred elements in the L1 cache, so that the interpreter's cost is shared by all of them.
//
// Note [Tiles]
// A value of the graph lives in a slot of the thread's scratch memory; slots are shared by values that are not alive
// together. A buffer that is dense in a tile is read and written where it is; any other one is gathered into its slot
// first, or scattered from it last. Loops compute whole groups (Note [Groups] in engine/loop.h), so a tile with a part
// of a group goes through slots altogether, with its first element repeated behind its end.
//
// A written buffer may be the same memory as one that is read. A result is therefore written to its place only by the
// last step that reads any buffer of the same item size and strides, or by a later one; before that, it stays in a
// slot.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sconce/codegen/tiles/tile_graph.h"
#include "sconce/codegen/tiles/tile_walk.h"
#include "sconce/kernels/cpu/engine/tile_grid.h"

namespace sconce::codegen {

// Several values computed by one loop. pointers[k] is the first element of the k-th of `operands`; `elements` is a
// multiple of a group. The loop reads a vector of every operand before it writes one.
struct JoinedLoop {
  using Code = void (*)(void* const* pointers, int64_t elements);
  Code code = nullptr;
  int lanes = 0;  // elements of a group
  SmallVector<uint16_t, 16> operands;
  SmallVector<uint16_t, 8> outputs;   // those of the operands that it writes
  std::shared_ptr<const void> owner;  // of the code
  size_t bytes = 0;                   // of the code
  std::string text;
};

// What runs, in order: a value by its own loop, or a joined loop.
struct TileStep {
  uint16_t value = 0;
  int16_t joined = -1;
};
struct TileSchedule {
  std::vector<TileStep> steps;
  std::vector<JoinedLoop> joined;
};

// Each value by itself, in the order of the graph.
TileSchedule plain_schedule(const TileGraph& graph);

// How a buffer is reached in a tile.
struct TileAccess {
  int64_t row_stride, column_stride;  // in bytes
};

class TileProgram {
 public:
  TileProgram(const loops::Nest& nest, TileGraph graph, TileSchedule schedule);

  // Tiles [begin, end) of a walk. `stream`: large results bypass the caches.
  void run_tiles(const TileWalk& walk, void* const* buffers, int64_t begin, int64_t end, bool stream) const;
  // Elements [begin, end) of a walk that is linear.
  void run_linear(const TileWalk& walk, void* const* buffers, int64_t begin, int64_t end, bool stream) const;
  // rows x columns elements; data[k] is the first of buffer k.
  void run_block(const TileAccess* access, char* const* data, int64_t rows, int64_t columns) const;

  bool is_heavy() const { return heavy_; }  // busier with computing than with memory
  const TileGraph& graph() const { return graph_; }
  std::string to_string(const loops::Nest& nest) const;
  size_t code_bytes() const {
    size_t all = 0;
    for (const JoinedLoop& loop : schedule_.joined) all += loop.bytes;
    return all;
  }

 private:
  struct Action {
    enum Kind : uint8_t { loop, convert, joined } kind;
    bool uniform = false;
    uint8_t inputs = 0;
    uint8_t lanes_log2 = 0;
    uint16_t out = 0;
    uint16_t joined_loop = 0;
    int item = 0;  // bytes of an element of the result
    Loop run = nullptr;
    TileKernels::Convert converter = nullptr;
    const Param* params = nullptr;
    uint16_t in[kMaxLoopInputs] = {};
    int64_t step[kMaxLoopInputs] = {};
  };
  struct Load {
    uint16_t value, buffer;
    int item;
    bool copied;  // also where it is dense: the value is stored as it is
  };
  struct StorePlan {
    uint16_t value, buffer;
    int item;
    bool in_place;  // may be written where it belongs: see Note [Tiles]
    bool fill;      // the value is one element
    bool again;     // an earlier store has the same value
  };
  struct State;  // of one thread

  void add_action(const loops::Nest& nest, const TileStep& step);
  void plan_stores(const loops::Nest& nest);
  void place_values();
  void run_tile(State& state, const TileAccess* access, char* const* data, int64_t rows, int64_t columns,
                bool stream) const;
  void run_actions(State& state, int64_t padded) const;
  void load(State& state, const Load& load, const TileAccess& access, const char* data, int64_t rows, int64_t columns,
            int64_t padded) const;
  void store(State& state, const StorePlan& plan, const TileAccess& access, char* data, int64_t rows, int64_t columns,
             bool stream) const;

  TileGraph graph_;
  TileSchedule schedule_;
  std::vector<Action> actions_;
  std::vector<Load> loads_;
  std::vector<StorePlan> stores_;
  std::vector<std::vector<Param>> params_;  // of the calls, with what `narrow` reads
  std::vector<int64_t> slots_;              // offset of each value's slot
  int64_t between_ = 0, scratch_bytes_ = 0;
  int64_t group_ = 16;  // every action computes whole groups of so many elements
  bool heavy_ = false;
  bool all_in_place_ = true;  // where buffers are dense, no slot is used: tiles may be of any length
};

}  // namespace sconce::codegen
