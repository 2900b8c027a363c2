#include "sconce/codegen/cuda/cuda_maker.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "sconce/base/error.h"
#include "sconce/codegen/cuda/attention_kernel.h"
#include "sconce/codegen/cuda/nest_kernel.h"
#include "sconce/codegen/cuda/nest_text.h"
#include "sconce/codegen/cuda/product_kernel.h"
#include "sconce/codegen/device_maker.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/graphs.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/matmul/narrow_product.h"
#include "sconce/kernels/cuda/random/random_engine.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/codegen/cuda/text/copies_arguments.cuh"

constexpr size_t kMostCopies = 64;

// A large GPU of today, by order of magnitude: only what is cheaper than what is asked of it. A kernel costs the host 2
// us.
constexpr loops::Machine kMachine{.l1 = 24 << 20,
                                  .l2 = 24 << 20,
                                  .l3 = 24 << 20,
                                  .l1_rate = 6000,
                                  .l2_rate = 6000,
                                  .l3_rate = 6000,
                                  .memory_rate = 4000,
                                  .clock = 1.7,
                                  .vector_bytes = 132 * 128 * 4,
                                  .call_ns = 2000,
                                  .tile_pass_ns = 0};

bool graphs_enabled() {
  static const bool enabled = [] {
    const char* word = std::getenv("SCONCE_CUDA_GRAPHS");
    const std::string_view text = word ? word : "";
    SCONCE_CHECK_AS(value, text.empty() || text == "on" || text == "off",
                    "SCONCE_CUDA_GRAPHS is '{}', expected on or off", text);
    return text != "off";
  }();
  return enabled;
}

class RecordedGraph final : public codegen::DeviceGraph {
 public:
  explicit RecordedGraph(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}
  void launch() const override { graph_->launch(); }
  size_t nodes() const override { return graph_->nodes(); }

 private:
  std::unique_ptr<Graph> graph_;
};

std::unique_ptr<codegen::DeviceGraph> record(Device device, const std::function<void()>& work, std::string& why) {
  if (!graphs_enabled()) {
    why = "SCONCE_CUDA_GRAPHS is off";
    return nullptr;
  }
  std::unique_ptr<Graph> graph = record_graph(device, work, why);
  return graph ? std::make_unique<RecordedGraph>(std::move(graph)) : nullptr;
}

void copy_some(std::span<const codegen::ByteCopy> copies, Device device) {
  CopyArguments a;
  size_t most = 0;
  for (size_t i = 0; i < copies.size(); ++i) {
    a.to[i] = copies[i].to;
    a.from[i] = copies[i].from;
    a.bytes[i] = static_cast<i64>(copies[i].bytes);
    most = std::max(most, copies[i].bytes);
  }
  const Kernel& kernel = find_kernel(
      device, "copies",
      [] {
        return std::string(text_file("prelude")).append(text_file("copies_arguments")).append(text_file("copies"));
      },
      "copies");
  constexpr size_t kOfBlock = 256 * 16 * 4, kMostBlocks = 528;
  Shape shape;
  shape.grid_x = static_cast<unsigned>(std::clamp<size_t>((most + kOfBlock - 1) / kOfBlock, 1, kMostBlocks));
  shape.grid_y = static_cast<unsigned>(copies.size());
  shape.block_x = 256;
  shape.is_dependent = true;
  launch(device, kernel, shape, &a, sizeof a, "copies");
}

void copy_all(std::span<const codegen::ByteCopy> copies, Device device) {
  for (size_t done = 0; done < copies.size(); done += kMostCopies)
    copy_some(copies.subspan(done, std::min(kMostCopies, copies.size() - done)), device);
}

const void* stream_of(Device device) { return current_stream(device); }
uint64_t drawn(Device device) { return philox_state(device).offset; }
void set_drawn(Device device, uint64_t place) {
  PhiloxState state = philox_state(device);
  state.offset = place;
  set_philox_state(device, state);
}

}  // namespace

void connect_maker() {
  graphs_enabled();
  static const bool is_off = codegen::chosen_maker() == codegen::Maker::off;
  static const codegen::DeviceMaker maker = {.make = make_nest_kernel,
                                             .make_products = make_product_kernel,
                                             .most_product_rows = is_off ? 0 : kMostNarrowRows,
                                             .is_chain = is_product_chain,
                                             .is_head = is_product_head,
                                             .make_attention = make_attention_kernel,
                                             .is_attention = is_attention,
                                             .machine = &kMachine,
                                             .longest_row = is_off ? 0 : kLongestRow,
                                             .record = record,
                                             .stream = stream_of,
                                             .copy = copy_all,
                                             .drawn = drawn,
                                             .set_drawn = set_drawn};
  codegen::set_device_maker(DeviceType::cuda, &maker);
}

}  // namespace sconce::cuda
