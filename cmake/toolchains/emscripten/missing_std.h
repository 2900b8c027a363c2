// What the C++20 library of Debian's emscripten (libc++ 13) lacks of what Sconce uses: std::bit_cast, std::atomic_ref, a
// few algorithms over ranges, and numbers to and from text. Included before every source for wasm32 (emscripten.cmake).
#pragma once

#if defined(__cplusplus) && __cplusplus >= 202002L && !defined(SCONCE_ISA)  // vector loops include no such headers

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#if _LIBCPP_VERSION < 14000
_LIBCPP_BEGIN_NAMESPACE_STD
template <class C, class Traits>
span(basic_string_view<C, Traits>&) -> span<const C>;
_LIBCPP_END_NAMESPACE_STD
#endif

namespace std {

#if !defined(__cpp_lib_bit_cast)
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
#endif

#if !defined(__cpp_lib_atomic_ref)
template <class T>
class atomic_ref {
 public:
  explicit atomic_ref(T& object) : object_(&object) {}
  T load(memory_order = memory_order_seq_cst) const noexcept { return __atomic_load_n(object_, __ATOMIC_SEQ_CST); }
  void store(T value, memory_order = memory_order_seq_cst) const noexcept {
    __atomic_store_n(object_, value, __ATOMIC_SEQ_CST);
  }
  T fetch_add(T value, memory_order = memory_order_seq_cst) const noexcept {
    return __atomic_fetch_add(object_, value, __ATOMIC_SEQ_CST);
  }
  bool compare_exchange_strong(T& expected, T value, memory_order = memory_order_seq_cst,
                               memory_order = memory_order_seq_cst) const noexcept {
    return __atomic_compare_exchange_n(object_, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  bool compare_exchange_weak(T& expected, T value, memory_order = memory_order_seq_cst,
                             memory_order = memory_order_seq_cst) const noexcept {
    return compare_exchange_strong(expected, value);
  }

 private:
  T* object_;
};
#endif

#if !defined(__cpp_lib_ranges) || _LIBCPP_VERSION < 15000
namespace ranges {

template <class R, class F>
constexpr bool all_of(R&& range, F f) {
  return std::all_of(std::begin(range), std::end(range), [&](auto&& x) { return std::invoke(f, x); });
}
template <class R, class F>
constexpr bool any_of(R&& range, F f) {
  return std::any_of(std::begin(range), std::end(range), [&](auto&& x) { return std::invoke(f, x); });
}
template <class R, class F>
constexpr bool none_of(R&& range, F f) {
  return std::none_of(std::begin(range), std::end(range), [&](auto&& x) { return std::invoke(f, x); });
}
template <class R, class T>
constexpr auto find(R&& range, const T& value) {
  return std::find(std::begin(range), std::end(range), value);
}
template <class R, class T, class Projection>
constexpr auto find(R&& range, const T& value, Projection projection) {
  return std::find_if(std::begin(range), std::end(range),
                      [&](auto&& x) { return std::invoke(projection, x) == value; });
}
template <class R, class F>
constexpr auto find_if(R&& range, F f) {
  return std::find_if(std::begin(range), std::end(range), [&](auto&& x) { return std::invoke(f, x); });
}
template <class R, class F>
constexpr void for_each(R&& range, F f) {
  for (auto&& x : range) std::invoke(f, x);
}
template <class A, class B>
constexpr bool equal(A&& a, B&& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b));
}
template <class R>
constexpr void sort(R&& range) {
  std::sort(std::begin(range), std::end(range));
}
template <class R, class F>
constexpr void sort(R&& range, F f) {
  std::sort(std::begin(range), std::end(range), f);
}
template <class A, class B, class Out>
constexpr void merge(A&& a, B&& b, Out out) {
  std::merge(std::begin(a), std::end(a), std::begin(b), std::end(b), out);
}

}  // namespace ranges
#endif

// Decimal numbers, by strtod and printf. chars_format is declared by libc++ itself.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  // What strtod takes and from_chars does not: blanks, a plus sign, hexadecimal digits.
  const char* at = first;
  if (at != last && *at == '-') ++at;
  const auto is_digit = [&](const char* p) { return p != last && *p >= '0' && *p <= '9'; };
  const char* end = at;
  if (is_digit(at) || (at != last && *at == '.' && is_digit(at + 1))) {
    while (is_digit(end)) ++end;
    if (end != last && *end == '.') {
      ++end;
      while (is_digit(end)) ++end;
    }
    if (end != last && (*end == 'e' || *end == 'E')) {
      const char* exponent = end + 1;
      if (exponent != last && (*exponent == '+' || *exponent == '-')) ++exponent;
      if (is_digit(exponent)) {
        while (is_digit(exponent)) ++exponent;
        end = exponent;
      }
    }
  } else {
    const auto is_word = [&](const char* word) {
      const size_t n = std::strlen(word);
      if (static_cast<size_t>(last - at) < n) return false;
      for (size_t i = 0; i < n; ++i) {
        if ((at[i] | 0x20) != word[i]) return false;
      }
      end = at + n;
      return true;
    };
    if (!is_word("infinity") && !is_word("inf") && !is_word("nan")) return {first, errc::invalid_argument};
  }
  const std::string text(first, end);
  const double parsed = std::strtod(text.c_str(), nullptr);
  const bool names_infinity = at != end && (*at | 0x20) == 'i';
  if ((std::isinf(parsed) && !names_infinity)) return {end, errc::result_out_of_range};
  if (parsed == 0) {
    for (const char* p = at; p != end && (*p | 0x20) != 'e'; ++p) {
      if (*p >= '1' && *p <= '9') return {end, errc::result_out_of_range};
    }
  }
  value = parsed;
  return {end, errc()};
}

