// The argument of searches in sorted lines, on both sides.
struct SearchArguments {
  const void *sorted, *values;
  const i64* order;  // where the elements of a line stand that is not sorted itself; null where it is
  void* out;
  i64 elements, count;     // of a line
  i64 values_of_line;      // 0: one line for all values
  int right;
};
