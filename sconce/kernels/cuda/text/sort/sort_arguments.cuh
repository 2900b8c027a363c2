// The argument of the radix sort, on both sides: `count` elements of each row, in `tiles` tiles.
struct SortArguments {
  const void* in;  // the elements as they were given
  const void* keys;
  void* keys_out;
  const u32* places;
  u32* places_out;
  u32* counts;  // [rows][passes][256]: how often each digit occurs
  u32* states;  // [rows][tiles][256] of a pass: what a tile has of a digit, or what all up to it have
  u32* claims;  // [rows] of a pass: tiles that blocks have taken
  void* values;
  i64* indices;
  i64 count;
  u32 tiles;
  int shift;
};
