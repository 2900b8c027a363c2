/* The C interface of libsconce_lite: runs one model's methods with the operators that were selected for it. C99.
 *
 *   sconce_lite_model* model = NULL;
 *   float pixels[4] = {1, 2, 3, 4};
 *   const sconce_lite_value x = sconce_lite_tensor_of(pixels, SCONCE_LITE_FLOAT32, 2, (int64_t[]){1, 4});
 *   const sconce_lite_value* y = NULL;
 *   if (sconce_lite_load(bytes, size, 0, &model) != SCONCE_LITE_OK) puts(sconce_lite_last_error());
 *   if (sconce_lite_run(model, 0, &x, 1, &y) != SCONCE_LITE_OK) puts(sconce_lite_last_error());
 *   printf("%f\n", ((const float*)y->as.tensor.data)[0]);
 *   sconce_lite_free(model);
 *
 * Rules that hold everywhere:
 * - A function that can fail returns a sconce_lite_status. Other than SCONCE_LITE_OK, nothing was written to its
 *   outputs, and sconce_lite_last_error() says what was wrong. Nothing is thrown.
 * - Values are plain data. Arguments stay the caller's, and tensors among them are used where they lie. A result
 *   belongs to the model and lives until its next run or its end.
 * - One thread at a time uses a model. Different models may run in different threads.
 * - Nothing runs before the first call, and no file is opened: docs/small.md.
 */
#ifndef SCONCE_LITE_H
#define SCONCE_LITE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SCONCE_LITE_API __attribute__((visibility("default")))
#else
#define SCONCE_LITE_API
#endif

