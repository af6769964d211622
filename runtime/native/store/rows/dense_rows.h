// The rows of the keys from 0 to less than a limit, as a matrix has them: the key alone says where its row lies, so
// that no key is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "store/hash.h"
#include "store/rows/lines.h"
#include "store/rows/memory.h"

namespace recmigrate {

// The slots of dense rows have this bit; those of other rows do not.
inline constexpr Slot kDense = kMostSlots;
// No slot is larger, so that kAbsent is none.
inline constexpr std::uint64_t kMostDense = 0x7fffffffU;

// The memory of the dense rows of all shards: the regions of one number lie side by side, so that they fill huge pages,
// of which only touched ones cost memory. A shard takes a region of one size once. Safe for many threads.
class DenseMemory {
 public:
  // The part of a shard, one of `shards`, of a region with so many bytes, zeroed. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<float> take(std::size_t region, std::size_t shard, std::size_t shards,
                                            std::size_t bytes);

 private:
  struct Block {
    std::size_t region;
    std::size_t bytes;  // of a shard
    std::weak_ptr<void> memory;
  };

  std::mutex mutex_;
  std::vector<Block> blocks_;
};

// The dense rows of one shard. Of every kShards keys in a row it has one, or all if it is the only shard; the number of
// the row is the key without its last bits. Rows are in regions, each as long as all before it, which are taken from
// the system when the first of their rows is inserted, and never move unless the limit is raised. Not thread-safe.
class DenseRows {
 public:
  // `stride` is that of a row, in floats. `whole`: the shard has all keys.
  DenseRows(std::size_t stride, DenseMemory& memory, std::size_t shard, bool whole) noexcept
      : stride_(stride), from_(&memory), shard_(static_cast<std::uint32_t>(shard)), shift_(whole ? 0 : kShardBits) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  // Number of the rows that there may be, and of the keys of all shards that they have.
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t keys() const noexcept { return limit_ << shift_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_ + words_.size() * sizeof(std::uint64_t); }

  // The number of the row of a key, which may be above the limit.
  [[nodiscard]] std::size_t number_of(std::int64_t key) const noexcept {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(key) >> shift_);
  }
  // Whether the row of a key of this shard, if it has one, is here.
  [[nodiscard]] bool covers(std::int64_t key) const noexcept {
    return static_cast<std::uint64_t>(key) >> shift_ < limit_;
  }
  // The slot of a key that is covered, or kAbsent.
  [[nodiscard]] Slot find(std::int64_t key) const noexcept {
    const std::size_t number = number_of(key);
    return has(number) ? kDense | static_cast<Slot>(number) : kAbsent;
  }
  [[nodiscard]] bool has(std::size_t number) const noexcept { return (words_[number / 64] >> (number % 64) & 1) != 0; }
  [[nodiscard]] float* row(std::size_t number) const noexcept {
    const std::size_t region = region_of(number);
    return regions_[region] + (number - begin_of(region)) * stride_;
  }
  // The same for a row that was never inserted, whose region may not be there: then null.
  [[nodiscard]] const float* row_to_prefetch(std::int64_t key) const noexcept {
    const std::size_t number = number_of(key);
    const std::size_t region = region_of(number);
    return regions_[region] == nullptr ? nullptr : regions_[region] + (number - begin_of(region)) * stride_;
  }
  // A bit for each number up to `limit`: whether there is such a row.
  [[nodiscard]] const std::vector<std::uint64_t>& words() const noexcept { return words_; }

  // Takes the memory for the row of a key for which there is room. Throws std::bad_alloc.
  void reserve(std::int64_t key);
  // Adds a row for which there is memory; it is all zero, unless a row was there before.
  Slot insert(std::int64_t key) noexcept {
    const std::size_t number = number_of(key);
    words_[number / 64] |= std::uint64_t{1} << (number % 64);
    ++count_;
    return kDense | static_cast<Slot>(number);
  }
  // Removes the row of a key that is covered; returns its slot, or kAbsent if there was none.
  Slot erase(std::int64_t key) noexcept;

  // The same rows in rows of another width, without their contents. Throws std::bad_alloc.
  [[nodiscard]] DenseRows restrided(std::size_t stride, DenseMemory& memory) const;

  // Makes room for a limit, which holds once `raise` is called. Rows may move. Throws std::bad_alloc.
  void prepare(std::uint64_t limit);
  // There is room for the limit. (There may be more: of a shard that was prepared when memory ran out for another.)
  void raise(std::uint64_t limit) noexcept { limit_ = limit; }

  [[nodiscard]] std::int64_t key_of(std::size_t number) const noexcept {
    return shift_ == 0 ? static_cast<std::int64_t>(number) : key_in_shard(shard_, number);
  }
  // Calls visit(key, slot) for every row, in the order of the numbers.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t rest = words_[word]; rest != 0; rest &= rest - 1) {
        const std::size_t number = word * 64 + static_cast<std::size_t>(__builtin_ctzll(rest));
        visit(key_of(number), kDense | static_cast<Slot>(number));
      }
    }
  }

 private:
  // The first region has this many rows, or fewer.
  static constexpr unsigned kFirstBits = 10;
  static constexpr std::size_t kRegions = 31 - kFirstBits + 1;

  [[nodiscard]] static std::size_t region_of(std::size_t number) noexcept {
    const std::size_t upper = number >> kFirstBits;
    return upper == 0 ? 0 : 64 - static_cast<std::size_t>(__builtin_clzll(upper));
  }
  [[nodiscard]] static std::size_t begin_of(std::size_t region) noexcept {
    return region == 0 ? 0 : std::size_t{1} << (kFirstBits + region - 1);
  }
  // Number of the rows of a region, under this limit.
  [[nodiscard]] static std::size_t rows_of(std::size_t region, std::uint64_t limit) noexcept {
    const std::size_t end = std::size_t{1} << (kFirstBits + region);
    return (end < limit ? end : static_cast<std::size_t>(limit)) - begin_of(region);
  }
  void take(std::size_t region, std::size_t rows, std::size_t kept);

  std::size_t stride_;
  DenseMemory* from_;
  std::uint64_t limit_ = 0;
  std::uint64_t room_ = 0;  // the limit of which regions and words have the sizes
  std::uint32_t shard_;
  unsigned shift_;
  float* regions_[kRegions] = {};
  std::vector<std::shared_ptr<float>> memory_;
  std::vector<std::uint64_t> words_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

// The limit that dense rows should have, if `dense` of `limit` rows are there, and `numbers`, sorted, are those of
// other keys: the highest up to which neither the whole matrix nor what it grows by takes more memory than rows and
// index. (Of a matrix whose rows were removed, the whole counts.) Below `small` it is enough that every fourth row is
// there. `bytes` is the size of a row.
[[nodiscard]] std::uint64_t dense_limit(const std::vector<std::uint64_t>& numbers, std::uint64_t limit,
                                        std::size_t dense, std::size_t bytes, std::uint64_t small) noexcept;

}  // namespace recmigrate
