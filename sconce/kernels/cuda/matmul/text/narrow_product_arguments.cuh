// A product with few rows, on both sides: x is [ROWS, depth], depth innermost; w is [columns, depth], depth innermost, too, or,
// for narrow_columns, [depth, columns] with rows of w_column elements.
struct NarrowProduct {
  const void *x, *w, *bias;
  i64 x_row, w_column;  // strides
  i64 columns, depth;
};
// Of products alone, a batch of them.
struct NarrowArguments {
  NarrowProduct p;
  void* out;
  i64 out_row;
  i64 x_batch, w_batch, out_batch;
};
