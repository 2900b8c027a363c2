/* use_lite MODEL SIZE...: a model in a lite library (docs/small.md), with memory and threads of the program's own.
 * After the first run, which notes what it takes and plans the arena, a run takes nothing, neither from the program's
 * allocator nor from malloc, and the bits stay the same; what is wrong is said by codes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sconce_lite.h"

#define CHECK(condition)                                                                                \
  do {                                                                                                  \
    if (!(condition)) {                                                                                 \
      printf("line %d: %s is false; last error: %s\n", __LINE__, #condition, sconce_lite_last_error()); \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)

/* Everybody's malloc. */
static size_t mallocs = 0;
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);
void* malloc(size_t size) {
  __atomic_add_fetch(&mallocs, 1, __ATOMIC_RELAXED);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  __atomic_add_fetch(&mallocs, 1, __ATOMIC_RELAXED);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  __atomic_add_fetch(&mallocs, 1, __ATOMIC_RELAXED);
  return __libc_realloc(memory, size);
}

static size_t taken = 0, held = 0;

static void* take(size_t bytes, size_t alignment, void* context) {
  (void)context;
  ++taken;
  ++held;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void give(void* memory, void* context) {
  (void)context;
  --held;
  free(memory);
}

struct Task {
  void (*run)(void* argument, int i);
  void* argument;
  int i;
};
static size_t mallocs_of_threads = 0; /* what starting them takes */
static void* run_task(void* task) {
  struct Task* t = task;
  t->run(t->argument, t->i);
  return NULL;
}
static int parallel_loops = 0;
static void parallel(int count, void (*task)(void* argument, int i), void* argument, void* context) {
  pthread_t threads[8];
  struct Task tasks[8];
  (void)context;
  ++parallel_loops;
  CHECK(count <= 8);
  const size_t before = mallocs;
  for (int i = 1; i < count; ++i) {
    tasks[i] = (struct Task){task, argument, i};
    CHECK(pthread_create(&threads[i], NULL, run_task, &tasks[i]) == 0);
  }
  mallocs_of_threads += mallocs - before;
  task(argument, 0);
  for (int i = 1; i < count; ++i) pthread_join(threads[i], NULL);
}

static void* read_all(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  CHECK(file && fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = aligned_alloc(64, (*size + 63) / 64 * 64);
  CHECK(fread(bytes, 1, *size, file) == *size);
  fclose(file);
  return bytes;
}

static void refuses_mistakes(const void* bytes, size_t size, sconce_lite_model* model, const sconce_lite_value* x) {
  sconce_lite_model* other = NULL;
  const sconce_lite_value* y = NULL;
  sconce_lite_value wrong = *x;
  CHECK(sconce_lite_load(NULL, size, 0, &other) == SCONCE_LITE_INVALID_ARGUMENT);
  CHECK(sconce_lite_load(bytes, size, 64, &other) == SCONCE_LITE_INVALID_ARGUMENT);
  CHECK(sconce_lite_load(bytes, size / 2, SCONCE_LITE_COPY, &other) == SCONCE_LITE_BAD_MODEL && other == NULL);
  CHECK(sconce_lite_load("no model at all", 15, SCONCE_LITE_COPY, &other) == SCONCE_LITE_BAD_MODEL);
  CHECK(strlen(sconce_lite_last_error()) > 0);
  CHECK(sconce_lite_run(model, 1000, x, 1, &y) == SCONCE_LITE_INVALID_ARGUMENT && y == NULL);
  CHECK(sconce_lite_run(NULL, 0, x, 1, &y) == SCONCE_LITE_INVALID_ARGUMENT);
  CHECK(sconce_lite_run(model, 0, x, 0, &y) == SCONCE_LITE_ERROR);
  wrong.as.tensor.rank = SCONCE_LITE_MAX_RANK + 1;
  CHECK(sconce_lite_run(model, 0, &wrong, 1, &y) == SCONCE_LITE_INVALID_ARGUMENT);
  wrong = *x;
  wrong.as.tensor.dtype = (sconce_lite_dtype)99;
  CHECK(sconce_lite_run(model, 0, &wrong, 1, &y) == SCONCE_LITE_INVALID_ARGUMENT);
  wrong = *x;
  wrong.as.tensor.data = NULL;
  CHECK(sconce_lite_run(model, 0, &wrong, 1, &y) == SCONCE_LITE_INVALID_ARGUMENT);
  wrong.kind = SCONCE_LITE_TEXT;
  wrong.as.text.bytes = "text";
  wrong.as.text.size = 4;
  CHECK(sconce_lite_run(model, 0, &wrong, 1, &y) == SCONCE_LITE_ERROR && y == NULL);
  CHECK(sconce_lite_find_method(model, "nothing") == SIZE_MAX);
  sconce_lite_free(NULL);
}

int main(int argc, char** argv) {
  const sconce_lite_host host = {take, give, parallel, 2, NULL};
  sconce_lite_model* model = NULL;
  int64_t sizes[SCONCE_LITE_MAX_RANK], count = 1;
  int rank = 0;
  CHECK(argc > 2);
  CHECK(sconce_lite_start(&host) == SCONCE_LITE_OK);
  size_t size = 0;
  void* bytes = read_all(argv[1], &size);
  CHECK(sconce_lite_load(bytes, size, 0, &model) == SCONCE_LITE_OK);
  CHECK(sconce_lite_start(&host) == SCONCE_LITE_INVALID_ARGUMENT); /* too late */
  CHECK(sconce_lite_method_count(model) > 0 && sconce_lite_find_method(model, "forward") == 0);
  printf("%s\n", sconce_lite_method_signature(model, 0));
  for (; rank + 2 < argc && rank < SCONCE_LITE_MAX_RANK; ++rank) count *= sizes[rank] = atoll(argv[rank + 2]);
  float* data = aligned_alloc(64, ((size_t)count * sizeof(float) + 63) / 64 * 64);
  for (int64_t i = 0; i < count; ++i) data[i] = (float)(i % 17) / 8 - 1;
  const sconce_lite_value x = sconce_lite_tensor_of(data, SCONCE_LITE_FLOAT32, rank, sizes);
  refuses_mistakes(bytes, size, model, &x);

  const sconce_lite_value* y = NULL;
  float* first = NULL;
  size_t elements = 0;
  for (int run = 0; run < 10; ++run) {
    const size_t taken_before = taken, mallocs_before = mallocs - mallocs_of_threads;
    CHECK(sconce_lite_run(model, 0, &x, 1, &y) == SCONCE_LITE_OK);
    const size_t mallocs_of_run = mallocs - mallocs_of_threads - mallocs_before, taken_by_run = taken - taken_before;
    CHECK(y->kind == SCONCE_LITE_TENSOR && y->as.tensor.dtype == SCONCE_LITE_FLOAT32);
    if (run == 0) {
      elements = 1;
      for (int i = 0; i < y->as.tensor.rank; ++i) elements *= (size_t)y->as.tensor.sizes[i];
      first = aligned_alloc(64, (elements * sizeof(float) + 63) / 64 * 64);
      memcpy(first, y->as.tensor.data, elements * sizeof(float));
      continue;
    }
    CHECK(memcmp(first, y->as.tensor.data, elements * sizeof(float)) == 0);
    if (mallocs_of_run + taken_by_run > 0) printf("run %d takes %zu blocks\n", run, mallocs_of_run + taken_by_run);
    CHECK(taken_by_run == 0);
    CHECK(mallocs_of_run == 0);
    CHECK(sconce_lite_memory_of(model).outside == 0);
  }
  printf("arena %zu bytes; runs after the first take no memory\n", sconce_lite_memory_of(model).arena);
  printf("first result %.9g, loops in parallel: %s\n", (double)first[0], parallel_loops > 0 ? "yes" : "no");
  CHECK(strstr(sconce_lite_selection(), "op aten::") != NULL);
  sconce_lite_free(model);
  return 0;
}
