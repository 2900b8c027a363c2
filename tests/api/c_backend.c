/* A graph backend in C: c_backend ConvNet.pt. It takes relu of float32 tensors, runs the program with it and without, and
 * then does everything wrong that it can. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sconce/api/sconce.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      printf("line %d: %s: %s\n", __LINE__, #condition, sconce_last_error()); \
      return 1;                                                               \
    }                                                                         \
  } while (0)

#define RESULTS (2 * 5) /* elements that the program gives */

/* What the backend shall do, and what it did. */
typedef enum { RIGHT, DECLINE, FAIL_COMPILE, FAIL_RUN, SILENT_RUN, WRONG_SIZE, NO_RESULT, OWN_RESULT } mode;
typedef struct {
  mode mode;
  int compiled, ran, destroyed;
} state;
typedef struct {
  int64_t elements;
} compiled_part;

static int takes(void* context, const sconce_graph* graph, size_t node) {
  sconce_dtype dtype;
  size_t value = sconce_graph_node_output(graph, node, 0);
  (void)context;
  if (strcmp(sconce_graph_node_name(graph, node), "aten::relu") != 0) return 0;
  return sconce_graph_tensor(graph, value, &dtype, NULL, NULL, NULL) == SCONCE_OK && dtype == SCONCE_FLOAT32;
}

static sconce_status compile(void* context, const sconce_graph* graph, void** out) {
  state* s = context;
  size_t dimensions = 0, i;
  const int64_t* sizes = NULL;
  compiled_part* part;
  ++s->compiled;
  if (s->mode == DECLINE) return SCONCE_OK;
  if (s->mode == FAIL_COMPILE) return sconce_fail(SCONCE_RUNTIME_ERROR, "too hard");
  /* One relu: a value goes in, a value comes out. */
  if (sconce_graph_node_count(graph) != 1 || sconce_graph_input_count(graph) != 1 ||
      sconce_graph_value_count(graph) != 2)
    return sconce_fail(SCONCE_INTERNAL_ERROR, sconce_graph_text(graph));
  if (sconce_graph_node_input(graph, 0, 0) != sconce_graph_input(graph, 0) ||
      sconce_graph_node_output(graph, 0, 0) != sconce_graph_output(graph, 0))
    return sconce_fail(SCONCE_INTERNAL_ERROR, "other values");
  if (sconce_graph_tensor(graph, sconce_graph_output(graph, 0), NULL, &dimensions, &sizes, NULL) != SCONCE_OK)
    return SCONCE_INTERNAL_ERROR;
  part = malloc(sizeof *part);
  if (!part) return SCONCE_OUT_OF_MEMORY;
  part->elements = 1;
  for (i = 0; i < dimensions; ++i) part->elements *= sizes[i];
  *out = part;
  return SCONCE_OK;
}

static sconce_status run(void* context, void* compiled, sconce_value* const* inputs, size_t input_count,
                         sconce_value** outputs, size_t output_count) {
  state* s = context;
  const compiled_part* part = compiled;
  const int64_t wrong[] = {7};
  void *from = NULL, *to = NULL;
  int64_t i;
  if (input_count != 1 || output_count != 1) return sconce_fail(SCONCE_INTERNAL_ERROR, "other counts");
  ++s->ran;
  if (s->mode == FAIL_RUN) return sconce_fail(SCONCE_RUNTIME_ERROR, "out of luck");
  if (s->mode == SILENT_RUN) return SCONCE_RUNTIME_ERROR;
  if (s->mode == WRONG_SIZE) return sconce_tensor_zeros(SCONCE_FLOAT32, 1, wrong, &outputs[0]);
  if (s->mode == NO_RESULT) {
    outputs[0] = NULL;
    return SCONCE_OK;
  }
  if (s->mode == OWN_RESULT) {
    const int64_t* sizes = NULL;
    size_t dimensions = 0;
    if (sconce_tensor_sizes(inputs[0], &sizes) || sconce_tensor_dimensions(inputs[0], &dimensions))
      return SCONCE_INTERNAL_ERROR;
    if (sconce_tensor_zeros(SCONCE_FLOAT32, dimensions, sizes, &outputs[0])) return SCONCE_INTERNAL_ERROR;
  }
  if (sconce_tensor_data(inputs[0], &from) || sconce_tensor_data(outputs[0], &to)) return SCONCE_INTERNAL_ERROR;
  for (i = 0; i < part->elements; ++i) {
    const float x = ((const float*)from)[i];
    ((float*)to)[i] = x < 0 ? 0 : x;
  }
  return SCONCE_OK;
}

static void destroy(void* context, void* compiled) {
  ++((state*)context)->destroyed;
  free(compiled);
}

