// The argument of reductions over bags of rows, on both sides: bag b has the rows begin[b] to begin[b + 1].
struct BagArguments {
  const void* table;    // [rows, width]
  const i64* index;     // which row of the table; null: the rows follow one another
  const void* weights;  // of each entry, or null
  const i64* begin;     // bags + 1
  void* out;            // [bags, width]
  i64* best;            // largest: the row that it came from, or null
  i64* size;            // entries of each bag that count, or null
  i64 bags, width, rows, padding;
  f64 start;   // of a bag without entries, and what others begin with
  int starts;  // whether `start` counts
  void* word;
  int number;
};
