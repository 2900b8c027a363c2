// The argument of the gradients of attention, on both sides. Strides are in elements: batch, head, row; elements of a row are
// adjacent. Queries and keys have the same places for their tensors and for what is given or wanted beside them.
struct AttentionBackwardArguments {
  const void *query, *grad, *key, *value, *mask;
  void *of_query, *of_key, *of_value;
  const float *level, *share;  // dense [batch, heads, queries]: log(sum(exp(scores))), sum(grad * out)
  i64 query_stride[3], grad_stride[3], key_stride[3], value_stride[3];
  i64 of_query_stride[3], of_key_stride[3], of_value_stride[3];
  i64 mask_stride[4];
  int heads, key_heads, queries, keys, size;
  float scale;
};
