// Routes the ids of many tables to the ranks that hold their rows, in one message per rank, ordered by rank. inbox.h
// reads such messages; row_message.h handles the rows on the way back.
//
// A message of keys has for each rank: the number of keys of each table, then the keys, each once, table by table. If
// a table counts its keys, and any occurs more than once, how often each does follows (occurrences.h). If bags of ids
// are pooled and sums are shorter than rows, the number n is encoded as ~n, and how to sum the rows follows
// (partial_sums.h). A message of rows has for each rank the rows, or sums, of those keys, table by table, and nothing
// else. Counts are always [ranks, tables].
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recmigrate::exchange {

// The owner of a key: the number of a rank, or one of these rules.
inline constexpr std::int64_t kByRemainder = -1;  // key mod ranks, never negative
inline constexpr std::int64_t kByBucket = -2;     // (key mod 1000) mod ranks, as DeepRec places partitions
inline constexpr std::int64_t kBuckets = 1000;

// The ids of one table.
struct Asked {
  const std::int64_t* keys;
  std::size_t count;
  std::int64_t owner;
  bool counted;          // say how often each key occurs
  std::int32_t* places;  // [count], output: the position of an id's row among the table's rows, in message order
  const std::int64_t* bags = nullptr;  // [count], grouped by bag; null without pooling
  std::size_t width = 0;               // floats of a row; 0 if rows must be sent as they are
};

// Throws InvalidInput for an owner that is not a rank or a negative bag, LimitReached for 2^31 - 1 ids of a table or
// more, std::bad_alloc.
class Partition {
 public:
  Partition(const std::vector<Asked>& tables, std::size_t ranks);

  [[nodiscard]] std::size_t message_size() const noexcept;
  void write_message(std::int64_t* message) const;
  // Number of values for each rank. Throws LimitReached for 2^31 - 1 or more.
  void write_lengths(std::int32_t* lengths) const;
  // Number of rows or sums that come back from each rank for each table.
  void write_counts(std::int32_t* counts) const;
  // For a pooled table: the number of (row or sum, bag) pairs, and the pairs, in the order of the bags of the ids.
  [[nodiscard]] std::size_t links(std::size_t table) const noexcept { return tables_[table].links; }
  void write_links(std::size_t table, std::int32_t* places, std::int32_t* bags) const;

 private:
  struct Sorted {
    std::vector<std::int64_t> keys;        // by owner, in the order of their first occurrence
    std::vector<std::size_t> begins;       // [ranks + 1]
    std::vector<std::size_t> answers;      // [ranks + 1], begin of the rows or sums that come back
    std::vector<std::size_t> occurrences;  // [ranks], number of ids whose rows their rank sums; empty if none are
    std::vector<std::uint32_t> times;      // how often each key occurs; empty if the table does not count
    std::vector<std::size_t> bytes;        // [ranks], of the number of times of a key; 0 if each of a rank occurs once
    std::size_t links = 0;

    [[nodiscard]] std::size_t keys_of(std::size_t rank) const noexcept { return begins[rank + 1] - begins[rank]; }
    [[nodiscard]] std::size_t bytes_of(std::size_t rank) const noexcept { return bytes.empty() ? 0 : bytes[rank]; }
    [[nodiscard]] bool summed(std::size_t rank) const noexcept {
      return !occurrences.empty() && occurrences[rank] != 0;
    }
    [[nodiscard]] std::size_t values(std::size_t rank) const noexcept;
  };
  static Sorted sorted(const Asked& asked, std::size_t ranks);
  static void count(const Asked& asked, std::size_t ranks, Sorted& table);
  static void choose(const Asked& asked, std::size_t ranks, Sorted& table);
  void write_sums(std::size_t table, const std::vector<std::int64_t*>& to) const;

  std::size_t ranks_;
  std::vector<Asked> asked_;
  std::vector<Sorted> tables_;
};

}  // namespace recmigrate::exchange
