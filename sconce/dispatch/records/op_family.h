// OpFamily: the operators of one file of the table as static data, in compressed form: a record of 40 bytes for each
// operator, and deflated text.
//
// Note [Records]
// An Op has a slot for every key and a pointer for every text: 232 bytes of addresses and zeros, of which a library
// file would hold one copy and the loader relocate another. So generated operators stand in zeroed memory, which takes
// no place in a file, and make_ops fills them in from their records when the library is loaded, before any other
// initialiser of it or of a program runs: at that time there is one thread, and nothing is allocated. What only some
// calls ask for, schemas and the texts of bodies, derivatives and documentation, is inflated per family when somebody
// first reads one (Op::schema_text, Op::texts). Their addresses are fixed from the beginning, so that whether there is
// a text can be asked without inflating any.
//
// Custom operators and those of small libraries are Ops without a family, with texts that are there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sconce/base/once.h"
#include "sconce/dispatch/op.h"

namespace sconce {

// Places are offsets into the family's names or texts, 0 where there is none. Numbers are those of rows of the family's
// lists, beginning with 1, 0 where there is none.
struct OpRecord {
  const char* kernel;  // for the CPU and Meta, as in Op::kernels
  uint32_t traits;
  uint16_t name, overload;          // places of names
  uint16_t schema;                  // place of a schema
  uint16_t body, derivatives, doc;  // places of texts
  uint16_t thunk, entry, formulas;  // numbers
  uint16_t line;                    // of the table's file
  int16_t functional;               // as OpInfo
  Gradient gradient;
  uint8_t dtypes, formats;          // as OpInfo
  bool refuses_meta, loads_device;  // kernels for Meta and CUDA: refuse_meta, load_device
};

// A kernel for another key.
struct OpKernel {
  uint16_t op;  // which operator of the family
  Key key;
  const char* kernel;
};

// Texts that end with 0 each, one after the other; the first is empty.
struct PackedTexts {
  const char* deflated;  // by zlib, without its header
  uint32_t deflated_size, size;
  char* place;  // `size` bytes
  Once once = {};
};

struct OpFamily {
  const char* file;  // "ops/arithmetic.toml"
  Op* ops;
  const OpRecord* records;
  size_t count;
  const char* names;
  const BoxThunk* thunks;
  const OpEntry* entries;
  const Formulas* const* formulas;
  const OpKernel* kernels;
  size_t kernel_count;
  const char* autograd;  // the kernel of operators whose gradient is recorded
  PackedTexts* schemas;
  PackedTexts* texts;
  void (*unpack)(PackedTexts& texts);  // here, so that a library without families needs no zlib
};

// Fills in the operators of a family: called once, when the library is loaded.
void make_ops(const OpFamily& family) noexcept;

// Inflates the texts to their place, once. Throws std::bad_alloc when there is no memory for it; the next call then
// begins anew.
void unpack_texts(PackedTexts& texts);

}  // namespace sconce
