#include "store/scratch.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace recmigrate {
namespace {

// Number of unused blocks: enough for the batches that a few tables keep between lookup and update.
constexpr std::size_t kKeptPieces = 8;
constexpr std::size_t kKeptBytes = std::size_t{64} << 20;
// Smaller ones come from the heap as quickly.
constexpr std::size_t kSmallest = std::size_t{256} << 10;
constexpr std::size_t kStep = std::size_t{2} << 20;
constexpr std::align_val_t kCacheLine{64};

// Sanitizers could not detect the use of a returned block.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

struct Piece {
  Region memory;
  std::size_t size;
};

class Kept {
 public:
  // A block that fits without wasting more than half of it; an empty one if there is none.
  Piece take(std::size_t size) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto best = std::find_if(pieces_.begin(), pieces_.end(), [size](const Piece& piece) {
      return piece.size >= size && piece.size <= std::max(2 * size, kStep);
    });
    if (best == pieces_.end()) return {};
    Piece piece = std::move(*best);
    pieces_.erase(best);
    bytes_ -= piece.size;
    return piece;
  }

  void put(Piece piece) noexcept {
    if (piece.size > kKeptBytes / 2) return;
    std::vector<Piece> dropped;  // freed after the lock is released
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      dropped.reserve(kKeptPieces);
      pieces_.reserve(kKeptPieces + 1);
    } catch (...) {
      return;
    }
    bytes_ += piece.size;
    pieces_.push_back(std::move(piece));
    while (bytes_ > kKeptBytes || pieces_.size() > kKeptPieces) {
      bytes_ -= pieces_.front().size;
      dropped.push_back(std::move(pieces_.front()));
      pieces_.erase(pieces_.begin());
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Piece> pieces_;  // the block returned last is last
  std::size_t bytes_ = 0;
};

// Never destroyed: threads may outlive every static object.
Kept& kept() {
  static auto* const kPieces = new Kept;
  return *kPieces;
}

}  // namespace

Scratch::Scratch(std::size_t bytes) : size_(bytes) {
  if (!kKeeps || bytes < kSmallest) {
    memory_ = Region(::operator new(bytes, kCacheLine), FreeRegion{0});
  } else {
    size_ = (bytes + kStep - 1) / kStep * kStep;
    Piece piece = kept().take(size_);
    if (!piece.memory) piece = {allocate_region(size_), size_};
    size_ = piece.size;
    memory_ = std::move(piece.memory);
  }
  next_ = static_cast<char*>(memory_.get());
}

Scratch::~Scratch() {
  if (kKeeps && memory_ && size_ >= kSmallest) kept().put({std::move(memory_), size_});
}

}  // namespace recmigrate
