#include "sconce/kernels/cuda/linalg/matrix_kernels.h"

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/linalg/matrices_arguments.cuh"

constexpr int64_t kLargestTurn = 32;  // bytes of a rotation

Compute compute_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return Compute::f32;
    case DType::float64:
      return Compute::f64;
    case DType::complex64:
      return Compute::c64;
    case DType::complex128:
      return Compute::c128;
    default:
      fail_as(ErrorKind::not_implemented, "linear algebra on CUDA is not implemented for '{}'",
              dtype_legacy_name(dtype));
  }
}

// The texts that a kernel stands in, and a line in front of them.
struct Family {
  const char *key, *file, *line;
};
constexpr Family kFactors{"matrices", "matrices", ""};
constexpr Family kGeneral{"general", "spectral", "#define GENERAL\n"}, kSymmetric{"symmetric", "spectral", ""};

void run(const char* entry, const MatrixArguments& a, const Columns& of, int64_t count,
         const Family& family = kFactors) {
  if (count == 0) return;
  const Device device = of.data.device();
  const DType dtype = of.data.dtype();
  const Compute compute = compute_of(dtype);
  const Kernel& kernel = find_kernel(
      device, fmt::format("{}/{}", family.key, static_cast<int>(dtype)),
      [&] {
        const bool is_complex = class_of(compute) == Class::complex;
        std::string out = vocabulary(is_complex, 0, false) + compute_lines(compute);
        out += fmt::format("{}using E = {};\nusing R = P;\n", family.line, stored_type(dtype));
        for (const char* file : {"block", "matrices_arguments", "matrix_elements", family.file}) out += text_file(file);
        return out;
      },
      entry);
  Shape shape;
  shape.grid_x = static_cast<unsigned>(count);
  shape.block_x = 256;
  launch(device, kernel, shape, &a, sizeof a, entry);
}

MatrixArguments arguments_of(const Columns& a) {
  MatrixArguments args{};
  args.a = a.data.data();
  args.m = a.rows();
  args.n = a.columns();
  args.k = std::min(args.m, args.n);
  return args;
}
void put(MatrixArguments& args, const Columns& b) {
  args.b = b.data.data();
  args.rows = b.rows();
  args.columns = b.columns();
}
i32* integers(const Tensor& t) { return static_cast<i32*>(t.data()); }

}  // namespace

Tensor Columns::matrices() const { return sconce::transpose(data, -2, -1); }

Dims batch_of(const Tensor& t) { return Dims(t.sizes().slice(0, t.sizes().size() - 2)); }
Columns columns_of(const Tensor& matrices, IntList batch) {
  Dims sizes(batch);
  sizes.push_back(matrices.size(-1));
  sizes.push_back(matrices.size(-2));
  const Tensor out = empty_tensor(sizes, matrices.dtype(), matrices.device());
  sconce::copy_(out, sconce::expand(sconce::transpose(matrices, -2, -1), sizes));
  return {out};
}
Columns columns_of(const Tensor& matrices) { return columns_of(matrices, batch_of(matrices)); }

void factor_lu(const Columns& a, bool with_pivots, const Tensor& pivots, const Tensor& info) {
  MatrixArguments args = arguments_of(a);
  args.left = with_pivots ? 1 : 0;
  args.pivots = integers(pivots);
  args.info = integers(info);
  run("lu", args, a, a.count());
}
void exchange_rows(const Columns& b, const Tensor& pivots, bool back) {
  MatrixArguments args{};
  put(args, b);
  args.k = pivots.size(-1);
  args.pivots = integers(pivots);
  args.trans = back ? 1 : 0;
  run("exchange", args, b, b.count());
}
void solve_triangle(const Columns& a, const Columns& b, bool upper, bool left, Trans trans, bool unit) {
  MatrixArguments args = arguments_of(a);
  put(args, b);
  args.upper = upper ? 1 : 0;
  args.left = left ? 1 : 0;
  args.trans = static_cast<int>(trans);
  args.unit = unit ? 1 : 0;
  run("triangle", args, b, b.count());
}
void factor_cholesky(const Columns& a, const Tensor& info) {
  MatrixArguments args = arguments_of(a);
  args.info = integers(info);
  run("cholesky", args, a, a.count());
}
void factor_qr(const Columns& a, const Tensor& tau) {
  MatrixArguments args = arguments_of(a);
  args.tau = tau.data();
  run("reflections", args, a, a.count());
}
void apply_reflections(const Columns& a, const Tensor& tau, const Columns& b, bool left, bool adjoint) {
  MatrixArguments args = arguments_of(a);
  put(args, b);
  args.k = tau.size(-1);
  args.tau = tau.data();
  args.left = left ? 1 : 0;
  args.trans = adjoint ? 2 : 0;
  run("reflect", args, b, b.count());
}
void diagonalize(const Columns& a, const Columns& vectors) {
  MatrixArguments args = arguments_of(a);
  put(args, vectors);
  const int64_t bytes = a.count() * ((args.n + 1) / 2) * kLargestTurn;
  const Tensor room = empty_tensor({std::max<int64_t>(bytes, 1)}, DType::uint8, a.data.device());
  args.room = room.data();
  run("eigen", args, a, a.count());
}
void decompose(const Columns& a, const Columns& vectors, const Tensor& values, bool with_vectors, const Tensor& info) {
  MatrixArguments args = arguments_of(a);
  put(args, vectors);
  args.tau = values.data();
  args.info = integers(info);
  args.left = with_vectors ? 1 : 0;
  const Tensor room = empty_tensor({a.count(), args.n * args.n + 3 * args.n}, a.data.dtype(), a.data.device());
  args.room = room.data();
  run("general", args, a, a.count(), kGeneral);
}
void factor_ldl(const Columns& a, bool hermitian, const Tensor& pivots, const Tensor& info) {
  MatrixArguments args = arguments_of(a);
  args.trans = hermitian ? 1 : 0;
  args.pivots = integers(pivots);
  args.info = integers(info);
  run("ldl", args, a, a.count(), kSymmetric);
}
void solve_ldl(const Columns& a, bool hermitian, const Tensor& pivots, const Columns& b) {
  MatrixArguments args = arguments_of(a);
  put(args, b);
  args.trans = hermitian ? 1 : 0;
  args.pivots = integers(pivots);
  run("ldl_solve", args, b, b.count(), kSymmetric);
}
void orthogonalize(const Columns& a, const Columns& vectors) {
  MatrixArguments args = arguments_of(a);
  put(args, vectors);
  run("orthogonal", args, a, a.count());
}

}  // namespace sconce::cuda
