#include "sconce/codegen/device_maker.h"

#include <atomic>

namespace sconce::codegen {
namespace {

constinit std::atomic<const DeviceMaker*> makers[kDeviceTypes] = {};

std::atomic<const DeviceMaker*>* slot_of(DeviceType type) {
  const auto at = static_cast<size_t>(type);
  return at < static_cast<size_t>(kDeviceTypes) ? &makers[at] : nullptr;
}

}  // namespace

DeviceGraph::~DeviceGraph() = default;

const DeviceMaker* find_device_maker(DeviceType type) {
  const auto* slot = slot_of(type);
  return slot ? slot->load(std::memory_order_acquire) : nullptr;
}

void set_device_maker(DeviceType type, const DeviceMaker* maker) {
  if (auto* slot = slot_of(type)) slot->store(maker, std::memory_order_release);
}

}  // namespace sconce::codegen
