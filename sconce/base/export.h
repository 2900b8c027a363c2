// Symbol visibility: SCONCE_API marks what libsconce exports; everything else is hidden.
#pragma once

#define SCONCE_API __attribute__((visibility("default")))
#define SCONCE_COLD __attribute__((cold, noinline))
#define SCONCE_INLINE inline __attribute__((always_inline))
