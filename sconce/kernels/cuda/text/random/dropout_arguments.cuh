// The argument of dropout, on both sides: dense tensors of one order.
struct DropoutArguments {
  const void* in;
  void* out;
  void* mask;  // b8
  i64 count;
  f64 keeps;  // probability
  u64 seed, counter;
};
