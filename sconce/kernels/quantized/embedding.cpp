// Embeddings in bytes: every row has a scale and a zero point of its own.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantized_kernels.h"
#include "sconce/kernels/quantized/packed_params.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::quantized {

EmbeddingParams::EmbeddingParams(const Tensor& given, int64_t version, int64_t bit_rate)
    : version(version), bit_rate(bit_rate) {
  SCONCE_CHECK(bit_rate == 8, "embedding tables of {} bits are not supported, only those of 8", bit_rate);
  SCONCE_CHECK(given.defined() && given.dim() == 2 && given.dtype() == DType::quint8,
               "quantized::embedding_bag_prepack needs a matrix of quint8");
  const Quantizer& q = quantizer_of(given);
  SCONCE_CHECK(q.scheme == QScheme::per_channel_affine_float_qparams && q.axis == 0,
               "quantized::embedding_bag_prepack: Expect embedding_bag weights to be quantized using "
               "kPerChannelAffineFloatQParams");
  weight = contiguous_quantized(given, MemoryFormat::contiguous);
}

namespace {

// A table of rows, as packed parameters or as bytes with scale and bias behind each row.
struct Rows {
  int64_t count, width;
  const uint8_t* data;
  int64_t stride;
  const Quantizer* quantizer;  // null: behind each row

  // number = byte * scale + bias
  struct Line {
    const uint8_t* bytes;
    float scale, bias;
  };
  Line at(int64_t i) const {
    Line line{data + i * stride, 0, 0};
    if (quantizer) {
      line.scale = quantizer->scales.data<float>()[i];
      line.bias = -line.scale * quantizer->zero_points.data<float>()[i];
    } else {
      std::memcpy(&line.scale, line.bytes + width, 4);
      std::memcpy(&line.bias, line.bytes + width + 4, 4);
    }
    return line;
  }
};

Rows rows_of(const EmbeddingParams& p) {
  return {p.weight.size(0), p.weight.size(1), static_cast<const uint8_t*>(p.weight.data()), p.weight.size(1),
          &quantizer_of(p.weight)};
}

struct Bags {
  Tensor indices, offsets;  // int64, contiguous
  int64_t count = 0;
  bool last_is_end = false;
  int64_t begin(int64_t bag) const { return offsets.data<int64_t>()[bag]; }
  int64_t end(int64_t bag) const {
    return bag + 1 < count || last_is_end ? offsets.data<int64_t>()[bag + 1] : indices.numel();
  }
};

Tensor as_indices(const Tensor& t, std::string_view what) {
  SCONCE_CHECK(t.dtype() == DType::int64 || t.dtype() == DType::int32, "{} must be int32 or int64, got {}", what,
               dtype_name(t.dtype()));
  return contiguous_tensor(to_dtype(t, DType::int64));
}

Bags bags_of(const Tensor& given, const Tensor& given_offsets, bool include_last_offset) {
  Bags bags;
  bags.indices = as_indices(given, "indices");
  SCONCE_CHECK(given.dim() == 1 || given.dim() == 2,
               "qembedding/qembedding_bag operator supports 1 or 2d indices, got {}", given.dim());
  if (given.dim() == 2) {
    SCONCE_CHECK(!given_offsets.defined(), "embedding_bag operator: input is 2D, then offsets has to be None");
    bags.count = given.size(0);
    bags.offsets = empty_tensor({bags.count + 1}, DType::int64);
    for (int64_t i = 0; i <= bags.count; ++i) bags.offsets.data<int64_t>()[i] = i * given.size(1);
    bags.last_is_end = true;
    return bags;
  }
  SCONCE_CHECK(given_offsets.defined() && given_offsets.dim() == 1,
               "embedding_bag expects offsets to be set for 1D indices.");
  bags.offsets = as_indices(given_offsets, "offsets");
  bags.last_is_end = include_last_offset;
  bags.count = bags.offsets.numel() - include_last_offset;
  SCONCE_CHECK(bags.count >= 0, "embedding_bag: offsets must have at least one element with include_last_offset");
  for (int64_t i = 0, before = 0; i < bags.offsets.numel(); ++i) {
    const int64_t offset = bags.offsets.data<int64_t>()[i];
    SCONCE_CHECK(offset >= before && offset <= bags.indices.numel(),
                 "embedding_bag: offsets must not decrease nor pass the {} indices", bags.indices.numel());
    before = offset;
  }
  return bags;
}

Tensor sums_of_bags(const Rows& rows, const Bags& bags, const Tensor& weights) {
  const Tensor out = sconce::zeros({bags.count, rows.width});
  const Tensor factors = weights.defined() ? contiguous_tensor(to_dtype(weights, DType::float32)) : Tensor();
  SCONCE_CHECK(!factors.defined() || factors.numel() == bags.indices.numel(),
               "per_sample_weights must be as many as the indices");
  for (int64_t bag = 0; bag < bags.count; ++bag) {
    auto* to = out.data<float>() + bag * rows.width;
    for (int64_t i = bags.begin(bag); i < bags.end(bag); ++i) {
      const int64_t index = bags.indices.data<int64_t>()[i];
      SCONCE_CHECK_AS(index, index >= 0 && index < rows.count, "embedding_bag: index {} is outside of {} rows", index,
                      rows.count);
      const Rows::Line line = rows.at(index);
      float scale = line.scale, bias = line.bias;
      if (factors.defined()) {
        scale *= factors.data<float>()[i];
        bias *= factors.data<float>()[i];
      }
      for (int64_t c = 0; c < rows.width; ++c) to[c] += static_cast<float>(line.bytes[c]) * scale + bias;
    }
  }
  return out;
}

Rows rows_with_params(const Tensor& weight) {
  SCONCE_CHECK(weight.dim() == 2 && weight.dtype() == DType::uint8 && weight.size(1) >= 8,
               "a packed embedding table is a matrix of uint8, each row with a scale and a bias of 4 bytes");
  return {weight.size(0), weight.size(1) - 8, static_cast<const uint8_t*>(weight.data()), weight.size(1), nullptr};
}

void check_plain(bool pruned, const Tensor& mapping) {
  SCONCE_CHECK_AS(not_implemented, !pruned && (!mapping.defined() || mapping.numel() == 0),
                  "embedding tables with pruned rows are not supported");
}

}  // namespace
}  // namespace sconce::quantized

