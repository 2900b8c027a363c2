#include "sconce/base/ref.h"

namespace sconce {
namespace {

constexpr int kMaxDepth = 100;  // of objects that are being deleted because others were

struct Dying {
  int depth = 0;
  Counted* waiting = nullptr;  // linked by their counts
};
constinit thread_local Dying dying;

void delete_one(Counted* p) noexcept {
  ++dying.depth;
  delete p;
  --dying.depth;
}

}  // namespace

void destroy(Counted* p) noexcept {
  if (dying.depth == kMaxDepth) {
    p->count.set_next(dying.waiting);
    dying.waiting = p;
    return;
  }
  delete_one(p);
  while (dying.depth == 0 && dying.waiting) {
    Counted* next = dying.waiting;
    dying.waiting = static_cast<Counted*>(next->count.next());
    delete_one(next);
  }
}

}  // namespace sconce
