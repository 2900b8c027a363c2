/* The C interface of Sconce: load a program, call its methods, read their results. C99; also for C++.
 *
 *   sconce_module* model = NULL;
 *   sconce_value *x = NULL, *y = NULL;
 *   const int64_t sizes[] = {1, 4};
 *   float pixels[4] = {1, 2, 3, 4};
 *   if (sconce_load("model.pt", &model) != SCONCE_OK) puts(sconce_last_error());
 *   sconce_tensor_over(pixels, SCONCE_FLOAT32, 2, sizes, NULL, NULL, NULL, &x);
 *   if (sconce_call(model, "forward", &x, 1, &y) != SCONCE_OK) puts(sconce_last_error());
 *   sconce_value_free(y);
 *   sconce_value_free(x);
 *   sconce_module_free(model);
 *
 * Rules that hold everywhere:
 * - A function that can fail returns a sconce_status. If that is not SCONCE_OK, nothing was written to its outputs and
 *   sconce_last_error() says what was wrong. Nothing is thrown; a null pointer that is not allowed is
 *   SCONCE_INVALID_ARGUMENT.
 * - The caller owns the handle that a function puts into a `sconce_value**` or `sconce_module**`, and frees it. Freeing
 *   null does nothing. Arguments stay the caller's.
 * - A pointer to text, sizes or data lives as long as the handle that it came from.
 * - Handles of one object may be used by one thread at a time, except that a module may be called by many. Tensors
 *   share memory: writing while another thread reads is a race.
 *
 * Versions: functions and constants are only ever added. SCONCE_API_VERSION counts the additions; a program that was
 * compiled against version n runs with every later library.
 */
#ifndef SCONCE_API_SCONCE_H
#define SCONCE_API_SCONCE_H

#include <stddef.h>
#include <stdint.h>

#define SCONCE_API_VERSION 4

#if defined(__GNUC__)
#define SCONCE_C_API __attribute__((visibility("default")))
#else
#define SCONCE_C_API
#endif

