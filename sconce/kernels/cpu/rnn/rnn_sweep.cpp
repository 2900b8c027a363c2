// The inputs of all steps are multiplied at once. Each step then adds the product of the states before it and runs its
// cells; hidden units are split over threads, so that a thread keeps its part of the weights in its own cache.
#include "sconce/kernels/cpu/rnn/rnn_sweep.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/gemm.h"
#include "sconce/kernels/cpu/rnn/rnn_kernels.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"
#include "sconce/tensor/element.h"

namespace sconce {

const RnnKernels& rnn_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(rnn_kernels)); }

namespace {

SCONCE_VARIANT(packed_steps, "rnn.packed", "weights packed for more than 8 rows of a step");
SCONCE_VARIANT(chunked, "rnn.chunks", "several threads, each with a share of the hidden units");
SCONCE_VARIANT(two_segments, "rnn.two_segments",
               "packed sequences of different lengths, backwards: rows that begin at a step");
SCONCE_VARIANT(packed_back, "rnn.backward.packed",
               "weights packed for the gradients of more than 8 rows and several steps");

constexpr int64_t kFewRows = 8;                // so few are multiplied with weights where they lie
constexpr int64_t kWorkPerThread = 64 * 1024;  // multiplications of one step

// Rows whose states before stand one after the other: those of the step before, or the first states.
struct Segment {
  int64_t begin, end;  // rows of the step
  int64_t from;        // row of `out` that the first comes from; -1: of hx
};

struct Steps {
  std::vector<int64_t> order, first;  // in which steps run; the first row of each
  const std::vector<int64_t>& batch;
  explicit Steps(const RnnLayer& layer) : batch(layer.batch) {
    const auto count = static_cast<int64_t>(batch.size());
    int64_t row = 0;
    for (int64_t t = 0; t < count; ++t) {
      order.push_back(layer.reverse ? count - 1 - t : t);
      first.push_back(row);
      row += batch[static_cast<size_t>(t)];
    }
  }
  // Of the n-th step that runs.
  int segments(int64_t n, Segment (&out)[2]) const {
    const auto rows = batch[static_cast<size_t>(order[static_cast<size_t>(n)])];
    if (n == 0) {
      out[0] = {0, rows, -1};
      return 1;
    }
    const auto before = static_cast<size_t>(order[static_cast<size_t>(n - 1)]);
    const int64_t known = std::min(rows, batch[before]);
    out[0] = {0, known, first[before]};
    if (!two_segments(known != rows)) return 1;
    out[1] = {known, rows, -1};
    return 2;
  }
};

template <class T>
const T* row_of(const Tensor& t, int64_t row) {
  return t.data<T>() + row * t.sizes()[1];
}

template <class T>
struct Forward {
  const RnnLayer& layer;
  const Tensor &out, &gates, &kept;
  bool save;
  static constexpr DType dtype = sizeof(T) == 8 ? DType::float64 : DType::float32;

  int64_t count = rnn_gates(layer.mode), hidden = layer.w_hh.sizes()[0] / count, state = layer.w_hh.sizes()[1];
  bool gru = layer.mode == RnnMode::gru, lstm = layer.mode == RnnMode::lstm;

  // Part of the gates: columns [column, column + width) of the product with w_hh, packed for many rows.
  struct Part {
    int64_t column, width;
    void* packed;
  };

  // c += (or =, plus bias) states before times the part
  void multiply(const Part& part, const Segment& s, T* c, int64_t pitch, bool add, const T* bias) const {
    Epilogue epilogue;
    epilogue.accumulate = add;
    epilogue.bias = bias;
    const T* a = s.from < 0 ? row_of<T>(layer.hx, s.begin) : row_of<T>(out, s.from + s.begin);
    const int64_t rows = s.end - s.begin;
    if (packed_steps(part.packed && rows > kFewRows)) {
      gemm_packed(dtype, rows, part.width, state, {a, state, 1}, part.packed, {c, pitch, 1}, epilogue);
    } else {
      gemm(dtype, rows, part.width, state, {a, state, 1}, {row_of<T>(layer.w_hh, part.column), 1, state}, {c, pitch, 1},
           epilogue);
    }
  }

