// Compile-time features of the vector level that a file is compiled for: -DSCONCE_ISA=2, 3 or 4 (engine/levels.h says
// what those are on each architecture). Code asks for the feature that it needs, not for the level.
//
//   SCONCE_VECTOR_BYTES       16, 32 or 64
//   SCONCE_FMA                1 where a * b + c is one instruction, which rounds once
//   SCONCE_VECTOR_REGISTERS   how many there are
//   SCONCE_X86                on x86-64 the level (2: SSE4.2, 3: AVX2, 4: AVX-512), elsewhere 0
//   SCONCE_NEON               1 on aarch64
//   SCONCE_SIMD128            1 on WebAssembly
#pragma once

#if SCONCE_ISA == 2
#define SCONCE_ISA_NAMESPACE v2
#elif SCONCE_ISA == 3
#define SCONCE_ISA_NAMESPACE v3
#elif SCONCE_ISA == 4
#define SCONCE_ISA_NAMESPACE v4
#else
#error "this file is compiled once for each vector level, with -DSCONCE_ISA=2, 3 or 4"
#endif

#define SCONCE_FMA (SCONCE_ISA >= 3)

#if defined(__x86_64__)
#define SCONCE_X86 SCONCE_ISA
#define SCONCE_NEON 0
#define SCONCE_SIMD128 0
#define SCONCE_VECTOR_BYTES (4 << SCONCE_ISA)
#define SCONCE_VECTOR_REGISTERS (SCONCE_ISA == 4 ? 32 : 16)
#elif defined(__aarch64__)
#define SCONCE_X86 0
#define SCONCE_NEON 1
#define SCONCE_SIMD128 0
#define SCONCE_VECTOR_BYTES 16
#define SCONCE_VECTOR_REGISTERS 32
#elif defined(__wasm_simd128__)
#define SCONCE_X86 0
#define SCONCE_NEON 0
#define SCONCE_SIMD128 1
#define SCONCE_VECTOR_BYTES 16
#define SCONCE_VECTOR_REGISTERS 16  // engines map them to those of x86-64
#endif

// Intrinsics: their headers define always inlined functions only, so nothing of a level escapes from its objects.
#if SCONCE_NEON
#include <arm_neon.h>
#elif SCONCE_SIMD128
#include <wasm_simd128.h>
#endif