/* Enumerations: a caller may give any number, which is an error and, with a type that is said, not undefined in C++. */
#ifdef __cplusplus
#define SCONCE_LITE_ANY_INT : int
extern "C" {
#else
#define SCONCE_LITE_ANY_INT
#endif

typedef enum sconce_lite_status SCONCE_LITE_ANY_INT {
  SCONCE_LITE_OK = 0,
  SCONCE_LITE_INVALID_ARGUMENT = 1, /* of this interface: null, out of range */
  SCONCE_LITE_OUT_OF_MEMORY = 2,
  SCONCE_LITE_INTERNAL_ERROR = 3, /* a mistake in Sconce */
  SCONCE_LITE_BAD_MODEL = 4,      /* the bytes are refused */
  SCONCE_LITE_NOT_SELECTED = 5,   /* the model needs operators that this library was built without */
  SCONCE_LITE_ERROR = 6           /* an exception while a method ran */
} sconce_lite_status;

/* What the last call of this thread that failed had to say; "" before. Valid until the next that fails. */
SCONCE_LITE_API const char* sconce_lite_last_error(void);
/* "builtins.ValueError": the class of the exception that a method raised; "" when none did. */
SCONCE_LITE_API const char* sconce_lite_last_exception(void);

/* ---- what the program brings ---- */

typedef struct sconce_lite_host {
  /* Memory of tensors and of all else: `bytes` bytes at a multiple of `alignment` (a power of two), null when there are
   * none. Any thread that runs a model calls it. Null: malloc. */
  void* (*allocate)(size_t bytes, size_t alignment, void* context);
  void (*release)(void* memory, void* context);
  /* Calls task(argument, i) for each i in [0, count), on as many threads as it likes, and returns when all are done.
   * Null: one after the other. */
  void (*parallel)(int count, void (*task)(void* argument, int i), void* argument, void* context);
  int threads; /* that `parallel` uses: loops are cut into as many parts. Results do not depend on it. */
  void* context;
} sconce_lite_host;

/* To be called before anything else, or not at all. */
SCONCE_LITE_API sconce_lite_status sconce_lite_start(const sconce_lite_host* host);

/* ---- values ---- */

typedef enum sconce_lite_dtype SCONCE_LITE_ANY_INT {
  SCONCE_LITE_UINT8 = 0,
  SCONCE_LITE_INT8 = 1,
  SCONCE_LITE_INT16 = 2,
  SCONCE_LITE_INT32 = 3,
  SCONCE_LITE_INT64 = 4,
  SCONCE_LITE_FLOAT16 = 5,
  SCONCE_LITE_FLOAT32 = 6,
  SCONCE_LITE_FLOAT64 = 7,
  SCONCE_LITE_COMPLEX64 = 9,
  SCONCE_LITE_COMPLEX128 = 10,
  SCONCE_LITE_BOOL = 11,
  SCONCE_LITE_QINT8 = 12,
  SCONCE_LITE_QUINT8 = 13,
  SCONCE_LITE_QINT32 = 14,
  SCONCE_LITE_BFLOAT16 = 15
} sconce_lite_dtype;

typedef enum sconce_lite_kind SCONCE_LITE_ANY_INT {
  SCONCE_LITE_NONE = 0,
  SCONCE_LITE_TENSOR = 1,
  SCONCE_LITE_BOOLEAN = 2,
  SCONCE_LITE_INTEGER = 3,
  SCONCE_LITE_REAL = 4,
  SCONCE_LITE_COMPLEX = 5,
  SCONCE_LITE_TEXT = 6,
  SCONCE_LITE_LIST = 7,
  SCONCE_LITE_TUPLE = 8,
  SCONCE_LITE_DICT = 9,  /* items are keys and values by turns */
  SCONCE_LITE_OTHER = 10 /* in results only: `text` names its type, or a device */
} sconce_lite_kind;

#define SCONCE_LITE_MAX_RANK 8

typedef struct sconce_lite_tensor {
  sconce_lite_dtype dtype;
  int rank;
  int64_t sizes[SCONCE_LITE_MAX_RANK];
  int64_t strides[SCONCE_LITE_MAX_RANK]; /* in elements */
  void* data;
} sconce_lite_tensor;

typedef struct sconce_lite_value {
  sconce_lite_kind kind;
  union {
    sconce_lite_tensor tensor;
    int boolean;
    int64_t integer;
    double real;
    double complex_parts[2];
    struct {
      const char* bytes; /* with a 0 behind them */
      size_t size;
    } text;
    struct {
      const struct sconce_lite_value* items;
      size_t count;
    } list;
  } as;
} sconce_lite_value;

/* A tensor over the caller's memory, dense in the order of its sizes. */
static inline sconce_lite_value sconce_lite_tensor_of(void* data, sconce_lite_dtype dtype, int rank,
                                                      const int64_t* sizes) {
  sconce_lite_value v;
  int64_t step = 1;
  v.kind = SCONCE_LITE_TENSOR;
  v.as.tensor.dtype = dtype;
  v.as.tensor.rank = rank;
  v.as.tensor.data = data;
  for (int i = rank - 1; i >= 0 && i < SCONCE_LITE_MAX_RANK; --i) {
    v.as.tensor.sizes[i] = sizes[i];
    v.as.tensor.strides[i] = step;
    step *= sizes[i];
  }
  return v;
}

/* ---- models ---- */

typedef struct sconce_lite_model sconce_lite_model;

enum {
  SCONCE_LITE_COPY = 1, /* copies the bytes; else they must stay, unchanged, until sconce_lite_free */
  SCONCE_LITE_TRUST = 2 /* code that a file runs while it is loaded may call any selected operator */
};

/* A lite archive (.ptl) or a compiled file (.scx) in memory; at a multiple of 64, weights are used where they lie. */
SCONCE_LITE_API sconce_lite_status sconce_lite_load(const void* bytes, size_t size, unsigned flags,
                                                    sconce_lite_model** out);
SCONCE_LITE_API void sconce_lite_free(sconce_lite_model* model);

SCONCE_LITE_API size_t sconce_lite_method_count(const sconce_lite_model* model);
SCONCE_LITE_API const char* sconce_lite_method_name(const sconce_lite_model* model, size_t method);
/* "forward(Tensor x, int times=1) -> Tensor" */
SCONCE_LITE_API const char* sconce_lite_method_signature(const sconce_lite_model* model, size_t method);
/* The number of a method; that of "forward" is 0 where there is one. SIZE_MAX: there is none. */
SCONCE_LITE_API size_t sconce_lite_find_method(const sconce_lite_model* model, const char* name);

/* `result` stays valid until the next run of the model. */
SCONCE_LITE_API sconce_lite_status sconce_lite_run(sconce_lite_model* model, size_t method,
                                                   const sconce_lite_value* arguments, size_t count,
                                                   const sconce_lite_value** result);

/* Limits of each later run, for models that nobody vouches for: instructions of its methods, and bytes of tensors and
 * lists. 0: none. A run that reaches one ends with SCONCE_LITE_ERROR. */
SCONCE_LITE_API sconce_lite_status sconce_lite_limit(sconce_lite_model* model, uint64_t steps, uint64_t bytes);

/* What a model has taken from the host for the tensors of its runs. */
typedef struct sconce_lite_memory {
  size_t arena;   /* bytes of planned arenas */
  size_t outside; /* blocks of more than 1 KiB that the last run took from the host, outside of its arena */
} sconce_lite_memory;
SCONCE_LITE_API sconce_lite_memory sconce_lite_memory_of(const sconce_lite_model* model);

/* The selection that this library was built with: "op aten::relu\n..." in its order. */
SCONCE_LITE_API const char* sconce_lite_selection(void);

#ifdef __cplusplus
}
#endif

#endif /* SCONCE_LITE_H */
