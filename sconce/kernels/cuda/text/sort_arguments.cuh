// The argument of a pass of the radix sort, on both sides: `count` elements of each row, in `tiles` tiles.
struct SortArguments {
  const void* in;  // the elements as they were given
  const void* keys;
  void* keys_out;
  const u32* places;
  u32* places_out;
  u32* counts;        // [rows][256][tiles]
  const u32* starts;  // the same, cumulative
  void* values;
  i64* indices;
  i64 count;
  u32 tiles;
  int shift;
};
