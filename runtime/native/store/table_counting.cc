// Tables whose updates count their keys, as an EmbeddingVariable's do, and what is known of the keys.
#include <algorithm>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/table.h"

namespace recmigrate {

void Table::apply_and_count(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update,
                            const Admission& admission) {
  lookup_and_admit(keys, count, admission, nullptr, nullptr);
  apply(keys, count, grads, update);  // which skips keys without a row, now that rows are counted
}

void Table::lookup_permitted(const std::int64_t* keys, std::size_t count, float* out, bool* permitted) {
  const bool moves = way_made();
  const ReadLock lock(structure_);
  if (moves) warm(keys, count);
  const StepsGuard steps(*this);
  const ReadGuard guard(*state_, shards_of(keys, count));
  parallel::ranges(count, kRowGrain, [&](std::size_t begin, std::size_t end) {
    float* rows[kBlock];
    std::uint8_t shards[kBlock];
    std::vector<float> copy;
    for (std::size_t at = begin; at < end; at += kBlock) {
      const std::size_t some = std::min(kBlock, end - at);
      find_block(keys + at, some, rows, shards);
      for (std::size_t i = 0; i < some; ++i) {
        const float* const row = found_or_below(rows[i], shards[i], keys[at + i], copy);
        permitted[at + i] = row != nullptr;
        if (row != nullptr) {
          read_row(row, out + (at + i) * dim_);
        } else {
          std::fill_n(out + (at + i) * dim_, dim_, 0.0F);
        }
      }
    }
  });
}

void Table::sightings(const std::int64_t* keys, std::size_t count, std::int64_t* counts, std::int64_t* times) const {
  const ReadLock lock(structure_);
  const ReadGuard guard(*state_, shards_of(keys, count));
  const RowLayout& layout = state_->layout;
  const bool counted = layout.has(Cell::count) && layout.has(Cell::last_seen);
  parallel::ranges(count, kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> copy;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t hash = hash_key(keys[i]);
      const Shard& shard = *state_->shards[shard_of(hash)];
      Sighting seen;
      if (const float* const row = row_in_any_tier(shard, hash, keys[i], copy); row != nullptr) {
        if (counted) seen = {layout.read(row, Cell::count), layout.read(row, Cell::last_seen)};
      } else if (shard.bloom) {
        seen.count = shard.bloom->count(hash);
      } else {
        seen = shard.sightings.find(hash, keys[i]);
      }
      counts[i] = seen.count;
      times[i] = seen.last_seen == 0 ? kNever : std::int64_t{seen.last_seen} - 1;
    }
  });
}

std::size_t Table::waiting() const {
  const ReadLock lock(structure_);
  std::size_t count = 0;
  for (const auto& shard : state_->shards) {
    const ReadLock shard_lock(shard->mutex);
    count += shard->sightings.size();
  }
  return count;
}

void Table::set_initial_rows(const float* rows, std::size_t count, bool keep) {
  if (count == 0)
    fail_invalid("table '" + name() + "' is to start rows from a matrix without one; give it one row or more");
  const Maintenance maintenance(maintenance_);
  const WriteLock lock(structure_);
  if (keep && initializer_.has_rows()) return;
  initializer_.set_rows(rows, count);
}

}  // namespace recmigrate
