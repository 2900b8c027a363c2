// The arguments of kernels over pictures whose channels lie side by side, on both sides.
struct PoolLastArguments {
  const void* in;
  void* out;
  i64* index;
  u32 packs;  // of the result
  u32 channel_packs;
  int size[2], out_size[2], stride[2], pad[2], dilation[2];
};
struct PadChannelsArguments {
  const void* in;
  void* out;
  u32 pixels;  // of all pictures
  int size[2];
  i64 stride[4];  // of the input: pictures, channels, lines, columns
};