/* Calls the module; `out` gets the first elements of the result. */
static sconce_status call(const sconce_module* model, sconce_value* x, float* out, size_t bytes) {
  sconce_value* y = NULL;
  sconce_status status = sconce_call(model, "forward", &x, 1, &y);
  if (status == SCONCE_OK) status = sconce_tensor_read(y, out, bytes);
  sconce_value_free(y);
  return status;
}

static int contains(const char* text, const char* part) { return text && strstr(text, part) != NULL; }

int main(int count, char** words) {
  static state states[8];
  static const char* const names[] = {"right", "decline", "fail_compile", "fail_run", "silent", "size", "none", "own"};
  sconce_module* model = NULL;
  sconce_value* x = NULL;
  sconce_plan* plan = NULL;
  sconce_backend table;
  const int64_t sizes[] = {2, 3, 16, 16};
  float pixels[2 * 3 * 16 * 16], expected[RESULTS], found[RESULTS];
  int i;
  CHECK(count == 2);
  for (i = 0; i < 2 * 3 * 16 * 16; ++i) pixels[i] = (float)(i % 5) - 2;
  CHECK(sconce_load(words[1], &model) == SCONCE_OK);
  CHECK(sconce_set_training(model, 0) == SCONCE_OK);
  CHECK(sconce_tensor_over(pixels, SCONCE_FLOAT32, 4, sizes, NULL, NULL, NULL, &x) == SCONCE_OK);
  CHECK(call(model, x, expected, sizeof expected) == SCONCE_OK);

  memset(&table, 0, sizeof table);
  CHECK(sconce_register_backend(NULL) == SCONCE_INVALID_ARGUMENT);
  CHECK(sconce_register_backend(&table) == SCONCE_INVALID_ARGUMENT);
  CHECK(contains(sconce_last_error(), "backend->size is 0"));
  table.size = sizeof table;
  CHECK(sconce_register_backend(&table) == SCONCE_INVALID_ARGUMENT);
  table.takes = takes;
  table.compile = compile;
  table.run = run;
  table.destroy = destroy;
  table.name = "odd";
  table.wants = "llvm";
  CHECK(sconce_register_backend(&table) == SCONCE_VALUE_ERROR);
  CHECK(contains(sconce_last_error(), "known are: functional, core, prims"));
  table.wants = NULL;
  for (i = 0; i < 8; ++i) {
    states[i].mode = (mode)i;
    table.name = names[i];
    table.context = &states[i];
    CHECK(sconce_register_backend(&table) == SCONCE_OK);
  }
  CHECK(sconce_register_backend(&table) == SCONCE_VALUE_ERROR);
  CHECK(sconce_backend_count() == 9);
  CHECK(strcmp(sconce_backend_name(0), "sconce") == 0 && strcmp(sconce_backend_name(8), "own") == 0);
  CHECK(sconce_backend_name(9) == NULL);
  CHECK(sconce_set_backend("nobody") == SCONCE_VALUE_ERROR);
  CHECK(contains(sconce_last_error(), "known are: sconce, right, decline"));

  for (i = 0; i < 8; ++i) {
    const int works = i <= FAIL_COMPILE || i == OWN_RESULT;
    CHECK(sconce_compile(model, "forward", &x, 1, names[i], &plan) == SCONCE_OK);
    CHECK(sconce_plan_why_not(plan) == NULL);
    CHECK(sconce_plan_step_count(plan) >= 2);
    CHECK(states[i].compiled > 0);
    CHECK(contains(sconce_plan_text(plan), "backend ") == (i != DECLINE && i != FAIL_COMPILE));
    sconce_plan_free(plan);
    plan = NULL;
    if (works) {
      CHECK(call(model, x, found, sizeof found) == SCONCE_OK);
      CHECK(memcmp(found, expected, sizeof expected) == 0);
    } else {
      CHECK(call(model, x, found, sizeof found) == SCONCE_RUNTIME_ERROR);
      CHECK(contains(sconce_last_error(), names[i]) && contains(sconce_last_error(), "aten::relu"));
      CHECK(contains(sconce_last_error(), i == FAIL_RUN     ? "out of luck"
                                          : i == SILENT_RUN ? "it does not say why"
                                          : i == WRONG_SIZE ? "it is [7] float32"
                                                            : "there is none"));
    }
    CHECK((states[i].ran > 0) == (i != DECLINE && i != FAIL_COMPILE));
  }
  sconce_value_free(x);
  sconce_module_free(model);
  /* Plans go with their program, and what was compiled for them. */
  for (i = 0; i < 8; ++i) CHECK(states[i].destroyed == (i == DECLINE || i == FAIL_COMPILE ? 0 : states[i].compiled));
  puts("ok");
  return 0;
}
