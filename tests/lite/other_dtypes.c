/* other_dtypes MODEL CALLS: a library that was built for some dtypes (docs/small.md) is given tensors of all others. MODEL's
 * forward(x, which) makes one of CALLS calls of operators. With float32 all of them run; with another dtype each runs, or
 * fails with a message that names the dtypes that the library has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sconce_lite.h"

static void* read_all(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) return NULL;
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = aligned_alloc(64, (*size + 63) / 64 * 64);
  if (fread(bytes, 1, *size, file) != *size) return NULL;
  fclose(file);
  return bytes;
}

int main(int argc, char** argv) {
  static const struct {
    sconce_lite_dtype dtype;
    const char* name;
  } all[] = {
      {SCONCE_LITE_FLOAT32, "float32"},     {SCONCE_LITE_FLOAT64, "float64"},       {SCONCE_LITE_FLOAT16, "float16"},
      {SCONCE_LITE_BFLOAT16, "bfloat16"},   {SCONCE_LITE_UINT8, "uint8"},           {SCONCE_LITE_INT8, "int8"},
      {SCONCE_LITE_INT16, "int16"},         {SCONCE_LITE_INT32, "int32"},           {SCONCE_LITE_INT64, "int64"},
      {SCONCE_LITE_COMPLEX64, "complex64"}, {SCONCE_LITE_COMPLEX128, "complex128"}, {SCONCE_LITE_BOOL, "bool"}};
  size_t size = 0;
  void* bytes = argc == 3 ? read_all(argv[1], &size) : NULL;
  sconce_lite_model* model = NULL;
  if (!bytes || sconce_lite_load(bytes, size, 0, &model) != SCONCE_LITE_OK)
    return printf("%s\n", sconce_lite_last_error()), 1;
  static _Alignas(64) char zeros[16 * 64];
  const int64_t sizes[] = {8, 8};
  int refused = 0;
  for (size_t d = 0; d < sizeof all / sizeof *all; ++d) {
    for (int which = 0; which < atoi(argv[2]); ++which) {
      sconce_lite_value args[2];
      const sconce_lite_value* y = NULL;
      args[0] = sconce_lite_tensor_of(zeros, all[d].dtype, 2, sizes);
      args[1].kind = SCONCE_LITE_INTEGER;
      args[1].as.integer = which;
      const sconce_lite_status status = sconce_lite_run(model, 0, args, 2, &y);
      if (status == SCONCE_LITE_OK) continue;
      ++refused;
      if (d == 0 || status != SCONCE_LITE_ERROR)
        return printf("call %d of %s: status %d: %s\n", which, all[d].name, status, sconce_lite_last_error()), 1;
      /* Operators of PyTorch refuse bool by themselves. */
      if (all[d].dtype == SCONCE_LITE_BOOL || strstr(sconce_lite_last_error(), "this library was built for")) continue;
      return printf("call %d of %s: %s\n", which, all[d].name, sconce_lite_last_error()), 1;
    }
  }
  printf("%d calls with other dtypes are refused\n", refused);
  sconce_lite_free(model);
  return refused > 0 ? 0 : 1;
}
