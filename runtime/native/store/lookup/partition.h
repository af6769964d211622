// The ids of many tables on their way to the ranks that hold their rows: which goes where in the one message that a
// rank sends to all, in the order of ranks. inbox.h reads such messages, row_message.h has the rows on the way back.
//
// A message of keys is for each rank: the number of keys of each table, then the keys, table after table. Where bags of
// ids are pooled, and sums of rows are less to send than the rows, the number n is told as ~n, and how to sum the rows
// stands behind the keys (partial_sums.h). A message of rows is for each rank the rows, or sums, of those keys, table
// after table, and no more. Counts are [ranks, tables] everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recmigrate::exchange {

// Which rank owns a key: a rank's number, or one of these.
inline constexpr std::int64_t kByRemainder = -1;  // key mod ranks, never negative
inline constexpr std::int64_t kByBucket = -2;     // (key mod 1000) mod ranks, as DeepRec places partitions
inline constexpr std::int64_t kBuckets = 1000;

// The ids of one table.
struct Asked {
  const std::int64_t* keys;
  std::size_t count;
  std::int64_t owner;
  bool distinct;         // send a key once, however often it occurs
  std::int32_t* places;  // [count], filled in: where among the table's rows, in the order of a message, an id's row is
  const std::int64_t* bags = nullptr;  // [count], those of a bag beside each other; null where nothing is pooled
  std::size_t width = 0;               // floats of a row; 0 where rows are to come as they are
};

// Throws InvalidInput for an owner that is no rank or a bag below 0, LimitReached for 2^31 - 1 ids of a table or more,
// std::bad_alloc.
class Partition {
 public:
  Partition(const std::vector<Asked>& tables, std::size_t ranks);

  [[nodiscard]] std::size_t message_size() const noexcept;
  void write_message(std::int64_t* message) const;
  // How many values are for each rank. Throws LimitReached for 2^31 - 1 or more.
  void write_lengths(std::int32_t* lengths) const;
  // How many rows or sums come back from each rank for each table.
  void write_counts(std::int32_t* counts) const;
  // Of a table that is pooled: how many pairs say which row or sum goes to which bag, and the pairs, by bag as ids are.
  [[nodiscard]] std::size_t links(std::size_t table) const noexcept { return tables_[table].links; }
  void write_links(std::size_t table, std::int32_t* places, std::int32_t* bags) const;

 private:
  struct Sorted {
    std::vector<std::int64_t> keys;        // by owner, and in the order of their first occurrence
    std::vector<std::size_t> begins;       // [ranks + 1]
    std::vector<std::size_t> answers;      // [ranks + 1], where the rows or sums that come back begin
    std::vector<std::size_t> occurrences;  // [ranks], of the ids whose rows are summed where they lie; empty for none
    std::size_t links = 0;

    [[nodiscard]] std::size_t keys_of(std::size_t rank) const noexcept { return begins[rank + 1] - begins[rank]; }
    [[nodiscard]] bool summed(std::size_t rank) const noexcept {
      return !occurrences.empty() && occurrences[rank] != 0;
    }
    [[nodiscard]] std::size_t values(std::size_t rank) const noexcept;
  };
  static Sorted sorted(const Asked& asked, std::size_t ranks);
  static void choose(const Asked& asked, std::size_t ranks, Sorted& table);
  void write_sums(std::size_t table, const std::vector<std::int64_t*>& to) const;

  std::size_t ranks_;
  std::vector<Asked> asked_;
  std::vector<Sorted> tables_;
};

}  // namespace recmigrate::exchange
