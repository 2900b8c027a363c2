// The argument of distances between rows, on both sides: batches of `rows` and `others` rows of `width` elements, dense.
struct DistanceArguments {
  const void *x, *y;
  const void *grad, *distance;  // gradient: [batch, rows, others]
  void* out;                    // [batch, rows, others], or the gradient of x
  i64 batch, rows, others, width;
  f64 p;
};
