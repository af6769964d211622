// A table of embedding rows that grows with its keys: look-up, insertion, update, snapshot and import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <string>
#include <vector>

#include "store/grouping.h"
#include "store/index.h"
#include "store/initializer.h"
#include "store/optimizer.h"
#include "store/slab.h"

namespace recmigrate {

struct TableConfig {
  std::string name;
  std::int64_t dim = 0;   // floats per row, > 0
  std::int64_t seed = 0;  // of the initial rows
  std::string initializer;
  std::int64_t reserve = 0;  // rows to expect; a hint
};

// What a snapshot says besides its rows; `to_vector` and `from_vector` give the int64 tensor of a checkpoint.
struct TableMeta {
  static constexpr std::int64_t kVersion = 1;

  std::int64_t seed = 0;
  std::int64_t dim = 0;
  OptimizerKind kind = OptimizerKind::none;
  float initial_slot = 0;  // of rows inserted from now on

  // [version, seed, dim, slots per row, optimizer kind, bits of initial_slot]
  [[nodiscard]] std::vector<std::int64_t> to_vector() const;
  // Throws InvalidInput that names `owner` and the entry.
  [[nodiscard]] static TableMeta from_vector(const std::int64_t* meta, std::size_t count, const std::string& owner);
};

// Safe for any number of threads. Rows are never seen half-written. The same calls in the same order give the same bits
// for any number of threads in the pool. When a call throws, every key and value is as before.
class Table {
 public:
  // Throws InvalidInput that names the table and the wrong field.
  explicit Table(const TableConfig& config);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] std::size_t size() const;

  // out[count, dim] = the keys' rows; an unseen key reads its initial row and is not inserted.
  void lookup(const std::int64_t* keys, std::size_t count, float* out) const;

  // As `lookup`, but unseen keys are inserted, in input order.
  void lookup_or_insert(const std::int64_t* keys, std::size_t count, float* out);

  // Sums the gradients [count, dim] of equal keys in input order, inserts unseen keys and updates each row once.
  // Throws InvalidInput when the table's slots belong to another rule.
  void apply(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update);

  // Inserts or overwrites values [count, dim], the last of equal keys wins; slots stay, or start as those of new rows.
  void upsert(const std::int64_t* keys, std::size_t count, const float* values);

  // The state at one moment, between updates. `sink` is called once with the meta data and the row count, under the
  // table's lock, and returns where to write keys [n], values [n, dim] and slots [n, slots * dim].
  struct Destination {
    std::int64_t* keys;
    float* values;
    float* slots;
  };
  template <typename Sink>
  void snapshot(Sink&& sink) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    write_rows(sink(meta(), index_.size()));
  }

  // Replaces everything, the seed included. Throws InvalidInput for another dim and for a key that comes twice.
  void import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                   const float* slots);

  // Empties the table: no rows, no slots, the seed it was made with.
  void reset();

 private:
  [[nodiscard]] TableMeta meta() const noexcept;
  [[nodiscard]] std::vector<std::uint32_t> gather(const std::int64_t* keys, std::size_t count, float* out,
                                                  bool fill) const;
  void gather_range(const std::int64_t* keys, std::size_t begin, std::size_t end, float* out, bool fill,
                    std::vector<std::uint32_t>& missing) const;
  void write_rows(const Destination& to) const;
  void adopt(const Update& update);
  std::vector<std::vector<Slot>> insert_unseen(const std::vector<Group>& groups, bool all_unseen = false);
  [[nodiscard]] std::vector<Slot> find_all(const std::vector<std::int64_t>& keys) const;
  void update_rows(const Group& group, const std::vector<Slot>& slots, const Update& update) noexcept;
  void reserve(std::size_t rows);

  const std::string name_;
  const std::size_t dim_;
  const std::int64_t first_seed_;
  const Initializer initializer_;

  mutable std::shared_mutex mutex_;  // guards everything below
  std::int64_t seed_;
  OptimizerKind kind_ = OptimizerKind::none;
  float initial_slot_ = 0;
  std::uint64_t changes_ = 0;  // of the set of keys: what was absent is so while this stays the same
  Index index_;
  Slab rows_;
};

}  // namespace recmigrate
