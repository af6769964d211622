#include "store/lookup/lookups.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "store/hash.h"
#include "store/lookup/prepared.h"
#include "store/parallel.h"
#include "store/rows/guards.h"
#include "store/rows/row.h"

namespace recmigrate {
namespace {

// `read_present` finds so many rows before it reads the first of them.
constexpr std::size_t kFoundAhead = 4 * kBlock;

// Copies rows to out[count, dim] from its beginning to its end. Shard by shard, each thread would come back to each of
// its pages for every shard, which costs more than to keep the rows' addresses once rows are wide.
void copy_in_order(float* const* rows, std::size_t count, std::size_t dim, float* out) {
  constexpr std::size_t kAhead = 12;
  parallel::ranges(count, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kAhead < end) prefetch_row(rows[i + kAhead], dim);
      copy_row(out + i * dim, rows[i], dim);
    }
  });
}

}  // namespace

void Lookups::lookup(const std::int64_t* keys, std::size_t count, float* out) {
  const bool moves = tiers_.way_made();
  {
    const ReadLock lock(store_.structure());
    tiered() && moves ? read_from_tiers(keys, count, out) : read(keys, count, out);
  }
  tiers_.after_use();
}

// `lookup` for rows that stay where they are; `structure` is held.
void Lookups::read(const std::int64_t* keys, std::size_t count, float* out) const {
  store_.visit_rows(keys, count, [&](std::size_t i, const float* row) {
    float* const to = out + i * dim_;
    row != nullptr ? store_.read_row(row, to) : store_.read_initial(keys[i], to);
  });
}

bool Lookups::read_present(const std::int64_t* keys, std::size_t count, float* out) const noexcept {
  const std::uint64_t used = state().gathered() ? 1 : shards_of(keys, count);
  for (std::uint64_t rest = used; rest != 0; rest &= rest - 1) {
    // The locks wait for each other, and meanwhile nothing else would be fetched.
    __builtin_prefetch(&state().shards[static_cast<std::size_t>(__builtin_ctzll(rest))]->index);
  }
  const ReadGuard guard(state(), used);
  float* rows[kFoundAhead];
  std::uint8_t shards[kBlock];
  for (std::size_t at = 0; at < count; at += kFoundAhead) {
    const std::size_t some = std::min(kFoundAhead, count - at);
    for (std::size_t i = 0; i < some; i += kBlock) {
      store_.find_block(keys + at + i, std::min(kBlock, some - i), rows + i, shards);
    }
    if (std::find(rows, rows + some, nullptr) != rows + some) return false;
    if (store_.plain()) {
      copy_rows(out + at * dim_, rows, some, dim_);
      continue;
    }
    for (std::size_t i = 0; i < some; ++i) store_.read_row(rows[i], out + (at + i) * dim_);
  }
  return true;
}

void Lookups::lookup_in_place(const std::int64_t* keys, std::size_t count, float* out) const {
  in_blocks(count, [&](std::size_t at, std::size_t some) {
    const ReadLock lock(store_.structure());
    read(keys + at, some, out + at * dim_);
  });
}

// The same for rows in any tier: each distinct key is searched once.
void Lookups::read_from_tiers(const std::int64_t* keys, std::size_t count, float* out) {
  const Batch batch = resolve(keys, count, false);
  const StepsGuard steps(store_);
  batch.for_each_part([&](std::size_t part) {
    const std::size_t begin = batch.begin(part);
    const ReadLock lock(state().of_part(part).mutex);
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      const float* const row = batch.rows()[begin + batch.numbers()[i]];
      float* const to = out + batch.positions()[i] * dim_;
      row != nullptr ? store_.read_row(row, to) : store_.read_initial(keys[batch.positions()[i]], to);
    }
  });
}

// De-duplicates keys, unless an op of the dataset has done that ahead (`prepared`), and calls then(batch, part) for
// each part.
template <typename Then>
Batch Lookups::numbered(const std::int64_t* keys, std::size_t count, const Then& then, Division division) const {
  std::optional<Batch> ready = prepared::take(keys, count);
  if (!ready) return {keys, count, IdKind::key, Fetch{store_}, then, division};
  ready->for_each_part([&](std::size_t part) { then(*ready, part); });
  return std::move(*ready);
}

void Lookups::lookup_or_insert(const std::int64_t* keys, std::size_t count, float* out) {
  store_.expect(count);
  tiers_.make_way();
  MemoryLimit::with_room([&] {
    const ReadLock lock(store_.structure());
    const StepsGuard steps(store_);
    if (reads_only(count) && read_present(keys, count, out)) return;
    recent_.remember(keys, read_or_insert(keys, count, out));
  });
  tiers_.after_use();
}

// A lookup that keeps nothing for an update, and changes no row that is there, need not find duplicates either.
bool Lookups::reads_only(std::size_t count) const noexcept {
  return !recent_.wanted() && !limited() && !tiered() && !store_.settles_reads() && count <= kFew;
}

