// What the C library of Debian's emscripten (3.1.6) declares and lacks: getrandom; and functions of shared libraries that say
// that there are none, where its own end the program.
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>

#include <sys/random.h>

ssize_t getrandom(void* to, size_t bytes, unsigned flags);

ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  (void)flags;  // the browser's and Node's generators are always there
  return getentropy(to, bytes) == 0 ? (ssize_t)bytes : -1;
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
