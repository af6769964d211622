#include "store/scratch.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace recmigrate {
namespace {

// Number of unused blocks: enough for the batches that a few tables keep between lookup and update.
constexpr std::size_t kKeptPieces = 8;
constexpr std::size_t kKeptBytes = std::size_t{128} << 20;
// Smaller ones come from the heap as quickly, and those up to kSmall from lists of their size.
constexpr std::size_t kSmallest = std::size_t{256} << 10;
constexpr std::size_t kStep = std::size_t{2} << 20;
constexpr std::align_val_t kCacheLine{64};
// Batches of small tables: aligned memory of this size is slow to get from the heap, and slow to give back.
constexpr std::size_t kSmall = std::size_t{16} << 10;
constexpr std::size_t kSmallStep = 512;
constexpr std::size_t kSmallKept = std::size_t{4} << 20;

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

// Unused small blocks by size; the one returned last, which is still in the cache, is taken first.
class KeptSmall {
 public:
  void* take(std::size_t size) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    Block*& first = first_[size / kSmallStep];
    if (first == nullptr) return nullptr;
    bytes_ -= size;
    return std::exchange(first, first->next);
  }

  // False if there are enough.
  bool put(void* memory, std::size_t size) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes_ + size > kSmallKept) return false;
    bytes_ += size;
    Block*& first = first_[size / kSmallStep];
    first = new (memory) Block{first};
    return true;
  }

 private:
  struct Block {
    Block* next;
  };

  std::mutex mutex_;
  Block* first_[kSmall / kSmallStep + 1] = {};
  std::size_t bytes_ = 0;
};

// Never destroyed: threads may outlive every static object.
KeptSmall& kept_small() {
  static auto* const kBlocks = new KeptSmall;
  return *kBlocks;
}

Kept& kept() {
  static auto* const kPieces = new Kept;
  return *kPieces;
}

}  // namespace

Scratch::Scratch(std::size_t bytes) : size_(bytes) {
  if (kKeeps && bytes <= kSmall) {
    size_ = std::max<std::size_t>((bytes + kSmallStep - 1) / kSmallStep, 1) * kSmallStep;
    void* const block = kept_small().take(size_);
    memory_ = Region(block != nullptr ? block : ::operator new(size_, kCacheLine), FreeRegion{0});
  } else if (!kKeeps || bytes < kSmallest) {
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
  if (!kKeeps || !memory_) return;
  if (size_ >= kSmallest) kept().put({std::move(memory_), size_});
  if (size_ <= kSmall && kept_small().put(memory_.get(), size_)) static_cast<void>(memory_.release());
}

}  // namespace recmigrate
