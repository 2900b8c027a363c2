// The argument of reductions, on both sides. Dimension 0 is the innermost.
struct ReduceArguments {
  const void* in;
  void* out[2];
  void* partial;  // State[splits][outputs], where there are several splits
  u32* counters;  // one for each block of outputs; 0 before and after
  i64 outputs, count;
  i64 chunk;  // elements (rows) of a split
  u32 splits;
  int kept_rank, reduced_rank;
  i64 kept_size[8], kept_in[8], kept_out[2][8];
  i64 reduced_size[8], reduced_in[8];
  Number numbers[3];
};