  void run() const {
    const Steps steps(layer);
    const int64_t rows = layer.input.sizes()[0], width = layer.input.sizes()[1], most = layer.hx.sizes()[0];
    Scratch scratch;
    // One bias for both products, but for the gru's candidate, whose hidden part is multiplied by a gate.
    T *bias = nullptr, *hidden_bias = nullptr;
    if (layer.b_ih.defined()) {
      bias = scratch.take<T>(count * hidden);
      for (int64_t i = 0; i < count * hidden; ++i)
        bias[i] = layer.b_ih.data<T>()[i] + (gru && i >= 2 * hidden ? T(0) : layer.b_hh.data<T>()[i]);
      if (gru) hidden_bias = layer.b_hh.data<T>() + 2 * hidden;
    }
    Epilogue with_bias;
    with_bias.bias = bias;
    const int64_t pitch = count * hidden;
    gemm(dtype, rows, pitch, width, {layer.input.data<T>(), width, 1}, {layer.w_ih.data<T>(), 1, width},
         {gates.data<T>(), pitch, 1}, with_bias);

    const int64_t work = most * pitch * state;
    const int64_t chunks = std::clamp<int64_t>(std::min<int64_t>(work / kWorkPerThread, hidden / 16), 1, num_threads());
    const int64_t parts_per_chunk = chunked(chunks > 1) ? count : gru ? 2 : 1;
    std::vector<Part> parts;
    for (int64_t c = 0; c < chunks; ++c) {
      const int64_t begin = bounds(c, chunks), end = bounds(c + 1, chunks);
      for (int64_t p = 0; p < parts_per_chunk; ++p) {
        if (chunks == 1) {
          parts.push_back(gru ? (p == 0 ? Part{0, 2 * hidden, nullptr} : Part{2 * hidden, hidden, nullptr})
                              : Part{0, pitch, nullptr});
        } else {
          parts.push_back({p * hidden + begin, end - begin, nullptr});
        }
        if (most > kFewRows) {
          Part& part = parts.back();
          part.packed = scratch.take_bytes(packed_b_bytes(dtype, state, part.width));
          pack_b(dtype, state, part.width, {row_of<T>(layer.w_hh, part.column), 1, state}, part.packed);
        }
      }
    }
    T* shown = layer.w_hr.defined() ? scratch.take<T>(most * hidden) : nullptr;  // before the projection
    const RnnKernels& kernels = rnn_kernels();
    const RnnKernels::Cell cell = (layer.mode == RnnMode::relu   ? kernels.relu
                                   : layer.mode == RnnMode::tanh ? kernels.tanh
                                   : lstm                        ? kernels.lstm
                                                                 : kernels.gru)[sizeof(T) == 8];
    for (int64_t n = 0; n < static_cast<int64_t>(steps.order.size()); ++n) {
      const auto t = static_cast<size_t>(steps.order[static_cast<size_t>(n)]);
      const int64_t row = steps.first[t];
      Segment segments[2];
      const int segment_count = steps.segments(n, segments);
      parallel_for(chunks, 1, [&](int64_t chunk_begin, int64_t chunk_end) {
        for (int64_t c = chunk_begin; c < chunk_end; ++c) {
          for (int i = 0; i < segment_count; ++i) {
            const Segment& s = segments[i];
            T* sums = gates.data<T>() + (row + s.begin) * pitch;
            T* extra = gru ? kept.data<T>() + (row + s.begin) * hidden : nullptr;
            for (int64_t p = 0; p < parts_per_chunk; ++p) {
              const Part& part = parts[static_cast<size_t>(c * parts_per_chunk + p)];
              const bool candidate = gru && part.column >= 2 * hidden;
              const int64_t inside = part.column - 2 * hidden;
              if (candidate) {
                multiply(part, s, extra + inside, hidden, false, hidden_bias ? hidden_bias + inside : nullptr);
              } else {
                multiply(part, s, sums + part.column, pitch, true, nullptr);
              }
            }
            RnnCell work_cell{};
            work_cell.gates = sums;
            work_cell.gates_pitch = pitch;
            work_cell.extra = extra;
            if (lstm) {
              work_cell.before =
                  s.from < 0 ? row_of<T>(layer.cx, s.begin) : kept.data<T>() + (s.from + s.begin) * hidden;
              work_cell.before_pitch = hidden;
              work_cell.cells = kept.data<T>() + (row + s.begin) * hidden;
            } else if (gru) {
              work_cell.before = s.from < 0 ? row_of<T>(layer.hx, s.begin) : row_of<T>(out, s.from + s.begin);
              work_cell.before_pitch = state;
            }
            work_cell.out = shown ? shown + s.begin * hidden : out.data<T>() + (row + s.begin) * state;
            work_cell.out_pitch = shown ? hidden : state;
            work_cell.rows = s.end - s.begin;
            work_cell.hidden = hidden;
            work_cell.begin = bounds(c, chunks);
            work_cell.end = bounds(c + 1, chunks);
            work_cell.save = save;
            cell(work_cell);
          }
        }
      });
      if (shown) {
        gemm(dtype, layer.batch[t], state, hidden, {shown, hidden, 1}, {layer.w_hr.data<T>(), 1, hidden},
             {out.data<T>() + row * state, state, 1});
      }
    }
  }

