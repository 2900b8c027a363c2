// The argument of `places`, on both sides: where the elements stand that are not 0.
struct PlacesArguments {
  const void* mask;  // bool
  const i64* sums;   // cumulative
  i64* out;          // [rank][count]
  i64 elements, count;
  int rank;
  i64 size[24];  // the last dimension first
};
