// The argument of connectionist temporal classification, on both sides. log_probs is [steps, batch, classes], dense.
struct CtcArguments {
  const void* logs;
  const i64* targets;                   // of all items, one after the other
  const i64 *first, *lengths, *inputs;  // where an item's targets begin, how many there are, how many steps it has
  void* loss;                           // [batch]
  void* alpha;                          // [batch, steps, states]
  const void* grad;                     // [batch]
  void* out;                            // [steps, batch, classes]
  void* room;                           // gradient: [batch, 2 * states + classes]
  i64 steps, batch, classes, states, blank;
  int zero_infinity;
  void* word;
  int number;
};
