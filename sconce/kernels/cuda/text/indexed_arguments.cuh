// The argument of kernels that follow indices, on both sides. Dimension 0 is the innermost.
struct IndexedArguments {
  void* values;  // what is written to, or read for, each place
  void* self;    // the tensor that the indices lead into
  const void* index[8];
  i64 elements;
  int rank, number;  // number: of the operator, for the error word
  void* word;
  u32 size[8], magic[8], shift[8];
  i64 value_stride[8], self_stride[8], index_stride[8][8];
  i64 extent[8], extent_stride[8];  // of self, along the dimension of each index
  u32 on_host;                      // the value is one element, `element`
  alignas(16) u8 element[16];
};
