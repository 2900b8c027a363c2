// The argument of cross entropies of rows, on both sides.
struct CrossEntropyArguments {
  const void* x;  // [rows, columns]
  const i64* target;
  void *loss, *level;  // of each row; level: log(sum(exp(row)))
  const void* grad;    // of each row
  void* out;           // [rows, columns]
  i64 rows, columns, ignored;
  void* word;
  int number;
};
