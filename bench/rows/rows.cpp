#include "bench/rows/rows.h"

#include <utility>

#include "bench/rows/family_rows.h"
#include "bench/rows/inputs.h"
#include "bench/rows/model_rows.h"
#include "bench/rows/script_rows.h"
#include "bench/rows/training.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"

namespace sconce::bench {

Work::~Work() = default;

namespace {

// Makes the compiler believe that the tensor is looked at.
inline void keep(const Tensor& tensor) { asm volatile("" : : "r"(tensor.impl()) : "memory"); }

template <class Call>
class CallWork final : public Work {
 public:
  explicit CallWork(Call call) : call_(std::move(call)) {}
  void run(int64_t calls) override {
    for (int64_t i = 0; i < calls; ++i) keep(call_());
  }
  Tensor result() override { return call_(); }

 private:
  Call call_;
};

// `make` builds the inputs and returns the call that is timed.
template <class Make>
Row row(std::string name, Make make) {
  return {std::move(name),
          [make]() -> std::unique_ptr<Work> { return std::make_unique<CallWork<decltype(make())>>(make()); }};
}

// `add` as the interpreter calls it: over Values, by the operator's entry in the registry.
class BoxedAdd {
 public:
  BoxedAdd(Tensor a, Tensor b) : a_(std::move(a)), b_(std::move(b)) {}
  Tensor operator()() const {
    Value arguments[] = {a_, b_, 1};
    Value result;
    op_->call_boxed(arguments, &result);
    return result.to_tensor();
  }

 private:
  const Op* op_ = find_op("aten::add.Tensor");
  Tensor a_, b_;
};

Row matmul_row(int64_t n) {
  return row("matmul " + std::to_string(n),
             [n] { return [a = uniform({n, n}, 1), b = uniform({n, n}, 2)] { return mm(a, b); }; });
}

std::vector<Row> make_rows() {
  constexpr int64_t kRows = 1 << 14, kColumns = 1 << 10, kLarge = kRows * kColumns;
  std::vector<Row> rows;
  rows.push_back(row("add 8", [] { return [a = uniform({8}, 1), b = uniform({8}, 2)] { return add(a, b); }; }));
  rows.push_back(row("empty 8", [] { return [] { return empty({8}); }; }));
  rows.push_back(row("view 8", [] { return [a = uniform({8}, 1)] { return a.view({2, 4}); }; }));
  rows.push_back(row("add_out 8", [] {
    return [a = uniform({8}, 1), b = uniform({8}, 2), out = uniform({8}, 3)]() mutable -> const Tensor& {
      add_out(out, a, b);
      return out;
    };
  }));
  rows.push_back(row("boxed add 8", [] { return BoxedAdd(uniform({8}, 1), uniform({8}, 2)); }));
  rows.push_back(row("chain of 1000", [] {
    return [x = scalar_tensor_of(1.0, DType::float32), a = scalar_tensor_of(0.999, DType::float32),
            b = scalar_tensor_of(0.5, DType::float32)] {
      Tensor y = x;
      for (int i = 0; i < 500; ++i) {
        y = mul(y, a);
        y = add(y, b);
      }
      return y;
    };
  }));
  rows.push_back(row("pointwise chain 16M", [] {
    return [a = uniform({kLarge}, 1), b = uniform({kLarge}, 2), c = uniform({kLarge}, 3)] {
      return a.mul(b).add(c).sigmoid().mul(a);
    };
  }));
  rows.push_back(row("sum 16M", [] { return [a = uniform({kLarge}, 1, 0)] { return sum(a); }; }));
  rows.push_back(row("softmax 16M", [] { return [a = uniform({kRows, kColumns}, 1)] { return softmax(a, -1); }; }));
  rows.push_back(row("layer_norm 16M", [] {
    return [a = uniform({kRows, kColumns}, 1), w = uniform({kColumns}, 2), b = uniform({kColumns}, 3)] {
      return layer_norm(a, {kColumns}, w, b);
    };
  }));
  for (int64_t n : {64, 256, 1024}) rows.push_back(matmul_row(n));
  for (Row& row : family_rows(SCONCE_BENCH_DIR "/families.json")) rows.push_back(std::move(row));
  for (Row& row : script_rows(SCONCE_BENCH_DIR)) rows.push_back(std::move(row));
  for (Row& row : training_rows(SCONCE_BENCH_DIR)) rows.push_back(std::move(row));
  for (Row& row : model_rows(SCONCE_BENCH_DIR "/models.json", SCONCE_BENCH_DIR "/..")) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> rows = make_rows();
  return rows;
}

}  // namespace sconce::bench