namespace sconce::cpu {

using namespace quantized;

Tensor quantized_embedding_bag_byte_prepack(const Tensor& weight) {
  SCONCE_CHECK(weight.dim() == 2 && weight.dtype() == DType::float32,
               "quantized::embedding_bag_byte_prepack needs a matrix of float32");
  const Tensor in = contiguous_tensor(weight);
  const int64_t rows = in.size(0), width = in.size(1);
  const Tensor out = empty_tensor({rows, width + 8}, DType::uint8);
  for (int64_t r = 0; r < rows; ++r) {
    const auto* x = in.data<float>() + r * width;
    uint8_t* to = out.data<uint8_t>() + r * (width + 8);
    float least = 0, most = 0;
    if (width > 0) quantized_loops().min_max(x, width, &least, &most);
    const float range = most - least, scale = range / 255.0f, inverse = 255.0f / (range + 1e-8f);
    for (int64_t c = 0; c < width; ++c)
      to[c] = static_cast<uint8_t>(std::clamp(std::nearbyint((x[c] - least) * inverse), 0.f, 255.f));
    std::memcpy(to + width, &scale, 4);
    std::memcpy(to + width + 4, &least, 4);
  }
  return out;
}

Tensor quantized_embedding_bag_byte_unpack(const Tensor& weight) {
  const Tensor in = contiguous_tensor(weight);
  const Rows rows = rows_with_params(in);
  const Tensor out = empty_tensor({rows.count, rows.width}, DType::float32);
  for (int64_t r = 0; r < rows.count; ++r) {
    const Rows::Line line = rows.at(r);
    for (int64_t c = 0; c < rows.width; ++c)
      out.data<float>()[r * rows.width + c] = static_cast<float>(line.bytes[c]) * line.scale + line.bias;
  }
  return out;
}

Tensor quantized_embedding_bag_byte_rowwise_offsets(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                                                    bool, int64_t mode, bool pruned_weights,
                                                    const Tensor& per_sample_weights,
                                                    const Tensor& compressed_indices_mapping,
                                                    bool include_last_offset) {
  check_plain(pruned_weights, compressed_indices_mapping);
  SCONCE_CHECK(mode == 0, "embedding_bag_byte_rowwise_offsets sums (mode 0), got mode {}", mode);
  const Tensor in = contiguous_tensor(weight);
  return sums_of_bags(rows_with_params(in), bags_of(indices, offsets, include_last_offset), per_sample_weights);
}

}  // namespace sconce::cpu

namespace sconce::boxed {

using namespace quantized;

void quantized_embedding_bag_prepack(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = embedding_value(std::make_shared<EmbeddingParams>(args[0].to_tensor(), 1, 8));
}
void quantized_embedding_bag_unpack(const Op&, KeySet, Value* args, Value* returns) {
  Value weight = instance<EmbeddingParams>(args[0]).weight;
  returns[0] = std::move(weight);
}

// (weight, indices, pruned_weights)
void quantized_embedding_byte(const Op&, KeySet, Value* args, Value* returns) {
  check_plain(args[2].to_bool(), Tensor());
  const auto params = instance_pointer<EmbeddingParams>(args[0]);
  const Tensor indices = args[1].to_tensor();
  const Bags each = bags_of(sconce::reshape(indices, {-1, 1}), Tensor(), false);
  Dims sizes(indices.sizes());
  sizes.push_back(params->weight.size(1));
  returns[0] = sconce::reshape(sums_of_bags(rows_of(*params), each, Tensor()), sizes);
}

// (weight, indices, offsets, scale_grad_by_freq, mode, pruned_weights, per_sample_weights, compressed_indices_mapping,
//  include_last_offset)
void quantized_embedding_bag_byte(const Op&, KeySet, Value* args, Value* returns) {
  check_plain(args[5].to_bool(), args[7].to_optional_tensor());
  const auto params = instance_pointer<EmbeddingParams>(args[0]);
  const int64_t mode = args[4].to_int();
  SCONCE_CHECK(mode == 0, "embedding_bag_byte sums (mode 0), got mode {}", mode);
  const Bags bags = bags_of(args[1].to_tensor(), args[2].to_optional_tensor(), args[8].to_bool());
  returns[0] = sums_of_bags(rows_of(*params), bags, args[6].to_optional_tensor());
}

// Programs of torch.ao name these beside the others and choose by the table's dtype. There is no table of 4 bits here.
void embedding_of_4_bits(const Op& op, KeySet, Value*, Value*) {
  fail_as(ErrorKind::not_implemented, "{}: embedding tables of 4 bits are not supported", op.qualified_name());
}

}  // namespace sconce::boxed
