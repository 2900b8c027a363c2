// The message for a matrix that a routine could not handle, by what the operator's name says it does.
#include "sconce/kernels/any/linalg_errors.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/linalg_kernels.h"

namespace sconce::linalg {
namespace {

std::string reason(std::string_view op, int64_t info) {
  const auto names = [&](std::string_view part) { return op.find(part) != op.npos; };
  const auto text = [&](std::string_view format) { return format_message(format, {info, info}); };
  if (names("svd") && info == -4)
    return "The algorithm failed to converge because the input matrix contained non-finite values.";
  if (info < 0) return format_message("Argument {} has an illegal value", {-info});
  if (names("inv"))
    return text(
        "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular.");
  if (names("solve")) return "The solver failed because the input matrix is singular.";
  if (names("cholesky"))
    return text(
        "The factorization could not be completed because the input is not positive-definite "
        "(the leading minor of order {} is not positive-definite).");
  if (names("eig"))
    return text(
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
        "eigenvalues (error code: {}).");
  if (names("svd"))
    return text(
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
        "singular values (error code: {}).");
  if (names("lstsq"))
    return text(
        "The least squares solution could not be computed because the input matrix does not have full rank "
        "(error code: {}).");
  if (names("lu_factor"))
    return text(
        "U[{},{}] is zero and using it on lu_solve would result in a division by zero. linalg.lu and "
        "linalg.lu_factor_ex return the factorization all the same.");
  if (names("ldl_factor"))
    return text(
        "D[{},{}] is zero: the input matrix is singular, and ldl_solve would divide by zero. linalg.ldl_factor_ex "
        "returns the factorization all the same.");
  return text("The algorithm failed (error code: {}).");
}

}  // namespace

void check_info(const Tensor& info, std::string_view op, bool is_matrix) {
  SCONCE_CHECK(info.dtype() == DType::int32, "{}: info must be of int32, got {}", op, dtype_name(info.dtype()));
  if (info.is_meta()) return;
  const std::vector<int64_t> values = integers_of(info);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    const std::string batch = is_matrix ? "" : format_message("(Batch element {}): ", {i});
    fail("{}: {}{}", op, batch, reason(op, values[i]));
  }
}

}  // namespace sconce::linalg

namespace sconce::any_device {

void _linalg_check_errors(const Tensor& info, std::string_view api_name, bool is_matrix) {
  linalg::check_info(info, api_name, is_matrix);
}

}  // namespace sconce::any_device