// Each distinct key is searched once. Rows are read in the way that costs least for rows such as these.
Batch Lookups::read_or_insert(const std::int64_t* keys, std::size_t count, float* out) {
  if (limited() || tiered()) return read_resolved(keys, count, out);
  if (store_.plain() && dim_ >= kWide && count > kFew) return read_in_order(keys, count, out);
  return store_.settles_reads() ? read_settled(keys, count, out) : read_in_parts(keys, count, out);
}

// Where room is made for rows, those of all parts are brought up before the first of them is read.
Batch Lookups::read_resolved(const std::int64_t* keys, std::size_t count, float* out) {
  Batch batch = resolve(keys, count);
  batch.for_each_part([&](std::size_t part) { read_part(batch, part, out); });
  return batch;
}

// Wide rows are found shard by shard, and copied in the order of the output.
Batch Lookups::read_in_order(const std::int64_t* keys, std::size_t count, float* out) {
  const auto insert = [&](Batch& own, std::size_t part) { resolve_part(own, part, true); };
  Batch batch = numbered(keys, count, insert);
  const std::unique_ptr<float*[]> rows = rows_by_id(batch);
  const ReadGuard guard(state(), shards_of(keys, count));
  copy_in_order(rows.get(), count, dim_, out);
  return batch;
}

// Rows that lag behind catch up on their steps for good, part by part.
Batch Lookups::read_settled(const std::int64_t* keys, std::size_t count, float* out) {
  const auto then = [&](Batch& own, std::size_t part) {
    resolve_part(own, part, true);
    read_part(own, part, out);
  };
  return numbered(keys, count, then, Division::few);
}

// Narrow rows are read while they are in the cache: where none of a part is missing, under the lock that found them.
Batch Lookups::read_in_parts(const std::int64_t* keys, std::size_t count, float* out) {
  const auto read_found = [&](Batch& own, std::size_t part) {
    const ReadGuard guard(state(), own.shards(part));
    const bool all = store_.find_rows(own, part);
    if (all) store_.read_rows(own, part, out);
    return all;
  };
  const auto then = [&](Batch& own, std::size_t part) {
    if (read_found(own, part)) return;
    store_.insert_part(own, part);
    read_part(own, part, out);
  };
  return numbered(keys, count, then, Division::few);
}

// Reads the rows of a part, all of which are there.
void Lookups::read_part(const Batch& batch, std::size_t part, float* out) {
  if (store_.settles_reads()) store_.settle_part(batch, part);
  const ReadGuard guard(state(), batch.shards(part));
  store_.read_rows(batch, part, out);
}

void RowView::read(std::size_t begin, std::size_t count, float* scratch, const float** rows) const noexcept {
  float* found[kBlock];
  std::uint8_t shards[kBlock];
  if (found_ != nullptr) {
    std::copy_n(&found_[begin], count, found);
    for (std::size_t i = 0; i < count; ++i) prefetch_row(found[i], store_.state().layout.slots_at());
  } else {
    store_.find_block(keys_ + begin, count, found, shards);
  }
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = found[i];
    if (found[i] != nullptr && store_.plain()) continue;
    float* const copy = scratch + i * store_.dim();
    if (found[i] != nullptr) {
      store_.read_row(found[i], copy);
    } else {
      store_.read_initial(keys_[begin + i], copy);
    }
    rows[i] = copy;
  }
}

std::unique_ptr<float*[]> Lookups::rows_by_id(const Batch& batch) {
  std::unique_ptr<float*[]> rows(new float*[batch.count()]);
  batch.for_each_part([&](std::size_t part) {
    const std::size_t begin = batch.begin(part);
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      rows[batch.positions()[i]] = batch.rows()[begin + batch.numbers()[i]];
    }
  });
  return rows;
}

Batch Lookups::resolve(const std::int64_t* keys, std::size_t count, bool insert) {
  const std::uint32_t stamp = store_.next_stamp();
  Batch found = numbered(keys, count, [&](Batch& batch, std::size_t part) {
    resolve_part(batch, part, insert && !limited() && !tiered());
    if (!config_.stamps()) return;
    const WriteLock lock(state().of_part(part).mutex);
    store_.stamp_part(batch, part, stamp);
  });
  found.set_stamp(stamp);
  if (tiered()) tiers_.bring_up(found, insert, stamp);
  if (insert && limited()) limit_.insert_within_limit(found, stamp);
  return found;
}

void Lookups::Fetch::operator()(const Batch& batch, std::size_t part, const std::int64_t* keys,
                                std::size_t count) const noexcept {
  if (batch.undivided()) return;  // its few rows are searched at once
  const Shard& shard = store.state().of_part(part);
  const ReadLock lock(shard.mutex);
  for (std::size_t i = 0; i < count; ++i) {
    if (shard.dense.covers(keys[i])) continue;
    static_cast<void>(shard.index.prefetch(hash_key(keys[i])));
  }
}

void Lookups::resolve_part(Batch& batch, std::size_t part, bool insert) {
  bool complete = false;
  {
    const ReadGuard guard(state(), batch.shards(part));
    complete = store_.find_rows(batch, part);
  }
  if (!complete && insert) store_.insert_part(batch, part);
}

std::uint32_t Lookups::warm(const std::int64_t* keys, std::size_t count) {
  return tiered() ? resolve(keys, count, false).stamp() : 0;
}

}  // namespace recmigrate
