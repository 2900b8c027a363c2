// The argument of kernels of loop nests, on both sides. Buffers have the nest's numbers. Dimension 0 is the innermost; its size
// counts packs of WIDTH elements. Divisions by sizes are a multiplication and a shift.
struct NestArguments {
  void* data[12];
  i64 stride[12][8];  // in elements
  u32 size[8], magic[8], shift[8];
  i64 packs, elements;  // elements: of which the last pack may have fewer than WIDTH, where there is one dimension
  Number numbers[32];
};
// Of nests of rows: buffers are [rows, columns] with columns one after the other, or one element a row.
struct RowNestArguments {
  void* data[12];
  i64 row[12];  // strides of rows
  i64 rows, columns;
  Number numbers[32];
};
