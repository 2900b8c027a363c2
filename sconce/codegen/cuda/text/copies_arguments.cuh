// The argument of `copies`, on both sides.
struct CopyArguments {
  void* to[64];
  const void* from[64];
  i64 bytes[64];
};
