#include "sconce/autograd/graph/node.h"

#include <cstring>

#include "sconce/autograd/anomaly.h"
#include "sconce/autograd/hook_lists.h"
#include "sconce/base/error.h"
#include "sconce/kernels/any/fill.h"

namespace sconce::autograd {
namespace {

constexpr int kMaxDepth = 100;  // of nodes that are being deleted because others were

struct Dying {
  int depth = 0;
  Node* waiting = nullptr;
};
constinit thread_local Dying dying;

thread_local constinit uint64_t sequence_here = 0;

void delete_one(Node* p) noexcept {
  ++dying.depth;
  delete p;
  --dying.depth;
}

}  // namespace

uint64_t next_sequence() noexcept { return sequence_here++; }
void set_next_sequence(uint64_t next) noexcept { sequence_here = next; }

OutputInfo output_info(const Tensor& t) { return {Dims(t.sizes()), t.dtype(), t.device()}; }

Tensor zeros_for(const OutputInfo& info) {
  Tensor t = empty_tensor(info.sizes, info.dtype, info.device);
  if (info.device.type == DeviceType::cpu) [[likely]]
    std::memset(t.data(), 0, static_cast<size_t>(t.numel()) * t.item_size());
  else
    fill_tensor(t, 0);
  return t;
}

Node::Node() : sequence(next_sequence()) {
  if (AnomalyMode::enabled()) place = make_place();
}
Node::~Node() = default;

size_t Node::add_output(const Tensor& t) {
  outputs.push_back(output_info(t));
  return outputs.size() - 1;
}

void Node::run_tensor_hooks(std::span<Tensor> grads) {
  if (!hooks) [[likely]]
    return;
  size_t number = 0;
  for (const NodeHooks::Output& o : hooks->outputs.current()) run_tensor_hook(o.hook, grads[o.slot], number++);
  for (const NodeHooks::Output& o : hooks->retained.current()) o.hook(grads[o.slot]);
}

void destroy(Node* p) noexcept {
  if (dying.depth == kMaxDepth) {
    p->next_dying_ = dying.waiting;
    dying.waiting = p;
    return;
  }
  delete_one(p);
  while (dying.depth == 0 && dying.waiting) {
    Node* next = dying.waiting;
    dying.waiting = next->next_dying_;
    delete_one(next);
  }
}

std::string forward_name(const Node& node) {
  std::string name = node.name();
  if (name == "CopySlices") return "torch::autograd::CopySlices";
  const size_t at = name.rfind("Backward");
  if (at == std::string::npos) return name;
  const std::string number = name.substr(at + 8);
  if (number.find_first_not_of("0123456789") != std::string::npos) return name;
  return name.substr(0, at) + (number == "0" ? "" : number);
}

}  // namespace sconce::autograd
