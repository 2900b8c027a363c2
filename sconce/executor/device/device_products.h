// Products of devices: which products of a tape a DeviceMaker fuses with what follows them, and the step that runs
// them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sconce/codegen/device_maker.h"
#include "sconce/dispatch/prepare.h"
#include "sconce/executor/execution_plan.h"
#include "sconce/executor/tails.h"
#include "sconce/loops/fuse.h"

namespace sconce::executor {

// A product of few rows: addmm with a bias of its columns, or mm. As a prepared call, so that tails.h finds what
// follows; it is not run.
class DeviceProduct final : public PreparedCall {
 public:
  // Null for other nodes.
  static std::unique_ptr<DeviceProduct> make(const Tape& tape, const TapeNode& node, const codegen::DeviceMaker& maker);

  void run(const void* const* args, void* result, const Epilogue& epilogue) const override;
  std::string text() const override;

  codegen::ProductNest nest;  // without a tail
  ValueId x = kNone, weight = kNone, bias = kNone;
};

// Some products, each of the one before it, and the values that their kernel is given.
struct ProductChain {
  std::vector<codegen::ProductNest> products;
  std::vector<ValueId> values;  // as DeviceMaker::make_products has buffers
  ValueId result = kNone;
  std::string text() const;
};
// The product of a node with its tail.
ProductChain chain_of(const DeviceProduct& product, const TailQuery& query, const TailNodes& tail);
// `next` behind `chain`, whose result is its factor.
ProductChain joined(const ProductChain& chain, const ProductChain& next);

// Its one product makes its factor by these rows.
ProductChain with_head(const ProductChain& chain, const loops::BuiltNest& rows);

class ProductStep final : public Step {
 public:
  ProductStep(std::shared_ptr<const codegen::Kernel> kernel, std::vector<Place> buffers, std::string text)
      : kernel_(std::move(kernel)), buffers_(std::move(buffers)), text_(std::move(text)) {}
  void run(Frame& frame) const override;
  std::string text() const override { return text_; }
  const codegen::Kernel* kernel() const override { return kernel_.get(); }

 private:
  std::shared_ptr<const codegen::Kernel> kernel_;
  std::vector<Place> buffers_;
  std::string text_;
};

}  // namespace sconce::executor
