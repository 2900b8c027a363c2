/* sconce-c-faults [OPTIONS] FILE SIZES: loads a model, calls `forward` twice with a tensor of SIZES ("2x3x16x16"), saves
 * it and frees it, by the C interface alone, while each allocation in turn fails (each_allocation.h has the options). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sconce/api/sconce.h>

#include "each_allocation.h"
#include "failing_malloc.h"

enum { most_dimensions = 8, most_results = 4096 };

struct model {
  const char* path;
  char saved[100];
  int64_t sizes[most_dimensions];
  size_t dimensions;
  float* input;
  float expected[most_results], result[most_results];
  size_t results;          /* 0 until the first run */
  unsigned long saved_sum; /* of the bytes of the file that was saved first */
  int call_failed;         /* which perhaps changed buffers of the model before that */
  int failures;            /* of steps, in this run */
  char* text;
  size_t room;
};

/* A step failed: it may once in a run. Returns whether it is to be done again. */
static int failed(struct model* m, const char* step, sconce_status status) {
  stop_failing();
  if (sconce_last_error()[0] == 0) {
    snprintf(m->text, m->room, "%s: %s without a message", step, sconce_status_name(status));
    m->failures = 100;
    return 0;
  }
  if (m->failures++ == 0) {
    snprintf(m->text, m->room, "%s: %s: %s", step, sconce_status_name(status), sconce_last_error());
    return 1;
  }
  snprintf(m->text, m->room, "%s failed again, with memory: %s: %s", step, sconce_status_name(status),
           sconce_last_error());
  return 0;
}

static int wrong(struct model* m, const char* what) {
  stop_failing();
  snprintf(m->text, m->room, "%s", what);
  m->failures = 100;
  return 0;
}

static int load(struct model* m, sconce_module** module) {
  sconce_status status;
  do {
    status = sconce_load(m->path, module);
    if (status == SCONCE_OK) return 1;
    if (*module) return wrong(m, "load failed and gave a module");
  } while (failed(m, "load", status));
  return 0;
}

static sconce_status call_once(struct model* m, sconce_module* module, int64_t* count) {
  sconce_value *x = NULL, *y = NULL;
  sconce_status status = sconce_tensor_over(m->input, SCONCE_FLOAT32, m->dimensions, m->sizes, NULL, NULL, NULL, &x);
  if (status == SCONCE_OK) status = sconce_call(module, "forward", &x, 1, &y);
  if (status == SCONCE_OK) status = sconce_tensor_elements(y, count);
  if (status == SCONCE_OK) status = sconce_tensor_read(y, m->result, (size_t)*count * sizeof(float));
  sconce_value_free(y);
  sconce_value_free(x);
  return status;
}

static int call(struct model* m, sconce_module* module) {
  sconce_status status;
  int64_t count = 0;
  do {
    status = call_once(m, module, &count);
    if (status == SCONCE_OK) break;
    m->call_failed = 1;
  } while (failed(m, "call", status));
  if (status != SCONCE_OK) return 0;
  if (m->results == 0) {
    m->results = (size_t)count;
    memcpy(m->expected, m->result, m->results * sizeof(float));
  }
  if (m->results != (size_t)count || memcmp(m->expected, m->result, m->results * sizeof(float)) != 0)
    return wrong(m, "the result differs");
  return 1;
}

/* A hash of the file's bytes (FNV-1a), in memory that is there. */
static unsigned long sum_of_file(const char* path) {
  unsigned char bytes[4096];
  unsigned long sum = 1469598103934665603ul;
  ssize_t got, i;
  const int file = open(path, O_RDONLY);
  while (file >= 0 && (got = read(file, bytes, sizeof bytes)) > 0) {
    for (i = 0; i < got; ++i) sum = (sum ^ bytes[i]) * 1099511628211ul;
  }
  if (file >= 0) close(file);
  return sum;
}

static int save(struct model* m, sconce_module* module) {
  unsigned long sum;
  sconce_status status;
  unlink(m->saved);
  while ((status = sconce_save(module, m->saved)) != SCONCE_OK) {
    if (access(m->saved, F_OK) == 0) return wrong(m, "save failed and left a file");
    if (!failed(m, "save", status)) return 0;
  }
  sum = sum_of_file(m->saved);
  if (m->saved_sum == 0 && !m->call_failed) m->saved_sum = sum;
  return m->saved_sum == sum || m->call_failed || wrong(m, "the saved file differs");
}

static enum work_result run(void* context, char* text, size_t room) {
  struct model* m = context;
  sconce_module* module = NULL;
  int right;
  m->text = text;
  m->room = room;
  m->failures = m->call_failed = 0;
  right = load(m, &module) && call(m, module) && call(m, module) && save(m, module);
  sconce_module_free(module);
  if (!right) return work_is_wrong;
  return m->failures ? work_failed : work_done;
}

int main(int argc, char** argv) {
  static struct model m;
  struct fault_options options = read_fault_options(&argc, argv);
  struct work work;
  const char* at;
  size_t count = 1, i;
  long bad;
  if (argc != 3) {
    fprintf(stderr, "usage: sconce-c-faults [OPTIONS] FILE SIZES\n");
    return 2;
  }
  m.path = argv[1];
  for (at = argv[2]; m.dimensions < most_dimensions;) {
    char* end;
    m.sizes[m.dimensions] = strtol(at, &end, 10);
    count *= (size_t)m.sizes[m.dimensions++];
    if (*end != 'x') break;
    at = end + 1;
  }
  m.input = malloc(count * sizeof(float));
  if (!m.input) return 2;
  for (i = 0; i < count; ++i) m.input[i] = (float)(i % 7) * 0.25f - 0.5f;
  snprintf(m.saved, sizeof m.saved, "%s/sconce-c-faults-%ld.pt", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
           (long)getpid());
  work.name = strrchr(m.path, '/') ? strrchr(m.path, '/') + 1 : m.path;
  work.run = run;
  work.context = &m;
  bad = fail_each_allocation(&work, &options);
  unlink(m.saved);
  free(m.input);
  return bad != 0;
}
