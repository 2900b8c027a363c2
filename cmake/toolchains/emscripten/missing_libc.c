// What the C library of Debian's emscripten (3.1.6) declares and lacks: getrandom, memfd_create; functions of shared libraries that say
// that there are none, where its own end the program; a hypotf that is exact.
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include <sys/random.h>

ssize_t getrandom(void* to, size_t bytes, unsigned flags);

ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  (void)flags;  // the browser's and Node's generators are always there
  return getentropy(to, bytes) == 0 ? (ssize_t)bytes : -1;
}

// musl rounds the sum of squares to float before it takes the root, so that hypotf and hypot may disagree: a norm, and the
// numbers that it is the largest of.
float hypotf(float x, float y) {
  if (isinf(x) || isinf(y)) return INFINITY;
  return (float)sqrt((double)x * x + (double)y * y);
}

// Its own says yes for pipes, too: bars of progress in logs.
int isatty(int file) {
  (void)file;
  return 0;
}

int memfd_create(const char* name, unsigned flags);

int memfd_create(const char* name, unsigned flags) {
  (void)name, (void)flags;
  errno = ENOSYS;
  return -1;
}

void __dl_seterr(const char* format, ...);  // of the C library: what dlerror gives

void* dlopen(const char* path, int flags) {
  (void)flags;
  __dl_seterr("%s: WebAssembly has no shared libraries", path ? path : "the program");
  return NULL;
}
void* dlsym(void* library, const char* name) {
  (void)library;
  __dl_seterr("%s: WebAssembly has no shared libraries", name);
  return NULL;
}
int dlclose(void* library) {
  (void)library;
  return -1;
}
int dladdr(const void* address, Dl_info* info) {
  (void)address, (void)info;
  return 0;
}