  // Shares of the hidden units begin at multiples of 16.
  int64_t bounds(int64_t chunk, int64_t chunks) const {
    return chunk == chunks ? hidden : hidden * chunk / chunks / 16 * 16;
  }
};

// The last state of every row of the batch.
template <class T>
void last_states(const RnnLayer& layer, const Tensor& all, const Tensor& first, const Tensor& last) {
  if (!last.defined()) return;
  const Steps steps(layer);
  const int64_t width = last.sizes()[1];
  for (int64_t r = 0; r < last.sizes()[0]; ++r) {
    const T* from = row_of<T>(first, r);
    for (const int64_t t : steps.order) {
      if (r < layer.batch[static_cast<size_t>(t)])
        from = all.data<T>() + (steps.first[static_cast<size_t>(t)] + r) * width;
    }
    std::memcpy(last.data<T>() + r * width, from, static_cast<size_t>(width) * sizeof(T));
  }
}

template <class T>
Tensor column_sums(const Tensor& t) {
  const int64_t rows = t.sizes()[0], width = t.sizes()[1];
  const Tensor out = empty_tensor({width}, t.dtype());
  const GemmTable<T>* table;
  if constexpr (sizeof(T) == 8)
    table = matrix_kernels().f64;
  else
    table = matrix_kernels().f32;
  table->add_parts(t.data<T>(), rows, width, width, out.data<T>());
  return out;
}

// a' b for a [rows, m], b [rows, n]
template <class T>
Tensor product_of_rows(const Tensor& a, const Tensor& b) {
  const int64_t rows = a.sizes()[0], m = a.sizes()[1], n = b.sizes()[1];
  const Tensor out = empty_tensor({m, n}, a.dtype());
  gemm(a.dtype(), m, n, rows, {a.data(), 1, m}, {b.data(), n, 1}, {out.data(), n, 1});
  return out;
}

template <class T>
RnnGradients backward(const RnnLayer& layer, const Tensor& grad_out, const Tensor& grad_hy, const Tensor& grad_cy,
                      const Tensor& out, const Tensor& gates, const Tensor& kept) {
  const DType dtype = layer.input.dtype();
  const int64_t count = rnn_gates(layer.mode), hidden = layer.w_hh.sizes()[0] / count, state = layer.w_hh.sizes()[1];
  const int64_t rows = layer.input.sizes()[0], width = layer.input.sizes()[1], most = layer.hx.sizes()[0];
  const bool gru = layer.mode == RnnMode::gru, lstm = layer.mode == RnnMode::lstm, projects = layer.w_hr.defined();
  const Steps steps(layer);
  const auto started = [&](const Tensor& given, int64_t columns) {
    const Tensor t = empty_tensor({most, columns}, dtype);
    if (given.defined()) {
      std::memcpy(t.data(), given.data(), static_cast<size_t>(t.numel()) * sizeof(T));
    } else {
      fill_tensor(t, 0);
    }
    return t;
  };
  const Tensor dh = started(grad_hy, state), dc = lstm ? started(grad_cy, hidden) : Tensor();
  // Gradients before the activations, of the input's and of the hidden products; they differ in the gru's candidate.
  const Tensor d_input = empty_tensor({rows, count * hidden}, dtype);
  const Tensor d_hidden = gru ? empty_tensor({rows, count * hidden}, dtype) : d_input;
  const Tensor before = empty_tensor({rows, state}, dtype);  // the states that each row came from
  const Tensor shown = projects ? empty_tensor({rows, hidden}, dtype) : Tensor();
  const Tensor d_projected = projects ? empty_tensor({rows, state}, dtype) : Tensor();
  const int64_t pitch = count * hidden;
  Scratch scratch;
  T *total = scratch.take<T>(most * state), *inner = projects ? scratch.take<T>(most * hidden) : total;
  void* packed = nullptr;
  if (packed_back(most > kFewRows && steps.order.size() > 1)) {
    packed = scratch.take_bytes(packed_b_bytes(dtype, pitch, state));
    pack_b(dtype, pitch, state, {layer.w_hh.data<T>(), state, 1}, packed);
  }
  const RnnKernels& kernels = rnn_kernels();
  const RnnKernels::Gradient cell = (layer.mode == RnnMode::relu   ? kernels.relu_gradient
                                     : layer.mode == RnnMode::tanh ? kernels.tanh_gradient
                                     : lstm                        ? kernels.lstm_gradient
                                                                   : kernels.gru_gradient)[sizeof(T) == 8];
  for (auto n = static_cast<int64_t>(steps.order.size()) - 1; n >= 0; --n) {
    const auto t = static_cast<size_t>(steps.order[static_cast<size_t>(n)]);
    const int64_t first = steps.first[t], now = layer.batch[t];
    Segment segments[2];
    const int segment_count = steps.segments(n, segments);
    const T *later = dh.data<T>(), *shown_grad = grad_out.defined() ? grad_out.data<T>() + first * state : nullptr;
    for (int64_t i = 0; i < now * state; ++i) total[i] = later[i] + (shown_grad ? shown_grad[i] : T(0));
    if (projects) {
      std::memcpy(d_projected.data<T>() + first * state, total, static_cast<size_t>(now * state) * sizeof(T));
      gemm(dtype, now, hidden, state, {total, state, 1}, {layer.w_hr.data<T>(), hidden, 1}, {inner, hidden, 1});
    }
    for (int i = 0; i < segment_count; ++i) {
      const Segment& s = segments[i];
      const int64_t row = first + s.begin, count_rows = s.end - s.begin;
      const T* h_before = s.from < 0 ? row_of<T>(layer.hx, s.begin) : row_of<T>(out, s.from + s.begin);
      std::memcpy(before.data<T>() + row * state, h_before, static_cast<size_t>(count_rows * state) * sizeof(T));
      RnnCellGradient work{};
      work.gates = gates.data<T>() + row * pitch;
      work.grad = inner + s.begin * hidden;
      work.of_input = d_input.data<T>() + row * pitch;
      work.of_hidden = d_hidden.data<T>() + row * pitch;
      work.rows = count_rows;
      work.hidden = work.before_pitch = hidden;
      if (lstm) {
        work.kept = kept.data<T>() + row * hidden;
        work.before = s.from < 0 ? row_of<T>(layer.cx, s.begin) : kept.data<T>() + (s.from + s.begin) * hidden;
        work.of_state = dc.data<T>() + s.begin * hidden;
        work.shown = projects ? shown.data<T>() + row * hidden : nullptr;
      } else if (gru) {
        work.kept = kept.data<T>() + row * hidden;
        work.before = h_before;
        work.of_state = dh.data<T>() + s.begin * hidden;
      } else {
        work.out = out.data<T>() + row * hidden;
      }
      cell(work);
    }
    Epilogue epilogue;
    epilogue.accumulate = gru;
    const ConstMatrix slopes{d_hidden.data<T>() + first * pitch, pitch, 1};
    if (packed)
      gemm_packed(dtype, now, state, pitch, slopes, packed, {dh.data<T>(), state, 1}, epilogue);
    else
      gemm(dtype, now, state, pitch, slopes, {layer.w_hh.data<T>(), state, 1}, {dh.data<T>(), state, 1}, epilogue);
  }
  RnnGradients result;
  result.hx = dh;
  result.cx = dc;
  result.input = empty_tensor({rows, width}, dtype);
  gemm(dtype, rows, width, pitch, {d_input.data<T>(), pitch, 1}, {layer.w_ih.data<T>(), width, 1},
       {result.input.data<T>(), width, 1});
  result.w_ih = product_of_rows<T>(d_input, layer.input);
  result.w_hh = product_of_rows<T>(d_hidden, before);
  if (layer.b_ih.defined()) {
    result.b_ih = column_sums<T>(d_input);
    result.b_hh = column_sums<T>(d_hidden);
  }
  if (projects) result.w_hr = product_of_rows<T>(d_projected, shown);
  return result;
}

}  // namespace

void rnn_forward(const RnnLayer& layer, const Tensor& out, const Tensor& hy, const Tensor& cy, const Tensor& gates,
                 const Tensor& kept, bool save) {
  for_float(layer.input.dtype(), [&]<class T>() {
    Forward<T>{layer, out, gates, kept, save}.run();
    last_states<T>(layer, out, layer.hx, hy);
    if (layer.mode == RnnMode::lstm) last_states<T>(layer, kept, layer.cx, cy);
  });
}

RnnGradients rnn_backward(const RnnLayer& layer, const Tensor& grad_out, const Tensor& grad_hy, const Tensor& grad_cy,
                          const Tensor& out, const Tensor& gates, const Tensor& kept) {
  RnnGradients result;
  for_float(layer.input.dtype(),
            [&]<class T>() { result = backward<T>(layer, grad_out, grad_hy, grad_cy, out, gates, kept); });
  return result;
}

}  // namespace sconce
