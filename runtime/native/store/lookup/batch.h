// De-duplication of one batch of ids into parts that share no key: the ids of one shard each, or a single part for few
// ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "store/hash.h"
#include "store/parallel.h"
#include "store/scratch.h"

namespace recmigrate {

// Below this many ids, waking a thread costs more than it saves, and so do parts of some tens of ids. Where the parts
// begin to pay, both ways are equal in tables of 10^6 rows; small tables would be faster undivided up to 8,192 ids.
inline constexpr std::size_t kWorthSplitting = 3072;

// Up to this many ids, one part for all shards costs less than small parts, each of which waits for memory on its own.
inline constexpr std::size_t kFew = kWorthSplitting - 1;

// What the ids of a batch are: keys, or addresses of rows (see address.h).
enum class IdKind { key, address };

[[nodiscard]] std::size_t shard_of_id(std::int64_t id, IdKind kind) noexcept;

// How a batch is divided: into one part per shard of its keys, or, with few ids, not at all.
enum class Division { shards, few };

// The ids of a batch sorted by shard, in input order within a shard, and their distinct keys. All arrays have one entry
// per id; those by distinct key are filled from the beginning of each part on.
class Batch {
 public:
  // Calls then(batch, part) once the keys of a part are known, from several threads. The ids are not needed afterwards.
  // Throws LimitReached for 2^32 - 1 ids or more, std::bad_alloc, and what `then` throws.
  template <typename Then>
  Batch(const std::int64_t* ids, std::size_t count, IdKind kind, const Then& then)
      : Batch(ids, count, kind, [](const Batch&, std::size_t, const std::int64_t*, std::size_t) {}, then) {}

  // The same; while the ids of a part are numbered, ahead(batch, part, keys, some) gets each distinct key once, so that
  // it can prefetch what `then` will read.
  template <typename Ahead, typename Then>
  Batch(const std::int64_t* ids, std::size_t count, IdKind kind, const Ahead& ahead, const Then& then,
        Division division = Division::shards)
      : Batch(ids, count, kind, division) {
    for_each_part([&](std::size_t part) {
      start_numbers(this->ids(part));
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

  // Number of the lookup that found the rows, if the table numbers lookups; 0 before.
  [[nodiscard]] std::uint32_t stamp() const noexcept { return stamp_; }
  void set_stamp(std::uint32_t stamp) noexcept { stamp_ = stamp; }

  // The shards of a part's keys, as a bit set. (Part and shard have the same number unless the batch is undivided.)
  [[nodiscard]] std::uint64_t shards(std::size_t part) const noexcept {
    return undivided() ? undivided_shards_ : std::uint64_t{1} << part;
  }
  [[nodiscard]] bool undivided() const noexcept { return undivided_shards_ != 0; }

  [[nodiscard]] IdKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t begin(std::size_t part) const noexcept { return begins_[part]; }
  [[nodiscard]] std::size_t ids(std::size_t part) const noexcept { return begins_[part + 1] - begins_[part]; }
  // Number of distinct keys of a part; data about them is at begin(part) … of the next three arrays.
  [[nodiscard]] std::size_t distinct(std::size_t part) const noexcept { return distinct_[part]; }
  [[nodiscard]] std::size_t distinct() const noexcept;

  [[nodiscard]] const std::int64_t* keys() const noexcept { return keys_; }
  // Position in the batch at which each key occurs first.
  [[nodiscard]] const std::uint32_t* firsts() const noexcept { return firsts_; }
  // Address of each key's row, once the table has filled it in; null if there is no row.
  [[nodiscard]] float** rows() noexcept { return rows_; }
  [[nodiscard]] float* const* rows() const noexcept { return rows_; }

  // ids[positions[i]] is the distinct key number numbers[i] of its part.
  [[nodiscard]] const std::uint32_t* positions() const noexcept { return positions_; }
  [[nodiscard]] const std::uint32_t* numbers() const noexcept { return numbers_; }

  // The first position whose id occurred before, if there is one; else `count`.
  [[nodiscard]] std::size_t first_repeated() const noexcept;

  // Calls body(part) for every nonempty part, the largest first, on several threads if that pays off.
  template <typename Body>
  void for_each_part(const Body& body) const {
    if (count_ < kWorthSplitting) {
      std::for_each(order_, order_ + parts_, body);
    } else {
      parallel::run(parts_, [&](std::size_t i) { body(order_[i]); });
    }
  }

 private:
  Batch(IdKind kind, std::size_t count);
  Batch(const std::int64_t* ids, std::size_t count, IdKind kind, Division division);

  void leave_undivided(const std::int64_t* ids);
  void order_parts();
  void sort(const std::int64_t* ids);
  // The thread that calls these numbers the distinct keys of one part, some ids at a time; they return the new keys
  // among these ids and their number.
  static void start_numbers(std::size_t count);
  std::pair<const std::int64_t*, std::size_t> number(std::size_t part, std::size_t from, std::size_t some);
  void end_numbers(std::size_t part);

  static constexpr std::size_t kNumbered = 64;

  IdKind kind_;
  std::uint32_t stamp_ = 0;
  std::uint64_t undivided_shards_ = 0;  // of all ids if there is a single part; else 0
  std::size_t count_;
  Scratch memory_;
  std::int64_t* keys_;  // the sorted ids until a part is numbered
  float** rows_;
  std::uint32_t* firsts_;
  std::uint32_t* positions_;
  std::uint32_t* numbers_;
  std::uint32_t begins_[kShards + 1] = {};
  std::uint32_t distinct_[kShards] = {};
  std::uint8_t order_[kShards];  // nonempty parts, the largest first
  std::size_t parts_ = 0;
};

}  // namespace recmigrate
