// The argument of kernels of attention over one query, on both sides; sizes and strides stand in the text, but for those of what
// the nest of weights reads.
struct AttentionNestArguments {
  const void *query, *key, *value;
  void* out;
  i64 query_batch, key_batch, key_row, value_batch, value_row, out_batch;
  RowNestArguments rows;
};
