// The rows of a table: where they are, and how they are found, inserted, read and removed. It has no policy: counting,
// eviction, tiers and training are other parts of `Table`, which take its locks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/hash.h"
#include "store/initializers/initializer.h"
#include "store/locks.h"
#include "store/lookup/batch.h"
#include "store/parallel.h"
#include "store/rows/guards.h"
#include "store/rows/lower_rows.h"
#include "store/rows/narrow_rows.h"
#include "store/rows/row.h"
#include "store/rows/state.h"
#include "store/table_config.h"

namespace recmigrate {

// Ids per task: some tens of microseconds of work, so that waking a thread pays off and the last task is short.
inline constexpr std::size_t kRowGrain = 4096;

class RowStore {
 public:
  // Throws InvalidInput that names the table and the invalid field.
  explicit RowStore(const TableConfig& config);
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  [[nodiscard]] const TableConfig& config() const noexcept { return config_; }
  [[nodiscard]] const std::string& name() const noexcept { return config_.name; }
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] State& state() const noexcept { return *state_; }

  // Whoever replaces or removes rows, changes their slots or cells, or takes a snapshot holds `maintenance` throughout.
  [[nodiscard]] FairMutex& maintenance() const noexcept { return maintenance_; }
  // Held for reading by every call that uses rows, for writing while the set of rows is replaced, thinned or frozen.
  // ARCHITECTURE.md has the order of locks.
  [[nodiscard]] SharedMutex& structure() const noexcept { return structure_; }
  // Held for writing while a step is added to those of the state; for reading by `StepsGuard`.
  [[nodiscard]] SharedMutex& steps() const noexcept { return steps_; }

  // Rows of an earlier epoch may be removed.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  void next_epoch() noexcept { ++epoch_; }
  // Bytes of the shards, and bytes booked for insertions.
  [[nodiscard]] std::atomic<std::size_t>& booked_bytes() noexcept { return bytes_; }
  [[nodiscard]] std::size_t booked_bytes() const noexcept { return bytes_; }
  // Rows that were evicted since the table was created, for any reason.
  [[nodiscard]] std::size_t evicted() const noexcept { return evicted_; }
  void add_evicted(std::size_t rows) noexcept { evicted_ += rows; }

  // Before a call that may insert so many keys, without locks. Spreads gathered rows that have become many, or if the
  // call is going to insert from several threads: the order of rows in a shard must not depend on them. Rows become
  // dense where that costs no memory.
  void expect(std::size_t keys);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t bytes() const;
  void contains(const std::int64_t* keys, std::size_t count, bool* found) const;
  void initial_row(std::int64_t key, float* out) const;
  void set_initial_rows(const float* rows, std::size_t count, bool keep);
  [[nodiscard]] bool has_initial_rows() const noexcept { return initializer_.has_rows(); }
  std::size_t remove(const std::int64_t* keys, std::size_t count);
  template <typename Predicate>
  std::size_t remove_if(const Predicate& predicate);

  // The row layout with the slots of a rule, and a step number if rows take `steps` later; and an empty state with that
  // layout, for so many rows.
  [[nodiscard]] RowLayout layout(OptimizerKind kind, bool steps) const noexcept;
  [[nodiscard]] std::unique_ptr<State> make_state(const RowLayout& layout, std::int64_t seed,
                                                  std::size_t rows = 0) const;
  // The caller holds `maintenance` and `structure`; the former state is returned, to be freed without locks.
  [[nodiscard]] std::unique_ptr<State> replace(std::unique_ptr<State> fresh) noexcept;

  // The following is called under `structure`.

  // Throws InvalidInput for a key by which a snapshot would know the row of a bucket.
  void require_id(std::int64_t key) const {
    if (config_.buckets != 0 && is_base_key(key)) refuse_id(key);
  }
  [[nodiscard]] NewRow new_row() const;
  void read_initial(std::int64_t key, float* out) const noexcept;
  // The result of `read_initial` if it is the row of a bucket, else zeros.
  void read_waiting(std::int64_t key, float* out) const noexcept;
  // The value of a row after all steps.
  void read_row(const float* row, float* out) const noexcept {
    if (state_->steps == nullptr) {
      state_->layout.read_value(row, out);
    } else if (narrow()) {
      narrow::value(state_->layout, *state_->steps, row, out);
    } else {
      state_->steps->value(row, state_->layout.read(row, Cell::last_step), dim_, out);
    }
  }
  // Lets a row catch up on its steps and records that it took those up to `taken`.
  void catch_up(float* row, std::uint32_t taken) const noexcept;
  // Whether values are stored in two bytes, so that readers and rules work on copies.
  [[nodiscard]] bool narrow() const noexcept { return config_.values != ValueType::float32; }
  // Whether readers may be given rows where they lie.
  [[nodiscard]] bool plain() const noexcept { return state_->steps == nullptr && !narrow(); }
  // Whether rows may catch up when they are read, which saves them from taking the same steps again. Narrow rows would
  // be rounded by each read.
  [[nodiscard]] bool settles_reads() const noexcept { return state_->steps && !narrow() && state_->steps->divisible(); }
  // Lets the rows of a part catch up; null rows are skipped. Under `steps`.
  void settle_part(const Batch& batch, std::size_t part) noexcept;

