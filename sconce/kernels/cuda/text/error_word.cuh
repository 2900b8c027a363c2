// The error word (device/error_word.h): a kernel reports what was wrong, and the host throws after the next synchronisation.
struct ErrorWord { i32 operator_number, kind; i64 index, size; };
enum { kIndex = 0, kProbability = 1 };  // ErrorWord::Kind
DEVICE void report(void* at, int number, int kind, i64 index, i64 size) {
  auto* word = static_cast<volatile ErrorWord*>(at);
  if (word->operator_number != 0) return;  // no atomic: any of several faults will do
  word->kind = kind;
  word->index = index;
  word->size = size;
#ifndef SCONCE_ON_HOST
  __threadfence_system();
#endif
  word->operator_number = number;
}
