// The CPU's random numbers, by kind: Backend::random.
#include "sconce/base/error.h"
#include "sconce/kernels/cpu/random/random.h"
#include "sconce/kernels/draw.h"

namespace sconce::rng {

void draw(const Tensor& t, const Draw& draw, const Generator& generator) {
  switch (draw.kind) {
    case Draw::Kind::uniform:
      return uniform_(t, draw.a, draw.b, generator);
    case Draw::Kind::normal:
      return normal_(t, draw.a, draw.b, generator);
    case Draw::Kind::bernoulli:
      return bernoulli_(t, draw.a, generator);
    case Draw::Kind::bernoulli_each:
      return bernoulli_(t, *draw.each, generator);
    case Draw::Kind::exponential:
      return exponential_(t, draw.a, generator);
    case Draw::Kind::geometric:
      return geometric_(t, draw.a, generator);
    case Draw::Kind::cauchy:
      return cauchy_(t, draw.a, draw.b, generator);
    case Draw::Kind::log_normal:
      return log_normal_(t, draw.a, draw.b, generator);
    case Draw::Kind::integers:
      return random_(t, generator);
    case Draw::Kind::integers_between:
      return random_(t, draw.from, draw.to, generator);
    case Draw::Kind::permutation:
      return randperm_(t, generator);
  }
  fail_as(ErrorKind::internal, "unknown distribution {}", static_cast<int>(draw.kind));
}

}  // namespace sconce::rng