  void find_block(const std::int64_t* keys, std::size_t count, float** rows, std::uint8_t* shards) const noexcept;
  [[nodiscard]] bool find_rows(Batch& batch, std::size_t part) const noexcept;
  void read_rows(const Batch& batch, std::size_t part, float* out) const noexcept;
  // `row`, or if it is null the row below memory, in `copy`; null if there is none. The shard is locked.
  [[nodiscard]] const float* found_or_below(const float* row, std::size_t part, std::int64_t key,
                                            std::vector<float>& copy) const {
    return row != nullptr || !config_.tiered()
               ? row
               : row_in_any_tier(*state_, state_->of_part(part), hash_key(key), key, copy);
  }
  [[nodiscard]] std::unique_ptr<float*[]> rows_where_they_lie(const std::int64_t* keys, std::size_t count,
                                                              std::vector<std::vector<float>>& copies) const;
  // Calls visit(i, row) for each of the keys, from several threads; null if there is no row. Rows are not moved. Throws
  // StorageFailed.
  template <typename Visit>
  void visit_rows(const std::int64_t* keys, std::size_t count, const Visit& visit) const;
  [[nodiscard]] std::size_t rows_in_memory() const;

  void insert_part(Batch& batch, std::size_t part);
  void require_places(const Shard& shard, std::size_t more) const;
  // Calls write(row, i) for the i-th id of the batch that has a row, equal ids in input order, under the locks.
  template <typename Write>
  void write_rows(const Batch& batch, const Write& write);
  void save_part(const Batch& batch, std::size_t part) noexcept;
  [[nodiscard]] std::uint32_t next_stamp() noexcept;
  void stamp_part(const Batch& batch, std::size_t part, std::uint32_t stamp) const noexcept;

  // The caller holds `structure` for writing.
  std::size_t remove_from(Shard& shard, const std::int64_t* keys, std::size_t count) noexcept;
  // Spreads gathered rows over all shards; `maintenance` is held, too. If it throws std::bad_alloc, nothing has
  // changed.
  void spread();
  // Makes rows dense whose keys are; `maintenance` is held, too.
  void condense();
  // The same for a state that is to have these keys, and has no rows.
  void choose_dense(State& state, const std::int64_t* keys, std::size_t count) const;
  void widen(const RowLayout& after, bool keep_slots, const SlotStarts& starts);
  void recount() noexcept;
  // The rows of lower tiers in another layout, filled in by change(row, old). The table is not changed. Throws
  // StorageFailed.
  template <typename Change>
  [[nodiscard]] RebuiltBelow rebuilt_below(const RowLayout& after, const Change& change) const {
    return recmigrate::rebuilt_below(*state_, make_lower(after), after, change);
  }

 private:
  struct Missing;
  // Whether a state with this layout, for so many rows, begins with gathered rows.
  [[nodiscard]] bool gathers(const RowLayout& layout, std::size_t rows) const noexcept;
  void note_gathered() noexcept;
  [[nodiscard]] std::uint64_t dense_limit_of(const State& state, std::vector<std::uint64_t> numbers) const;
  void raise_dense(std::uint64_t limit);
  [[noreturn]] void refuse_id(std::int64_t key) const;
  [[nodiscard]] std::vector<std::unique_ptr<LowerTier>> make_lower(const RowLayout& layout) const;
  template <typename Iterator>
  void insert_into(Shard& shard, const std::int64_t* keys, float** rows, Iterator begin, Iterator end);

  const TableConfig config_;
  const std::size_t dim_;
  Initializer initializer_;
  mutable FairMutex maintenance_;
  mutable SharedMutex structure_;
  mutable SharedMutex steps_;
  std::unique_ptr<State> state_;
  std::uint64_t epoch_ = 0;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> evicted_{0};
  std::atomic<bool> gathered_{false};  // of the state, for `expect`
  std::atomic<bool> crowded_{false};   // more rows are gathered than should be, or more may be dense
  const bool condenses_;               // whether rows may be dense: nothing refers to them by their slots
};

