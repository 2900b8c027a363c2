// The argument of kernels of attention over one query, on both sides; sizes and strides stand in the text, but for those of what
// the nest of weights reads.
struct AttentionNestArguments {
  const void *query, *key, *value;
  void* out;
  i64 query_batch, key_batch, key_row, value_batch, value_row, out_batch;
  // Where FIRST is not 0: key and value are written, from parts with FIRST keys and the rest.
  const void *key_part[2], *value_part[2];
  RowNestArguments rows;
};
