#include "sconce/tensor/memory/large_blocks.h"

#include <memory>

#include "sconce/base/error.h"

namespace sconce {
namespace {

constexpr size_t kLeastPiece = size_t{256} << 10;  // smaller rests stay with their block
constexpr size_t kMostTimes = 4;                   // a block that lives long must not keep a region that is much larger

}  // namespace

void LargeBlocks::link(Piece* p) noexcept {
  p->is_free = true;
  p->older = newest_;
  p->newer = nullptr;
  (newest_ ? newest_->newer : oldest_) = p;
  newest_ = p;
  free_bytes_ += p->bytes;
}

void LargeBlocks::unlink(Piece* p) noexcept {
  (p->older ? p->older->newer : oldest_) = p->newer;
  (p->newer ? p->newer->older : newest_) = p->older;
  p->is_free = false;
  free_bytes_ -= p->bytes;
}

void LargeBlocks::absorb(Piece* p) noexcept {
  Piece* next = p->after;
  p->bytes += next->bytes;
  p->after = next->after;
  if (p->after) p->after->before = p;
  delete next;
}

void* LargeBlocks::take(size_t bytes) {
  Piece* best = nullptr;
  for (Piece* p = newest_; p; p = p->older) {  // the piece that was used last may be in the cache
    if (p->bytes >= bytes && (!best || p->bytes < best->bytes)) best = p;
    if (best && best->bytes == bytes) break;
  }
  if (!best || best->bytes / kMostTimes > bytes) return nullptr;
  std::unique_ptr<Piece> rest;
  if (best->bytes - bytes >= kLeastPiece) rest = std::make_unique<Piece>();
  used_.emplace(best->data, best);
  unlink(best);
  if (rest) {
    rest->data = best->data + bytes;
    rest->bytes = best->bytes - bytes;
    rest->before = best;
    rest->after = best->after;
    if (rest->after) rest->after->before = rest.get();
    best->after = rest.get();
    best->bytes = bytes;
    link(rest.release());
  }
  return best->data;
}

void LargeBlocks::add(void* data, size_t bytes) {
  auto piece = std::make_unique<Piece>();
  piece->data = static_cast<char*>(data);
  piece->bytes = bytes;
  used_.emplace(data, piece.get());
  static_cast<void>(piece.release());  // its owner is the table now
}

void LargeBlocks::give_back(void* data) noexcept {
  const auto found = used_.find(data);
  SCONCE_ASSERT(found != used_.end());
  Piece* p = found->second;
  used_.erase(found);
  if (p->after && p->after->is_free) {
    unlink(p->after);
    absorb(p);
  }
  if (p->before && p->before->is_free) {
    p = p->before;
    unlink(p);
    absorb(p);
  }
  link(p);
}

LargeBlocks::Region LargeBlocks::remove_oldest() noexcept {
  for (Piece* p = oldest_; p; p = p->newer) {
    if (p->before || p->after) continue;
    const Region region{p->data, p->bytes};
    unlink(p);
    delete p;
    return region;
  }
  return {nullptr, 0};
}

}  // namespace sconce