// Keeps steps from being added while rows are read. Taken under `structure`, before any shard.
class StepsGuard {
 public:
  explicit StepsGuard(const RowStore& store) noexcept : steps_(store.state().steps ? &store.steps() : nullptr) {
    if (steps_ != nullptr) steps_->lock_shared();
  }
  ~StepsGuard() {
    if (steps_ != nullptr) steps_->unlock_shared();
  }
  StepsGuard(const StepsGuard&) = delete;
  StepsGuard& operator=(const StepsGuard&) = delete;

 private:
  SharedMutex* const steps_;
};

// Recounts the bytes of all shards, however a call ends. While `structure` is held for writing.
class Recount {
 public:
  explicit Recount(RowStore& store) noexcept : store_(store) {}
  ~Recount() { store_.recount(); }
  Recount(const Recount&) = delete;
  Recount& operator=(const Recount&) = delete;

 private:
  RowStore& store_;
};

// Adds the growth of one shard, however a call ends. While the shard is locked for writing.
class Growth {
 public:
  Growth(RowStore& store, const Shard& shard) noexcept
      : store_(store), shard_(shard), before_(shard.bytes(store.state().layout)) {}
  ~Growth() { store_.booked_bytes() += shard_.bytes(store_.state().layout) - before_; }
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;

 private:
  RowStore& store_;
  const Shard& shard_;
  const std::size_t before_;
};

// Base of all other parts of a table: the rows, and short names for what they use most.
class Part {
 protected:
  explicit Part(RowStore& store) noexcept : store_(store), config_(store.config()), dim_(store.dim()) {}
  ~Part() = default;

  [[nodiscard]] State& state() const noexcept { return store_.state(); }
  [[nodiscard]] const std::string& name() const noexcept { return config_.name; }
  [[nodiscard]] bool limited() const noexcept { return config_.limited(); }
  [[nodiscard]] bool tiered() const noexcept { return config_.tiered(); }

  RowStore& store_;
  const TableConfig& config_;
  const std::size_t dim_;

 public:
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
};

// Calls body(begin, count) for blocks of `count` keys, so that a reader of many rows lets writers take turns.
template <typename Body>
void in_blocks(std::size_t count, const Body& body) {
  constexpr std::size_t kKeys = std::size_t{1} << 16;
  for (std::size_t at = 0; at < count; at += kKeys) body(at, std::min(kKeys, count - at));
}

template <typename Visit>
void RowStore::visit_rows(const std::int64_t* keys, std::size_t count, const Visit& visit) const {
  const StepsGuard steps(*this);
  const ReadGuard guard(*state_, shards_of(keys, count));
  parallel::ranges(count, kRowGrain, [&](std::size_t begin, std::size_t end) {
    float* rows[kBlock];
    std::uint8_t shards[kBlock];
    std::vector<float> copy;
    for (std::size_t at = begin; at < end; at += kBlock) {
      const std::size_t some = std::min(kBlock, end - at);
      find_block(keys + at, some, rows, shards);
      for (std::size_t i = 0; i < some; ++i) visit(at + i, found_or_below(rows[i], shards[i], keys[at + i], copy));
    }
  });
}

template <typename Write>
void RowStore::write_rows(const Batch& batch, const Write& write) {
  const StepsGuard steps(*this);
  batch.for_each_part([&](std::size_t part) {
    const WriteGuard guard(*state_, batch.shards(part));
    save_part(batch, part);
    const std::size_t begin = batch.begin(part);
    for (std::size_t i = begin; state_->steps && i < begin + batch.distinct(part); ++i) {
      if (batch.rows()[i] != nullptr) catch_up(batch.rows()[i], state_->steps->now());
    }
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      float* const row = batch.rows()[begin + batch.numbers()[i]];
      if (row != nullptr) write(row, batch.positions()[i]);
    }
  });
}

template <typename Predicate>
std::size_t RowStore::remove_if(const Predicate& predicate) {
  const Maintenance maintenance(maintenance_);
  std::vector<std::vector<std::int64_t>> keys(kShards);
  const WriteLock lock(structure_);
  const Recount recount(*this);
  std::atomic<std::size_t> removed{0};
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state_->shards[s];
    shard.for_each([&](std::int64_t key, Slot slot) {
      if (predicate(key, static_cast<const float*>(shard.row(slot)))) keys[s].push_back(key);
    });
    visit_below(*state_, s, [&](std::int64_t key, const float* row) {
      if (predicate(key, row)) keys[s].push_back(key);
    });
  });
  ++epoch_;
  parallel::run(kShards,
                [&](std::size_t s) { removed += remove_from(*state_->shards[s], keys[s].data(), keys[s].size()); });
  return removed;
}

}  // namespace recmigrate
