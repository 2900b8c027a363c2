// The argument of reductions over segments, on both sides: data is [outer, n, inner], dense.
struct SegmentArguments {
  const void* data;
  const i64* starts;           // [outer, count + 1]
  const void *grad, *result;   // gradient: [outer, count, inner]
  void* out;                   // the same, or the gradient of data, 0 at first
  i64 outer, n, inner, count;
  f64 start;
  int has_start;
};
