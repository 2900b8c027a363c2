// The argument of attention, on both sides. Strides are in elements; elements of a row are adjacent.
struct AttentionArguments {
  const void *query, *key, *value, *mask;
  void* out;
  float* level;  // log(sum(exp(scores))), [batch, heads, queries]
  i64 query_stride[3], key_stride[3], value_stride[3], out_stride[3], level_stride[3];  // batch, head, row
  i64 mask_stride[4];                                                  // batch, head, query, key
  int heads, key_heads, queries, keys, size;                           // size: elements of a row
  int set;                                                             // heads whose blocks run together (attention_groups)
  float scale;
};
