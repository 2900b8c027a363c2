// Attention of devices: products of one query with keys, weights made of them and products with values, found in a tape
// where nothing else reads what is between them.
#pragma once

#include <optional>

#include "sconce/codegen/device_maker.h"
#include "sconce/executor/tape.h"
#include "sconce/loops/fuse.h"

namespace sconce::executor {

struct DeviceAttention {
  codegen::AttentionNest nest;
  std::vector<ValueId> values;  // as DeviceMaker::make_attention has buffers
};

// Of a bmm, the nest that reads its result, and the bmm that reads the nest's; none where a kernel does not serve them.
std::optional<DeviceAttention> attention_of(const Tape& tape, const TapeNode& scores, const loops::BuiltNest& rows,
                                            const TapeNode& product, const codegen::DeviceMaker& maker);

// The same where a cat made its keys and another one its values, each of a cache and what is new; none where a kernel
// does not serve that.
std::optional<DeviceAttention> with_cache(const Tape& tape, const DeviceAttention& attention, const TapeNode& of_key,
                                          const TapeNode& of_value, const codegen::DeviceMaker& maker);

}  // namespace sconce::executor
