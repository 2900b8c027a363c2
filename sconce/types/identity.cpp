#include "sconce/types/identity.h"

#include <sys/random.h>
#include <unistd.h>

#include <bit>
#include <chrono>

namespace sconce {
namespace {

struct Secret {
  uint64_t words[2];
  Secret() noexcept {
    if (::getrandom(words, sizeof words, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof words)) return;
    // A system that has no random bits yet: better than nothing.
    words[0] = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) * 0x9e3779b97f4a7c15;
    words[1] = static_cast<uint64_t>(::getpid()) * 0xbf58476d1ce4e5b9 ^ reinterpret_cast<uintptr_t>(this);
  }
};

}  // namespace

// SipHash-2-4 (Aumasson and Bernstein, 2012) of one word.
uint64_t identity_of(const void* address) noexcept {
  static const Secret secret;
  uint64_t a = 0x736f6d6570736575 ^ secret.words[0], b = 0x646f72616e646f6d ^ secret.words[1];
  uint64_t c = 0x6c7967656e657261 ^ secret.words[0], d = 0x7465646279746573 ^ secret.words[1];
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      a += b;
      b = std::rotl(b, 13) ^ a;
      a = std::rotl(a, 32);
      c += d;
      d = std::rotl(d, 16) ^ c;
      a += d;
      d = std::rotl(d, 21) ^ a;
      c += b;
      b = std::rotl(b, 17) ^ c;
      c = std::rotl(c, 32);
    }
  };
  for (const uint64_t word : {static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address)), uint64_t{8} << 56}) {
    d ^= word;
    rounds(2);
    a ^= word;
  }
  c ^= 0xff;
  rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace sconce
