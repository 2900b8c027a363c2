/* Runs a program that takes one tensor: run_model FILE SIZE... fills a tensor of these sizes with 0, 1, 2, ... / 10 and
 * prints what forward() makes of it. */
#include <stdio.h>
#include <stdlib.h>

#include <sconce/api/sconce.h>

static int failed(const char* what) {
  fflush(stdout);
  fprintf(stderr, "%s: %s\n", what, sconce_last_error());
  return 1;
}

static int print_tensor(const sconce_value* tensor) {
  size_t dimensions = 0;
  const int64_t* sizes = NULL;
  sconce_value* text = NULL;
  const char* words = NULL;
  if (sconce_tensor_dimensions(tensor, &dimensions) != SCONCE_OK) return failed("output");
  if (sconce_tensor_sizes(tensor, &sizes) != SCONCE_OK) return failed("output");
  printf("sizes:");
  for (size_t i = 0; i < dimensions; ++i) printf(" %lld", (long long)sizes[i]);
  if (sconce_repr(tensor, &text) != SCONCE_OK) return failed("output");
  if (sconce_get_string(text, &words, NULL) == SCONCE_OK) printf("\n%s\n", words);
  sconce_value_free(text);
  return 0;
}

int main(int count, char** words) {
  int64_t sizes[SCONCE_MAX_DIMENSIONS];
  size_t dimensions = 0;
  int64_t elements = 0;
  sconce_module* model = NULL;
  sconce_value *input = NULL, *output = NULL;
  void* data = NULL;
  int result = 1;

  if (count < 3 || count - 2 > SCONCE_MAX_DIMENSIONS) {
    fprintf(stderr, "usage: %s FILE SIZE...\n", words[0]);
    return 2;
  }
  for (; (int)dimensions < count - 2; ++dimensions) sizes[dimensions] = strtoll(words[dimensions + 2], NULL, 10);

  if (sconce_load(words[1], &model) != SCONCE_OK) return failed("load");
  printf("%s\n", sconce_method_signature(model, 0));

  if (sconce_tensor_zeros(SCONCE_FLOAT32, dimensions, sizes, &input) != SCONCE_OK ||
      sconce_tensor_elements(input, &elements) != SCONCE_OK || sconce_tensor_data(input, &data) != SCONCE_OK) {
    failed("input");
  } else {
    for (int64_t i = 0; i < elements; ++i) ((float*)data)[i] = (float)i / 10;
    if (sconce_call(model, "forward", &input, 1, &output) != SCONCE_OK)
      failed("call");
    else
      result = print_tensor(output);
  }
  sconce_value_free(output);
  sconce_value_free(input);
  sconce_module_free(model);
  return result;
}
