// The argument of the product kernel, on both sides. Strides are in elements.
struct ProductArguments {
  const void *a, *b;
  void* out;
  const void* bias;  // one element for each column, or null
  i64 a_row, a_column, a_batch;
  i64 b_row, b_column, b_batch;
  i64 out_row, out_column, out_batch;
  i64 m, n, k;
  Number alpha, beta;  // out = alpha * (a @ b) + beta * out; out is not read when `reads_out` is 0
  int reads_out, is_scaled;
};
