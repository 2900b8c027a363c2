// Sanitizers: SCONCE_UNDER_ASAN and SCONCE_UNDER_TSAN are 1 where AddressSanitizer or ThreadSanitizer watches the code.
// g++ says so by macros, clang 19 by features alone.
#pragma once

#if defined(__has_feature)
#define SCONCE_HAS_FEATURE(name) __has_feature(name)
#else
#define SCONCE_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SCONCE_HAS_FEATURE(address_sanitizer)
#define SCONCE_UNDER_ASAN 1
#else
#define SCONCE_UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || SCONCE_HAS_FEATURE(thread_sanitizer)
#define SCONCE_UNDER_TSAN 1
#else
#define SCONCE_UNDER_TSAN 0
#endif

#undef SCONCE_HAS_FEATURE
