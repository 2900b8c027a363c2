// The error word (device/error_word.h): an index that is out of range is reported, and 0 takes its place.
struct ErrorWord { i32 number, kind; i64 index, size; };
enum { kIndex = 0, kProbability = 1 };  // ErrorWord::Kind
DEVICE void report(void* at, int number, int kind, i64 index, i64 size) {
  volatile ErrorWord* word = static_cast<volatile ErrorWord*>(at);
  if (word->number != 0) return;
  word->kind = kind;
  word->index = index;
  word->size = size;
  __threadfence_system();
  word->number = number;
}
// The index with negative ones counted from the end (where they may be), inside of the size.
DEVICE i64 checked_index(i64 i, i64 size, bool wraps, void* word, int number) {
  const i64 at = wraps && i < 0 ? i + size : i;
  if (at >= 0 && at < size) return at;
  report(word, number, kIndex, i, size);
  return 0;
}