/* Enumerations: a caller may give any number, which is an error and, with a type that is said, not undefined in C++. */
#ifdef __cplusplus
#define SCONCE_ANY_INT : int
extern "C" {
#else
#define SCONCE_ANY_INT
#endif

/* ---- status ---- */

typedef enum sconce_status SCONCE_ANY_INT {
  SCONCE_OK = 0,
  SCONCE_INVALID_ARGUMENT = 1, /* of this interface: null, out of range */
  SCONCE_OUT_OF_MEMORY = 2,
  SCONCE_INTERNAL_ERROR = 3, /* a mistake in Sconce */
  SCONCE_RUNTIME_ERROR = 4,  /* from here on, what Python would raise */
  SCONCE_TYPE_ERROR = 5,
  SCONCE_VALUE_ERROR = 6,
  SCONCE_INDEX_ERROR = 7,
  SCONCE_KEY_ERROR = 8,
  SCONCE_NOT_IMPLEMENTED = 9,
  SCONCE_ZERO_DIVISION = 10,
  SCONCE_OVERFLOW = 11,
  SCONCE_COMPILE_ERROR = 12, /* code of a file that is refused */
  SCONCE_SCRIPT_ERROR = 13,  /* an exception while a program ran: the message has its traceback */
  SCONCE_LIMIT_REACHED = 14  /* a limit that the thread uses is used up, or it was cancelled: see sconce_limits */
} sconce_status;

/* What the last call of this thread that failed had to say, without a line end; "" before. Valid until the next that
 * fails. */
SCONCE_C_API const char* sconce_last_error(void);
/* The class of the exception that a program raised, "builtins.ValueError", or that one of its operators would raise in
 * Python, "builtins.IndexError"; "" when no program ran. */
SCONCE_C_API const char* sconce_last_exception(void);
/* "SCONCE_TYPE_ERROR"; "unknown status" for other numbers. */
SCONCE_C_API const char* sconce_status_name(sconce_status status);

/* ---- the process ---- */

SCONCE_C_API const char* sconce_version(void); /* of the library: "0.1.0" */
SCONCE_C_API int sconce_api_version(void);     /* SCONCE_API_VERSION of the library */
/* Threads that one call may use, the caller's included; 1 at first. */
SCONCE_C_API sconce_status sconce_set_num_threads(int count);
SCONCE_C_API int sconce_num_threads(void);
/* Deterministic mode: 1 makes results have the same bits on every machine, at the cost of speed; 0, the default, does
 * not. SCONCE_DETERMINISTIC=1 in the environment does the same. Only before the first operator of linear algebra. */
SCONCE_C_API sconce_status sconce_set_deterministic(int on);
SCONCE_C_API int sconce_is_deterministic(void);
SCONCE_C_API sconce_status sconce_manual_seed(uint64_t seed);
/* A shared library of custom operators, which programs may call from then on. */
SCONCE_C_API sconce_status sconce_load_library(const char* path);
/* Where the memory of tensors comes from, instead of the system: `allocate` gives `bytes` bytes at a multiple of
 * `alignment`, or null when there are none. Both are called by any thread. Blocks are kept and reused; see
 * sconce_release_memory. Only before the first tensor is made: SCONCE_INVALID_ARGUMENT afterwards. Tensors that lie in
 * a loaded file or in the caller's memory are no blocks. */
typedef void* (*sconce_allocate_function)(size_t bytes, size_t alignment, void* context);
typedef void (*sconce_free_function)(void* memory, void* context);
SCONCE_C_API sconce_status sconce_set_allocator(sconce_allocate_function allocate, sconce_free_function release,
                                                void* context);
/* Gives memory that is kept for reuse back. */
SCONCE_C_API void sconce_release_memory(void);

/* ---- limits ---- */

/* What each call of a function of this interface may use: memory, work, steps, time. For programs and files of others:
 *
 *   sconce_limits* limits = NULL;
 *   sconce_limits_new(&limits);
 *   sconce_limits_set(limits, SCONCE_LIMIT_MEMORY, 1 << 30);
 *   sconce_limits_set(limits, SCONCE_LIMIT_MILLISECONDS, 5000);
 *   sconce_use_limits(limits);
 *   if (sconce_call(model, "forward", &x, 1, &y) == SCONCE_LIMIT_REACHED) puts(sconce_last_error());
 *
 * Every call starts anew. The tasks and threads that a program starts draw from the same limits. */
typedef struct sconce_limits sconce_limits;
typedef enum sconce_limit SCONCE_ANY_INT {
  SCONCE_LIMIT_MEMORY = 0,      /* bytes held beyond those at the beginning of the call */
  SCONCE_LIMIT_WORK = 1,        /* elements that operators read and compute; an operator pays before it begins */
  SCONCE_LIMIT_STEPS = 2,       /* loop iterations and calls of functions of programs */
  SCONCE_LIMIT_MILLISECONDS = 3 /* of time; looked at between operators and within long ones */
} sconce_limit;
SCONCE_C_API sconce_status sconce_limits_new(sconce_limits** out); /* no limits yet */
/* UINT64_MAX: no limit. Calls that run already keep theirs. */
SCONCE_C_API sconce_status sconce_limits_set(sconce_limits* limits, sconce_limit what, uint64_t amount);
/* From now on every call of this thread is under these limits; null: under none. They may be used by many threads, and
 * must live until none uses them. Loads have limits of their own (docs/c-api.md), which those that are set replace. */
SCONCE_C_API sconce_status sconce_use_limits(sconce_limits* limits);
/* From any thread: ends the calls that run under the limits, soon, and those that begin later, at once, until
 * sconce_limits_resume. */
SCONCE_C_API void sconce_limits_cancel(sconce_limits* limits);
SCONCE_C_API void sconce_limits_resume(sconce_limits* limits);
SCONCE_C_API void sconce_limits_free(sconce_limits* limits);

/* ---- modules ---- */

typedef struct sconce_module sconce_module;
typedef struct sconce_value sconce_value;

/* Any file with a program: TorchScript (.pt), lite (.ptl), exported (.pt2). Tensors lie in the mapped file. */
SCONCE_C_API sconce_status sconce_load(const char* path, sconce_module** out);
/* The same, and refuses a file whose code calls operators that do not exist; sconce_load takes it, and such a call
 * fails when it is reached, with a message that names all that are missing. */
SCONCE_C_API sconce_status sconce_load_strict(const char* path, sconce_module** out);
/* The same with any of these, added up. */
typedef enum sconce_load_flag SCONCE_ANY_INT {
  SCONCE_LOAD_STRICT = 1, /* as sconce_load_strict */
  SCONCE_LOAD_TRUST = 2,  /* code that the file runs while it is loaded (__setstate__) may call every operator, not only
                             those that copy, view, pack or make tensors */
  SCONCE_LOAD_COPY = 4    /* reads the file rather than mapping it: it may change while the module lives. A mapped file
                             that is cut short ends the process with SIGBUS */
} sconce_load_flag;
SCONCE_C_API sconce_status sconce_load_with(const char* path, unsigned flags, sconce_module** out);
/* The content of such a file; copied. */
SCONCE_C_API sconce_status sconce_load_memory(const void* data, size_t bytes, sconce_module** out);
SCONCE_C_API sconce_status sconce_load_memory_with(const void* data, size_t bytes, unsigned flags, sconce_module** out);
/* The same without a copy: tensors lie in `data`, which must stay as it is until `release(context)` is called, after
 * the module and all tensors from it are gone (release may be null). A program that changes its buffers changes them
 * there. When it fails, release is not called. */
SCONCE_C_API sconce_status sconce_load_borrowed(void* data, size_t bytes, void (*release)(void* context), void* context,
                                                sconce_module** out);
/* As a TorchScript archive, written whole or not at all. */
SCONCE_C_API sconce_status sconce_save(const sconce_module* module, const char* path);
SCONCE_C_API void sconce_module_free(sconce_module* module);

/* Methods are numbered from 0. Texts are null for a number that is too large. */
SCONCE_C_API size_t sconce_method_count(const sconce_module* module);
SCONCE_C_API const char* sconce_method_name(const sconce_module* module, size_t method); /* "forward" */
SCONCE_C_API const char* sconce_method_signature(const sconce_module* module,
                                                 size_t method); /* "forward(Tensor x) -> Tensor" */
SCONCE_C_API size_t sconce_argument_count(const sconce_module* module, size_t method); /* without self */
SCONCE_C_API const char* sconce_argument_name(const sconce_module* module, size_t method, size_t argument);
SCONCE_C_API const char* sconce_argument_type(const sconce_module* module, size_t method,
                                              size_t argument); /* "List[int]" */

/* Parameters and buffers, in the order of the state dict. */
SCONCE_C_API size_t sconce_state_count(const sconce_module* module);
SCONCE_C_API const char* sconce_state_name(const sconce_module* module, size_t index); /* "layers.0.weight" */
/* The tensor itself: writing to its data changes the module. */
SCONCE_C_API sconce_status sconce_state_tensor(const sconce_module* module, const char* name, sconce_value** out);
SCONCE_C_API sconce_status sconce_set_training(sconce_module* module, int on);

/* Calls a method. Arguments are converted as PyTorch does it (an int for a float, a list for a tuple). A method that
 * returns nothing gives None. */
SCONCE_C_API sconce_status sconce_call(const sconce_module* module, const char* method, sconce_value* const* arguments,
                                       size_t count, sconce_value** out);
/* With arguments by name after those by place. */
SCONCE_C_API sconce_status sconce_call_named(const sconce_module* module, const char* method,
                                             sconce_value* const* arguments, size_t count, const char* const* names,
                                             sconce_value* const* named, size_t named_count, sconce_value** out);

/* ---- values ---- */

typedef enum sconce_kind SCONCE_ANY_INT {
  SCONCE_NONE = 0,
  SCONCE_BOOL = 1,
  SCONCE_INT = 2,
  SCONCE_FLOAT = 3,
  SCONCE_COMPLEX = 4,
  SCONCE_STRING = 5,
  SCONCE_TENSOR = 6,
  SCONCE_LIST = 7,
  SCONCE_TUPLE = 8,
  SCONCE_DICT = 9,
  SCONCE_OTHER = 10 /* an object, a device, ...: only to be passed on */
} sconce_kind;

SCONCE_C_API sconce_status sconce_none(sconce_value** out);
SCONCE_C_API sconce_status sconce_bool(int value, sconce_value** out);
SCONCE_C_API sconce_status sconce_int(int64_t value, sconce_value** out);
SCONCE_C_API sconce_status sconce_float(double value, sconce_value** out);
SCONCE_C_API sconce_status sconce_complex(double real, double imaginary, sconce_value** out);
SCONCE_C_API sconce_status sconce_string(const char* text, size_t bytes, sconce_value** out); /* copied */
/* The items are shared, not taken. */
SCONCE_C_API sconce_status sconce_list(sconce_value* const* items, size_t count, sconce_value** out);
SCONCE_C_API sconce_status sconce_tuple(sconce_value* const* items, size_t count, sconce_value** out);
SCONCE_C_API sconce_status sconce_dict(sconce_value* const* keys, sconce_value* const* values, size_t count,
                                       sconce_value** out);
/* Another handle of the same value. */
SCONCE_C_API sconce_status sconce_share(const sconce_value* value, sconce_value** out);
SCONCE_C_API void sconce_value_free(sconce_value* value);

SCONCE_C_API sconce_kind sconce_kind_of(const sconce_value* value); /* SCONCE_NONE for null */
/* SCONCE_TYPE_ERROR when the value is of another kind (an int is taken for a float). */
SCONCE_C_API sconce_status sconce_get_bool(const sconce_value* value, int* out);
SCONCE_C_API sconce_status sconce_get_int(const sconce_value* value, int64_t* out);
SCONCE_C_API sconce_status sconce_get_float(const sconce_value* value, double* out);
SCONCE_C_API sconce_status sconce_get_complex(const sconce_value* value, double* real, double* imaginary);
/* Ends in a 0 byte; `bytes`, which may be null, gets the length without it. */
SCONCE_C_API sconce_status sconce_get_string(const sconce_value* value, const char** out, size_t* bytes);
/* Of a list, tuple or dict. */
SCONCE_C_API sconce_status sconce_get_length(const sconce_value* value, size_t* out);
SCONCE_C_API sconce_status sconce_get_item(const sconce_value* list_or_tuple, size_t index, sconce_value** out);
/* Entry `index` of a dict, in the order of insertion; `key` or `value` may be null. */
SCONCE_C_API sconce_status sconce_get_entry(const sconce_value* dict, size_t index, sconce_value** key,
                                            sconce_value** value);
/* The value of a key; SCONCE_KEY_ERROR when there is none. */
SCONCE_C_API sconce_status sconce_find(const sconce_value* dict, const sconce_value* key, sconce_value** out);
SCONCE_C_API sconce_status sconce_find_text(const sconce_value* dict, const char* key, sconce_value** out);
/* As Python would print it, as a string. */
SCONCE_C_API sconce_status sconce_repr(const sconce_value* value, sconce_value** out);

/* ---- tensors ---- */

/* Numbered as in PyTorch. */
typedef enum sconce_dtype SCONCE_ANY_INT {
  SCONCE_UINT8 = 0,
  SCONCE_INT8 = 1,
  SCONCE_INT16 = 2,
  SCONCE_INT32 = 3,
  SCONCE_INT64 = 4,
  SCONCE_FLOAT16 = 5,
  SCONCE_FLOAT32 = 6,
  SCONCE_FLOAT64 = 7,
  SCONCE_COMPLEX64 = 9,
  SCONCE_COMPLEX128 = 10,
  SCONCE_BOOL8 = 11, /* one byte, 0 or 1 */
  SCONCE_BFLOAT16 = 15,
  SCONCE_FLOAT8_E5M2 = 23, /* these five are for storage: few operators take them */
  SCONCE_FLOAT8_E4M3FN = 24,
  SCONCE_UINT16 = 27,
  SCONCE_UINT32 = 28,
  SCONCE_UINT64 = 29
} sconce_dtype;

#define SCONCE_MAX_DIMENSIONS 64

/* Bytes of one element; 0 for a number that is not a dtype. */
SCONCE_C_API size_t sconce_dtype_size(sconce_dtype dtype);

/* Over the caller's memory: `data` holds the elements at `strides` (in elements, not negative; null: contiguous, the
 * last dimension fastest). It must stay until `release(context)` is called, when the last tensor over it is gone
 * (release may be null). A method that writes to its argument writes there. When it fails, release is not called. */
SCONCE_C_API sconce_status sconce_tensor_over(void* data, sconce_dtype dtype, size_t dimensions, const int64_t* sizes,
                                              const int64_t* strides, void (*release)(void* context), void* context,
                                              sconce_value** out);
/* Contiguous, with a copy of `data` (`bytes` must be what the sizes need). */
SCONCE_C_API sconce_status sconce_tensor_copy(const void* data, size_t bytes, sconce_dtype dtype, size_t dimensions,
                                              const int64_t* sizes, sconce_value** out);
/* Contiguous, all zero; its memory is to be filled through sconce_tensor_data. */
SCONCE_C_API sconce_status sconce_tensor_zeros(sconce_dtype dtype, size_t dimensions, const int64_t* sizes,
                                               sconce_value** out);

SCONCE_C_API sconce_status sconce_tensor_dtype(const sconce_value* tensor, sconce_dtype* out);
SCONCE_C_API sconce_status sconce_tensor_dimensions(const sconce_value* tensor, size_t* out);
SCONCE_C_API sconce_status sconce_tensor_sizes(const sconce_value* tensor, const int64_t** out);
SCONCE_C_API sconce_status sconce_tensor_strides(const sconce_value* tensor, const int64_t** out); /* in elements */
SCONCE_C_API sconce_status sconce_tensor_elements(const sconce_value* tensor, int64_t* out);
SCONCE_C_API sconce_status sconce_tensor_is_contiguous(const sconce_value* tensor, int* out);
/* The first element; null when there are none. Others lie at sizes and strides. */
SCONCE_C_API sconce_status sconce_tensor_data(const sconce_value* tensor, void** out);
/* The elements in order, whatever the strides, into memory of `bytes` bytes: as many as they are. */
SCONCE_C_API sconce_status sconce_tensor_read(const sconce_value* tensor, void* to, size_t bytes);
/* The same tensor when it is contiguous, else a copy that is. */
SCONCE_C_API sconce_status sconce_tensor_contiguous(const sconce_value* tensor, sconce_value** out);

/* ---- gradients (version 2) ---- */

/* Whether calls of this thread are recorded, so that backward can follow; 0 at first: results of calls keep nothing
 * then but themselves. */
SCONCE_C_API void sconce_set_grad_enabled(int on);
SCONCE_C_API int sconce_grad_enabled(void);
/* What is computed from tensors that require grad can be differentiated. Only floating-point and complex tensors can
 * require it; parameters of a loaded module do as the file says. */
SCONCE_C_API sconce_status sconce_tensor_set_requires_grad(const sconce_value* tensor, int on);
SCONCE_C_API sconce_status sconce_tensor_requires_grad(const sconce_value* tensor, int* out);
/* Adds gradients to all leaves that `tensor` depends on. `gradient` is its own; null stands for 1, if it has one
 * element. With `retain_graph` it can be called again. */
SCONCE_C_API sconce_status sconce_tensor_backward(const sconce_value* tensor, const sconce_value* gradient,
                                                  int retain_graph);
/* The gradient that was added up; a value of SCONCE_NONE where there is none. */
SCONCE_C_API sconce_status sconce_tensor_grad(const sconce_value* tensor, sconce_value** out);
/* `gradient` may be null: then there is none from now on. */
SCONCE_C_API sconce_status sconce_tensor_set_grad(const sconce_value* tensor, const sconce_value* gradient);
/* The same memory, without history. */
SCONCE_C_API sconce_status sconce_tensor_detach(const sconce_value* tensor, sconce_value** out);

/* Of all parameters. */
SCONCE_C_API sconce_status sconce_set_requires_grad(sconce_module* module, int on);
/* Scales the gradients of all parameters so that their norm is at most max_norm; `norm`, which may be null, gets the
 * one that they had. */
SCONCE_C_API sconce_status sconce_clip_grad_norm(sconce_module* module, double max_norm, double* norm);

/* ---- optimisers (version 2) ---- */

typedef struct sconce_optimizer sconce_optimizer;

/* An optimiser of torch.optim by name ("SGD", "AdamW", ...) for the parameters of a module that require grad. Options
 * by name, as in Python: "lr", "betas" (a tuple), ... */
SCONCE_C_API sconce_status sconce_optimizer_create(const char* name, sconce_module* module, const char* const* options,
                                                   sconce_value* const* values, size_t option_count,
                                                   sconce_optimizer** out);
/* The same for tensors. */
SCONCE_C_API sconce_status sconce_optimizer_over(const char* name, sconce_value* const* tensors, size_t count,
                                                 const char* const* options, sconce_value* const* values,
                                                 size_t option_count, sconce_optimizer** out);
/* Changes the parameters by their gradients. (Not LBFGS, which needs a function that evaluates the model.) */
SCONCE_C_API sconce_status sconce_optimizer_step(sconce_optimizer* optimizer);
SCONCE_C_API sconce_status sconce_optimizer_zero_grad(sconce_optimizer* optimizer);
/* Of all groups of parameters. */
SCONCE_C_API sconce_status sconce_optimizer_set_lr(sconce_optimizer* optimizer, double lr);
SCONCE_C_API sconce_status sconce_optimizer_lr(const sconce_optimizer* optimizer, double* out);
/* Its state as a file, as torch.save(optimizer.state_dict()) writes it and torch.load reads it; and back. */
SCONCE_C_API sconce_status sconce_optimizer_save(const sconce_optimizer* optimizer, const char* path);
SCONCE_C_API sconce_status sconce_optimizer_load(sconce_optimizer* optimizer, const char* path);
SCONCE_C_API void sconce_optimizer_free(sconce_optimizer* optimizer);

/* ---- before the first call (version 4) ---- */

/* A new module whose weights are constants of its code, which is optimised: batch norms become part of convolutions,
 * dropout goes. It has forward and what is named in `preserved`: attributes and methods. The old one stays. A module in
 * training mode is refused. */
SCONCE_C_API sconce_status sconce_freeze(const sconce_module* module, const char* const* preserved, size_t count,
                                         sconce_module** out);
/* The same for a module that is not frozen yet; of a frozen one another handle is given. */
SCONCE_C_API sconce_status sconce_optimize_for_inference(const sconce_module* module, const char* const* other_methods,
                                                         size_t count, sconce_module** out);

/* Calls the method as sconce_call does and plans it at once: later calls with arguments of the same dtypes, sizes and
 * strides run by the plan. (Without, the second such call makes it.) Nobody may write to weights meanwhile. `backend` is for plans of this method from now on:
 * null stands for the one that is chosen. */
typedef struct sconce_plan sconce_plan;
SCONCE_C_API sconce_status sconce_compile(const sconce_module* module, const char* method,
                                          sconce_value* const* arguments, size_t count, const char* backend,
                                          sconce_plan** out);
/* What came of it. Null when there is a plan, else the reason why not: then there are no steps. */
SCONCE_C_API const char* sconce_plan_why_not(const sconce_plan* plan);
SCONCE_C_API size_t sconce_plan_step_count(const sconce_plan* plan);
SCONCE_C_API size_t sconce_plan_guard_count(const sconce_plan* plan);  /* attributes that each call looks at */
SCONCE_C_API size_t sconce_plan_memory_bytes(const sconce_plan* plan); /* of results that do not leave a call */
SCONCE_C_API const char* sconce_plan_text(const sconce_plan* plan);    /* the steps */
/* Memory of weights in a mapped file that the plan has packed: they are read from the file again if they are needed. */
SCONCE_C_API size_t sconce_plan_given_back_bytes(const sconce_plan* plan);
SCONCE_C_API void sconce_plan_free(sconce_plan* plan);

/* ---- graph backends (version 4) ---- */

/* A part of a program that a backend is shown: operators one after the other, over values that are numbered from 0. It
 * lives as long as the call that it is given to. Everything that is no tensor is a constant; numbers that are too large
 * give null, 0 or SCONCE_NO_VALUE. */
typedef struct sconce_graph sconce_graph;
#define SCONCE_NO_VALUE ((size_t)-1)
/* Operators, and prim::ListConstruct and prim::ListUnpack of lists of tensors. */
SCONCE_C_API size_t sconce_graph_node_count(const sconce_graph* graph);
SCONCE_C_API const char* sconce_graph_node_name(const sconce_graph* graph, size_t node); /* "aten::add.Tensor" */
SCONCE_C_API size_t sconce_graph_node_input_count(const sconce_graph* graph, size_t node);
SCONCE_C_API size_t sconce_graph_node_input(const sconce_graph* graph, size_t node, size_t index); /* a value */
SCONCE_C_API size_t sconce_graph_node_output_count(const sconce_graph* graph, size_t node);
SCONCE_C_API size_t sconce_graph_node_output(const sconce_graph* graph, size_t node, size_t index);
SCONCE_C_API size_t sconce_graph_value_count(const sconce_graph* graph);
SCONCE_C_API size_t sconce_graph_input_count(const sconce_graph* graph);
SCONCE_C_API size_t sconce_graph_input(const sconce_graph* graph, size_t index); /* a value */
SCONCE_C_API size_t sconce_graph_output_count(const sconce_graph* graph);
SCONCE_C_API size_t sconce_graph_output(const sconce_graph* graph, size_t index);
/* Geometry of a value that is a tensor; SCONCE_TYPE_ERROR for others. */
SCONCE_C_API sconce_status sconce_graph_tensor(const sconce_graph* graph, size_t value, sconce_dtype* dtype,
                                               size_t* dimensions, const int64_t** sizes, const int64_t** strides);
/* What the value is in every run: a number, a text, a list, or a weight, which may be packed or converted (when it is
 * written later, the part is compiled again). SCONCE_VALUE_ERROR if runs differ. */
SCONCE_C_API sconce_status sconce_graph_constant(const sconce_graph* graph, size_t value, sconce_value** out);
/* As printed graphs look, for people. */
SCONCE_C_API const char* sconce_graph_text(const sconce_graph* graph);

/* A compiler that takes parts of programs (docs/backends.md). Its functions may be called by several threads at once,
 * `run` by many. They report what went wrong as `return sconce_fail(SCONCE_RUNTIME_ERROR, "no memory for the tiles");`. */
typedef struct sconce_backend {
  size_t size;       /* sizeof(sconce_backend): later versions may have more members */
  const char* name;  /* by which it is chosen */
  const char* wants; /* the dialect of the operators: "functional" (also null), "core" or "prims" */
  /* Whether it takes operator `node` of the graph. The others of the graph are not looked at now. */
  int (*takes)(void* context, const sconce_graph* graph, size_t node);
  /* Makes of the graph what `run` needs. Null in `compiled`, or another status, declines: the operators stay with
   * Sconce. */
  sconce_status (*compile)(void* context, const sconce_graph* graph, void** compiled);
  /* Reads the tensors `inputs` and writes those in `outputs`, whose memory has the geometry that the graph says. A
   * handle that is put in the place of an output is taken over and freed, its elements are copied. Neither handles nor
   * memory may be kept. */
  sconce_status (*run)(void* context, void* compiled, sconce_value* const* inputs, size_t input_count,
                       sconce_value** outputs, size_t output_count);
  void (*destroy)(void* context, void* compiled); /* may be null */
  void* context;                                  /* for all of them */
} sconce_backend;
/* For the rest of the process. The struct and its texts are copied. */
SCONCE_C_API sconce_status sconce_register_backend(const sconce_backend* backend);
/* Chooses the backend of new plans; "sconce" is none. At first that is what SCONCE_BACKEND in the environment says. */
SCONCE_C_API sconce_status sconce_set_backend(const char* name);
/* The known ones, numbered from 0; null for a number that is too large. */
SCONCE_C_API size_t sconce_backend_count(void);
SCONCE_C_API const char* sconce_backend_name(size_t backend);
/* Sets what sconce_last_error() gives in this thread; returns `status`. */
SCONCE_C_API sconce_status sconce_fail(sconce_status status, const char* message);

#ifdef __cplusplus
}
#endif

#endif
