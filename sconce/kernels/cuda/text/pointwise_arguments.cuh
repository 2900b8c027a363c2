// The argument of pointwise kernels, on both sides. Operand 0 is the result. Dimension 0 is the innermost; sizes there count
// packs of WIDTH elements. Divisions by sizes are a multiplication and a shift.
struct PointwiseArguments {
  void* data[7];
  i64 stride[7][8];  // in elements
  u32 size[8], magic[8], shift[8];
  i64 packs, elements;  // elements: of which the last pack may have fewer than WIDTH, where there is one dimension
  int rank;
  u32 on_host;      // bit k: input k is one element, element[k]
  u32 packed;       // across: operands may be read four at a time
  int narrow_mode;  // how `narrow` rounds
  u32 columns, rows, column_tiles, row_tiles;  // across: dimensions 0 and 1 in elements, and in tiles
  Number numbers[7];
  alignas(16) u8 element[6][16];
};
// Where all operands are dense, in one order.
struct DenseArguments {
  void* data[7];
  i64 elements;
  int narrow_mode;
  Number numbers[7];
};
