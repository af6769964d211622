// De-duplication of one batch of ids: parts that share no key, each the ids of one shard, or few ids as one part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "store/parallel.h"
#include "store/scratch.h"

namespace recmigrate {

// The highest bits of a hash choose the shard. Many, so that threads seldom wait for each other and none grows long.
// (ThreadSanitizer follows 64 locks a thread, of which a look-up holds one more than there are shards.)
#if defined(__SANITIZE_THREAD__)
inline constexpr unsigned kShardBits = 5;
#else
inline constexpr unsigned kShardBits = 6;
#endif
inline constexpr std::size_t kShards = std::size_t{1} << kShardBits;

[[nodiscard]] inline std::size_t shard_of(std::uint64_t hash) noexcept { return hash >> (64 - kShardBits); }

// Below this many ids, waking a thread costs more than it saves.
inline constexpr std::size_t kWorthSplitting = 2048;

// Up to so many ids one part of all shards costs less than parts of few ids, each of which waits for memory on its own.
inline constexpr std::size_t kFew = kWorthSplitting - 1;

// What a batch's ids are: keys, or addresses of rows (see address.h).
enum class IdKind { key, address };

[[nodiscard]] std::size_t shard_of_id(std::int64_t id, IdKind kind) noexcept;

// How a batch is divided: into parts that are the shards of their keys, or, where its ids are few, not at all.
enum class Division { shards, few };

// The ids of a batch sorted by shard, in input order within a shard, and the distinct keys among them. All arrays have
// one entry per id; those by distinct key are filled from each part's begin on.
class Batch {
 public:
  // Calls then(batch, part) once the keys of a part are known, from several threads. The ids are not needed any more
  // afterwards. Throws LimitReached for 2^32 - 1 ids or more, std::bad_alloc, and what `then` throws.
  template <typename Then>
  Batch(const std::int64_t* ids, std::size_t count, IdKind kind, const Then& then)
      : Batch(ids, count, kind, [](const Batch&, std::size_t, const std::int64_t*, std::size_t) {}, then) {}

  // The same; while the ids of a part are numbered, ahead(batch, part, keys, some) is told each distinct key once, so
  // that what `then` will look for has come from memory.
  template <typename Ahead, typename Then>
  Batch(const std::int64_t* ids, std::size_t count, IdKind kind, const Ahead& ahead, const Then& then,
        Division division = Division::shards)
      : Batch(ids, count, kind, division) {
    for_each_part([&](std::size_t part) {
      start_numbers();
      for (std::size_t at = begins_[part]; at < begins_[part + 1]; at += kNumbered) {
        const std::size_t some = std::min<std::size_t>(kNumbered, begins_[part + 1] - at);
        const auto [fresh, found] = number(part, at, some);
        ahead(*this, part, fresh, found);
      }
      end_numbers(part);
      then(*this, part);
    });
  }

  // The distinct keys of this batch, part by part, as a batch of their own with the same rows. Throws std::bad_alloc.
  [[nodiscard]] Batch distinct_only() const;

  // Of the look-up that found the rows, where a table numbers them; 0 before.
  [[nodiscard]] std::uint32_t stamp() const noexcept { return stamp_; }
  void set_stamp(std::uint32_t stamp) noexcept { stamp_ = stamp; }

  // The shards of a part's keys, a bit each. (Unless it is of few ids, part and shard have the same number.)
  [[nodiscard]] std::uint64_t shards(std::size_t part) const noexcept {
    return undivided() ? undivided_shards_ : std::uint64_t{1} << part;
  }
  [[nodiscard]] bool undivided() const noexcept { return undivided_shards_ != 0; }

  [[nodiscard]] IdKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t begin(std::size_t part) const noexcept { return begins_[part]; }
  [[nodiscard]] std::size_t ids(std::size_t part) const noexcept { return begins_[part + 1] - begins_[part]; }
  // Distinct keys of a part; what is known of them is at begin(part) … of the next three arrays.
  [[nodiscard]] std::size_t distinct(std::size_t part) const noexcept { return distinct_[part]; }
  [[nodiscard]] std::size_t distinct() const noexcept;

  [[nodiscard]] const std::int64_t* keys() const noexcept { return keys_; }
  // Where in the batch each came first.
  [[nodiscard]] const std::uint32_t* firsts() const noexcept { return firsts_; }
  // Where each one's row is, once the table has filled it in; null when it has none.
  [[nodiscard]] float** rows() noexcept { return rows_; }
  [[nodiscard]] float* const* rows() const noexcept { return rows_; }

  // ids[positions[i]] is the distinct key number numbers[i] of its part.
  [[nodiscard]] const std::uint32_t* positions() const noexcept { return positions_; }
  [[nodiscard]] const std::uint32_t* numbers() const noexcept { return numbers_; }

  // The first position whose id came before, when there is one; `count` otherwise.
  [[nodiscard]] std::size_t first_repeated() const noexcept;

  // Calls body(part) for every part that has ids, the largest first, on several threads when that pays.
  template <typename Body>
  void for_each_part(const Body& body) const {
    if (count_ < kWorthSplitting) {
      for (const std::uint8_t part : order_) body(part);
    } else {
      parallel::run(order_.size(), [&](std::size_t i) { body(order_[i]); });
    }
  }

 private:
  Batch(IdKind kind, std::size_t count);
  Batch(const std::int64_t* ids, std::size_t count, IdKind kind, Division division);

  void leave_undivided(const std::int64_t* ids);
  void order_parts();
  void sort(const std::int64_t* ids);
  // The distinct keys of one part are numbered by the thread that calls these, some ids after the other; those that are
  // new among them are returned, and how many they are.
  static void start_numbers();
  std::pair<const std::int64_t*, std::size_t> number(std::size_t part, std::size_t from, std::size_t some);
  void end_numbers(std::size_t part);

  static constexpr std::size_t kNumbered = 64;

  IdKind kind_;
  std::uint32_t stamp_ = 0;
  std::uint64_t undivided_shards_ = 0;  // of all ids, where there is one part; 0 otherwise
  std::size_t count_;
  Scratch memory_;
  std::int64_t* keys_;  // the sorted ids until a part is numbered
  float** rows_;
  std::uint32_t* firsts_;
  std::uint32_t* positions_;
  std::uint32_t* numbers_;
  std::uint32_t begins_[kShards + 1] = {};
  std::uint32_t distinct_[kShards] = {};
  std::vector<std::uint8_t> order_;  // parts that have ids, the largest first
};

}  // namespace recmigrate