inline to_chars_result to_chars(char* first, char* last, double value, chars_format format, int precision) {
  const char* form = format == chars_format::fixed ? "%.*f" : format == chars_format::scientific ? "%.*e" : "%.*g";
  char text[512];
  const int n = std::snprintf(text, sizeof text, form, precision, value);
  if (n > last - first) return {last, errc::value_too_large};
  std::memcpy(first, text, static_cast<size_t>(n));
  return {first + n, errc()};
}

// The shortest digits that read back as the same number: tried from the fewest on.
template <class T>
  requires is_floating_point_v<T>
inline to_chars_result to_chars(char* first, char* last, T value, chars_format format) {
  if (!std::isfinite(value)) return to_chars(first, last, static_cast<double>(value), chars_format::general, 6);
  const auto same = [&](const char* text) {
    return sizeof(T) == 4 ? std::strtof(text, nullptr) == static_cast<float>(value)
                          : std::strtod(text, nullptr) == static_cast<double>(value);
  };
  char text[64];
  int digits = 1;
  for (; digits < 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*e", digits - 1, static_cast<double>(value));
    if (same(text)) break;
  }
  std::snprintf(text, sizeof text, "%.*e", digits - 1, static_cast<double>(value));
  const int exponent = std::atoi(std::strchr(text, 'e') + 1);
  if (format == chars_format::scientific)
    return to_chars(first, last, static_cast<double>(value), chars_format::scientific, digits - 1);
  if (format == chars_format::fixed)
    return to_chars(first, last, static_cast<double>(value), chars_format::fixed, std::max(0, digits - 1 - exponent));
  return to_chars(first, last, static_cast<double>(value), chars_format::general, digits);
}
template <class T>
  requires is_floating_point_v<T>
inline to_chars_result to_chars(char* first, char* last, T value) {
  char fixed[512], scientific[64];
  const to_chars_result f = to_chars(fixed, fixed + sizeof fixed, value, chars_format::fixed);
  const to_chars_result s = to_chars(scientific, scientific + sizeof scientific, value, chars_format::scientific);
  const bool shorter = f.ec == errc() && f.ptr - fixed <= s.ptr - scientific;
  const char* text = shorter ? fixed : scientific;
  const auto n = static_cast<size_t>(shorter ? f.ptr - fixed : s.ptr - scientific);
  if (n > static_cast<size_t>(last - first)) return {last, errc::value_too_large};
  std::memcpy(first, text, n);
  return {first + n, errc()};
}

}  // namespace std

#endif
