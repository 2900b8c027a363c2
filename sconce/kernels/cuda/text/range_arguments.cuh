// The argument of ranges, on both sides.
struct RangeArguments {
  void* out;
  i64 count;
  f64 first, last, step, base;
  i64 whole_first, whole_step;
};
