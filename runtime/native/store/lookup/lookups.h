// Lookups of batches: removes duplicates, finds rows, moves them up or inserts them, and reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "store/lookup/batch.h"
#include "store/lookup/recent_batches.h"
#include "store/rows/memory_limit.h"
#include "store/rows/row_store.h"
#include "store/tiers/tiers.h"

namespace recmigrate {

// Rows of some keys, which do not change while this object exists.
class RowView {
 public:
  // The rows of the keys if the caller has found them already, or null.
  RowView(const RowStore& store, const std::int64_t* keys, float* const* found) noexcept
      : store_(store), keys_(keys), found_(found) {}

  // rows[i] = the row of key number begin + i, for i < count <= kBlock; rows of keys without one, and rows that must
  // catch up on steps, are written to scratch[i * dim].
  void read(std::size_t begin, std::size_t count, float* scratch, const float** rows) const noexcept;

 private:
  const RowStore& store_;
  const std::int64_t* keys_;
  float* const* found_;
};

class Lookups : private Part {
 public:
  Lookups(RowStore& store, RecentBatches& recent, MemoryLimit& limit, Tiers& tiers) noexcept
      : Part(store), recent_(recent), limit_(limit), tiers_(tiers) {}

  void lookup(const std::int64_t* keys, std::size_t count, float* out);
  void lookup_or_insert(const std::int64_t* keys, std::size_t count, float* out);
  void lookup_in_place(const std::int64_t* keys, std::size_t count, float* out) const;
  template <typename Body>
  void view(const std::int64_t* keys, std::size_t count, bool insert, const Body& body);
  template <typename Body>
  void view_batch(const StepBatch& found, const Body& body);

  // The following is called under `structure`.

  // De-duplicates keys, finds their rows and inserts missing ones.
  [[nodiscard]] Batch resolve(const std::int64_t* keys, std::size_t count, bool insert = true);
  // The same for one part of a batch, if there is no limit on rows in memory.
  void resolve_part(Batch& batch, std::size_t part, bool insert);
  // Moves the rows of some keys up to memory; creates none. Returns the stamp of their batch.
  std::uint32_t warm(const std::int64_t* keys, std::size_t count);
  // Prefetches the index lines of keys that a part will search.
  struct Fetch {
    const RowStore& store;
    void operator()(const Batch& batch, std::size_t part, const std::int64_t* keys, std::size_t count) const noexcept;
  };

 private:
  void read(const std::int64_t* keys, std::size_t count, float* out) const;
  // The same if all keys have a row in memory; else returns false, and the rest of `out` is not written.
  [[nodiscard]] bool read_present(const std::int64_t* keys, std::size_t count, float* out) const noexcept;
  void read_from_tiers(const std::int64_t* keys, std::size_t count, float* out);
  // The following find the rows of keys, insert missing ones and read them, all under `steps`.
  [[nodiscard]] Batch read_or_insert(const std::int64_t* keys, std::size_t count, float* out);
  [[nodiscard]] Batch read_resolved(const std::int64_t* keys, std::size_t count, float* out);
  [[nodiscard]] Batch read_in_order(const std::int64_t* keys, std::size_t count, float* out);
  [[nodiscard]] Batch read_settled(const std::int64_t* keys, std::size_t count, float* out);
  [[nodiscard]] Batch read_in_parts(const std::int64_t* keys, std::size_t count, float* out);
  [[nodiscard]] bool reads_only(std::size_t count) const noexcept;
  void read_part(const Batch& batch, std::size_t part, float* out);
  [[nodiscard]] static std::unique_ptr<float*[]> rows_by_id(const Batch& batch);
  template <typename Then>
  [[nodiscard]] Batch numbered(const std::int64_t* keys, std::size_t count, const Then& then,
                               Division division = Division::shards) const;

  RecentBatches& recent_;
  MemoryLimit& limit_;
  Tiers& tiers_;
};

template <typename Body>
void Lookups::view(const std::int64_t* keys, std::size_t count, bool insert, const Body& body) {
  bool moves = true;
  if (insert) store_.expect(count);
  insert ? tiers_.make_way() : void(moves = tiers_.way_made());
  MemoryLimit::with_room([&] {
    const ReadLock lock(store_.structure());
    std::unique_ptr<float*[]> found;
    if (!insert && moves) warm(keys, count);
    if (insert) {
      Batch batch = resolve(keys, count);
      if (store_.settles_reads()) {
        const StepsGuard steps(store_);
        batch.for_each_part([&](std::size_t part) { store_.settle_part(batch, part); });
      }
      found = rows_by_id(batch);
      recent_.remember(keys, std::move(batch));
    }
    const StepsGuard steps(store_);
    const ReadGuard guard(state(), shards_of(keys, count));
    std::vector<std::vector<float>> copies;
    if (!moves) found = store_.rows_where_they_lie(keys, count, copies);
    body(RowView(store_, keys, found.get()));
  });
  tiers_.after_use();
}

template <typename Body>
void Lookups::view_batch(const StepBatch& found, const Body& body) {
  const ReadLock lock(store_.structure());
  const bool there = recent_.has_rows(found);
  if (!there) warm(found.ids.get(), found.batch.count());
  const std::unique_ptr<float*[]> rows = there ? rows_by_id(found.batch) : nullptr;
  const StepsGuard steps(store_);
  const ReadGuard guard(state(), shards_of(found.ids.get(), found.batch.count()));
  body(RowView(store_, found.ids.get(), rows.get()));
}

}  // namespace recmigrate
