#include "store/rows/dense_rows.h"

#include <algorithm>
#include <cstring>

namespace recmigrate {
namespace {

// What a key takes in an index, with its share of the room to grow.
constexpr std::size_t kIndexed = 17;
// Where memory does not count, a matrix may have so many times the rows that are there.
constexpr std::size_t kRoomy = 4;
// Fewer rows are not worth moving.
constexpr std::size_t kFewest = 4;
constexpr std::size_t kLine = 64;  // of the cache: shards share none

}  // namespace

std::shared_ptr<float> DenseMemory::take(std::size_t region, std::size_t shard, std::size_t shards, std::size_t bytes) {
  const std::size_t own = (bytes + kLine - 1) / kLine * kLine;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<void> memory;
  for (const Block& block : blocks_) {
    if (block.region == region && block.bytes == own) memory = block.memory.lock();
  }
  if (memory == nullptr) {
    const auto is_gone = [](const Block& block) { return block.memory.expired(); };
    blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(), is_gone), blocks_.end());
    memory = std::shared_ptr<void>(allocate_region(own * shards));
    blocks_.push_back({region, own, memory});
  }
  return {memory, reinterpret_cast<float*>(static_cast<char*>(memory.get()) + (shards == 1 ? 0 : shard) * own)};
}

// The memory of a region that is replaced stays until the new one has its rows.
void DenseRows::take(std::size_t region, std::size_t rows, std::size_t kept) {
  if (memory_.size() <= region) memory_.resize(region + 1);
  const std::size_t bytes = rows * stride_ * sizeof(float);
  std::shared_ptr<float> fresh = from_->take(region, shard_, shift_ == 0 ? 1 : kShards, bytes);
  if (kept != 0 && fresh.get() != regions_[region])
    std::memcpy(fresh.get(), regions_[region], kept * stride_ * sizeof(float));
  bytes_ += bytes - kept * stride_ * sizeof(float);
  memory_[region] = std::move(fresh);
  regions_[region] = memory_[region].get();
}

void DenseRows::reserve(std::int64_t key) {
  const std::size_t region = region_of(number_of(key));
  if (regions_[region] == nullptr) take(region, rows_of(region, room_), 0);
}

Slot DenseRows::erase(std::int64_t key) noexcept {
  const Slot slot = find(key);
  if (slot == kAbsent) return kAbsent;
  const std::size_t number = number_of(key);
  words_[number / 64] &= ~(std::uint64_t{1} << (number % 64));
  --count_;
  return slot;
}

DenseRows DenseRows::restrided(std::size_t stride, DenseMemory& memory) const {
  DenseRows other(stride, memory, shard_, shift_ == 0);
  other.limit_ = limit_;
  other.room_ = room_;
  for (std::size_t region = 0; region < kRegions; ++region) {
    if (regions_[region] != nullptr) other.take(region, rows_of(region, room_), 0);
  }
  other.words_ = words_;
  other.count_ = count_;
  return other;
}

// Only the last region may be shorter than it could be.
void DenseRows::prepare(std::uint64_t limit) {
  if (limit <= room_) return;
  words_.resize(static_cast<std::size_t>((limit + 63) / 64));
  if (room_ != 0) {
    const std::size_t last = region_of(room_ - 1);
    const std::size_t rows = rows_of(last, room_);
    const std::size_t wanted = rows_of(last, limit);
    if (regions_[last] != nullptr && wanted > rows) take(last, wanted, rows);
  }
  room_ = limit;
}

std::uint64_t dense_limit(const std::vector<std::uint64_t>& numbers, std::uint64_t limit, std::size_t dense,
                          std::size_t bytes, std::uint64_t small) noexcept {
  std::uint64_t best = limit;
  const auto takes_less = [bytes](std::uint64_t places, std::size_t rows) {
    return places * bytes <= rows * (bytes + kIndexed);
  };
  for (std::size_t i = kFewest; i <= numbers.size() && numbers[i - 1] < kMostDense; ++i) {
    const std::uint64_t end = numbers[i - 1] + 1;
    const bool smaller = takes_less(end - limit, i) && takes_less(end, dense + i);
    const bool roomy = end <= small && end <= kRoomy * (dense + i);
    if (smaller || roomy) best = end;
  }
  return best;
}

}  // namespace recmigrate
