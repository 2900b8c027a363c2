/* A program that brings its own memory: every block of a tensor comes from there, and goes back there. */
#include <stdio.h>
#include <stdlib.h>

#include <sconce/api/sconce.h>

struct counts {
  long taken, returned;
  size_t largest;
};

static void* take(size_t bytes, size_t alignment, void* context) {
  struct counts* counts = context;
  char *memory, *at;
  memory = malloc(bytes + alignment + sizeof(void*));
  if (!memory) return NULL;
  at = memory + sizeof(void*);
  at += (alignment - (size_t)at % alignment) % alignment;
  ((void**)at)[-1] = memory;
  counts->taken += 1;
  if (bytes > counts->largest) counts->largest = bytes;
  return at;
}

static void give_back(void* memory, void* context) {
  ((struct counts*)context)->returned += 1;
  free(((void**)memory)[-1]);
}

int main(void) {
  static struct counts counts;
  const int64_t sizes[] = {1024, 1024};
  sconce_value* tensor = NULL;
  if (sconce_set_allocator(take, give_back, &counts) != SCONCE_OK ||
      sconce_tensor_zeros(SCONCE_FLOAT32, 2, sizes, &tensor) != SCONCE_OK) {
    fprintf(stderr, "%s\n", sconce_last_error());
    return 1;
  }
  if (counts.taken == 0 || counts.largest < 4u << 20) {
    fprintf(stderr, "%ld blocks, the largest of %lu bytes\n", counts.taken, (unsigned long)counts.largest);
    return 1;
  }
  sconce_value_free(tensor);
  sconce_release_memory();
  if (counts.returned == 0) {
    fprintf(stderr, "nothing came back\n");
    return 1;
  }
  return 0;
}
