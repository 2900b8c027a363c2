// What the C library of Debian's emscripten (3.1.6) declares and lacks.
#include <stddef.h>
#include <sys/types.h>

#include <sys/random.h>

ssize_t getrandom(void* to, size_t bytes, unsigned flags);

ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  (void)flags;  // the browser's and Node's generators are always there
  return getentropy(to, bytes) == 0 ? (ssize_t)bytes : -1;
}
