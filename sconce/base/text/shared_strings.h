// Functions of std::string that are there once. For C++20 the headers of libstdc++ make a copy of each in every source
// that calls it, inlined or with fewer arguments, as if others had none. Small libraries, which precompile this, have
// them in sconce/lite/shared_strings.cpp.
#pragma once

#include <string>

#if _GLIBCXX_RELEASE == 12 && !defined(__clang__)  // some of the names are libstdc++'s own; others do without
#define SCONCE_SHARED_STRINGS(SCOPE)                                               \
  SCOPE string& string::_M_append(const char*, size_t);                            \
  SCOPE string& string::_M_replace(size_t, size_t, const char*, size_t);           \
  SCOPE string& string::_M_replace_aux(size_t, size_t, size_t, char);              \
  SCOPE char* string::_M_create(size_t&, size_t);                                  \
  SCOPE void string::_M_mutate(size_t, size_t, const char*, size_t);               \
  SCOPE void string::_M_assign(const string&);                                     \
  SCOPE void string::_M_construct(const char*, const char*, forward_iterator_tag); \
  SCOPE void string::_M_construct(char*, char*, forward_iterator_tag);             \
  SCOPE void string::swap(string&);                                                \
  SCOPE void string::push_back(char);                                              \
  SCOPE void string::reserve(size_t);                                              \
  SCOPE size_t string::find(const char*, size_t, size_t) const;
namespace std {
SCONCE_SHARED_STRINGS(extern template __attribute__((noinline, noclone)))
}  // namespace std
#endif
