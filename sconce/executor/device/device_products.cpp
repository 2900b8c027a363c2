#include "sconce/executor/device/device_products.h"

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"

namespace sconce::executor {
namespace {

bool is_one(const Value& v) { return v.is_number() && !v.is_complex() && v.to_scalar().equals(1); }

bool is_float(DType t) {
  return t == DType::float32 || t == DType::float64 || t == DType::float16 || t == DType::bfloat16;
}

}  // namespace

std::unique_ptr<DeviceProduct> DeviceProduct::make(const Tape& tape, const TapeNode& node,
                                                   const codegen::DeviceMaker& maker) {
  static const Op* const addmm = find_op("aten::addmm");
  static const Op* const mm = find_op("aten::mm");
  const bool adds = node.op == addmm;
  if ((!adds && node.op != mm) || node.uses.size() != (adds ? 3u : 2u) || node.results[0] == kNone) return nullptr;
  if (adds && (!is_one(node.args[3]) || !is_one(node.args[4]))) return nullptr;
  for (const TensorUse& use : node.uses) {
    if (!(tape.values[use.value].device == tape.device)) return nullptr;
  }
  std::unique_ptr<DeviceProduct> made(new DeviceProduct);
  made->bias = adds ? node.uses[0].value : kNone;
  made->x = node.uses[adds ? 1 : 0].value;
  made->weight = node.uses[adds ? 2 : 1].value;
  const Tensor &x = tape.twin(made->x), &w = tape.twin(made->weight), &result = tape.twin(node.results[0]);
  const int64_t rows = x.size(0), depth = x.size(1), columns = w.size(1);
  if (rows == 0 || rows > maker.most_product_rows || depth == 0 || columns == 0 || !is_float(x.dtype()) ||
      x.dtype() != w.dtype() || x.dtype() != result.dtype() || !result.is_contiguous() ||
      (x.stride(1) != 1 && depth != 1) || (w.stride(0) != 1 && depth != 1))
    return nullptr;
  if (adds) {
    const Tensor& b = tape.twin(made->bias);
    if (b.dim() != 1 || b.size(0) != columns || b.stride(0) != 1 || b.dtype() != x.dtype()) return nullptr;
  }
  codegen::ProductNest& nest = made->nest;
  nest.dtype = x.dtype();
  nest.rows = rows;
  nest.columns = columns;
  nest.depth = depth;
  nest.x_row = rows == 1 ? depth : x.stride(0);
  nest.w_column = columns == 1 ? depth : w.stride(1);
  nest.has_bias = adds;
  nest.has_constant = tape.is_constant(made->weight);
  made->rows_ = rows;
  made->columns_ = columns;
  made->row_stride_ = columns;
  return made;
}

void DeviceProduct::run(const void* const*, void*, const Epilogue&) const {
  fail("a product of a device has no call on the host");
}

std::string DeviceProduct::text() const {
  return fmt::format("product {} x {} x {}", nest.rows, nest.depth, nest.columns);
}

std::string ProductChain::text() const {
  const codegen::ProductNest &first = products.front(), &last = products.back();
  if (products.size() == 1)
    return fmt::format("{}product {} x {} x {}", first.head.calls.empty() ? "" : "rows and ", first.rows, first.depth,
                       first.columns);
  return fmt::format("chain of {} products, {} x {} to {} x {}", products.size(), first.rows, first.depth, last.rows,
                     last.columns);
}

ProductChain chain_of(const DeviceProduct& product, const TailQuery& query, const TailNodes& tail) {
  ProductChain chain;
  codegen::ProductNest nest = product.nest;
  chain.values = {product.x, product.weight};
  if (product.bias != kNone) chain.values.push_back(product.bias);
  chain.result = query.tape.nodes[query.node].results[0];
  if (tail.nodes.empty()) {
    nest.tail.sizes = {nest.rows, nest.columns};
    nest.tail.buffers = {{nest.dtype, {nest.columns, 1}, false}, {nest.dtype, {nest.columns, 1}, true}};
    chain.values.push_back(chain.result);
  } else {
    TailNest built = build_tail(query, tail);
    chain.values.insert(chain.values.end(), built.values.begin() + 1, built.values.end());
    chain.result = tail.result;
    nest.tail = std::move(built.nest);
  }
  chain.products.push_back(std::move(nest));
  return chain;
}

ProductChain joined(const ProductChain& chain, const ProductChain& next) {
  ProductChain both = chain;
  both.values.pop_back();  // what it wrote
  both.values.insert(both.values.end(), next.values.begin() + 1, next.values.end());
  both.products.insert(both.products.end(), next.products.begin(), next.products.end());
  both.result = next.result;
  return both;
}

ProductChain with_head(const ProductChain& chain, const loops::BuiltNest& rows) {
  ProductChain made = chain;
  made.products[0].head = rows.nest;
  made.values.clear();
  for (size_t i = 0; i < rows.values.size(); ++i) {
    if (!rows.nest.buffers[i].written) made.values.push_back(static_cast<ValueId>(rows.values[i]));
  }
  made.values.insert(made.values.end(), chain.values.begin() + 1, chain.values.end());
  return made;
}

void ProductStep::run(Frame& frame) const {
  SmallVector<void*, 32> addresses;
  for (const Place& place : buffers_) addresses.push_back(place.in(frame));
  kernel_->run(addresses.data());
}

}  // namespace sconce::executor
