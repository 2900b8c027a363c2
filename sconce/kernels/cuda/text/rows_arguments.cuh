// The argument of kernels that work on whole rows, on both sides.
struct RowArguments {
  const void* in[4];
  void* out[3];
  i64 rows, columns;
  i64 groups, spread;  // norms: column c of row r has the weight (r % groups) * (columns / spread) + c / spread
  f64 eps;
};
