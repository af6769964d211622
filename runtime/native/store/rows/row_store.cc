// Finds and reads rows.
#include "store/rows/row_store.h"

#include <algorithm>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/rows/row.h"
#include "store/simd.h"

namespace recmigrate {
namespace {

// A larger hint would only spread few rows over a large index, which misses the cache; growing costs little.
constexpr std::int64_t kReserveAtMost = 1 << 16;

std::size_t checked_dim(const TableConfig& config) {
  // 2^20 floats are 4 MiB a row; more is a mistake, and offsets stay far from overflow.
  if (config.dim < 1 || config.dim > (1 << 20)) {
    fail_invalid("table '" + config.name + "' has dim " + std::to_string(config.dim) + "; it must be 1 to 1048576");
  }
  return static_cast<std::size_t>(config.dim);
}

}  // namespace

RowStore::RowStore(const TableConfig& config)
    : config_(config),
      dim_(checked_dim(config)),
      initializer_(config.initializer, dim_, "table '" + config.name + "'"),
      condenses_(!config.tiered() && !config.limited() && !config.expansion && config.device_rows == 0) {
  config_.check();
  state_ = make_state(layout(OptimizerKind::none, false), config.seed);
  note_gathered();
  const auto expected = static_cast<std::size_t>(std::min(config.reserve, kReserveAtMost));
  if (state_->gathered()) state_->shards.front()->index.reserve(expected);
  for (const auto& shard : state_->shards) shard->index.reserve(state_->gathered() ? 0 : expected / kShards);
  recount();
}

// Other tables refer to the shard of a key by other numbers: in addresses, tiers and demands for memory.
bool RowStore::gathers(const RowLayout& layout, std::size_t rows) const noexcept {
  const std::size_t expected = std::max(rows, static_cast<std::size_t>(std::max<std::int64_t>(config_.reserve, 0)));
  return condenses_ && (layout.present & kSeenCells) == 0 && expected <= kGathered;
}

RowLayout RowStore::layout(OptimizerKind kind, bool steps) const noexcept {
  const unsigned cells =
      (config_.expansion ? RowLayout::bit(Cell::generation) : 0U) |
      (config_.stamps() ? RowLayout::bit(Cell::used) : 0U) |
      (config_.tiered() ? RowLayout::bit(Cell::uses) | RowLayout::bit(Cell::key_low) | RowLayout::bit(Cell::key_high)
                        : 0U);
  return {dim_, slot_count(kind), cells | (steps ? RowLayout::bit(Cell::last_step) : 0U), config_.values};
}

std::unique_ptr<State> RowStore::make_state(const RowLayout& layout, std::int64_t seed, std::size_t rows) const {
  auto fresh = std::make_unique<State>(layout, seed, gathers(layout, rows), config_.buckets);
  fresh->lower = make_lower(layout);
  if (config_.tiered()) fresh->staged = std::make_unique<Staged>(layout.stride());
  for (const auto& shard : fresh->shards) shard->lower = std::vector<Index>(fresh->lower.size());
  return fresh;
}

std::unique_ptr<State> RowStore::replace(std::unique_ptr<State> fresh) noexcept {
  std::swap(state_, fresh);
  note_gathered();
  ++epoch_;
  recount();
  return fresh;
}

std::vector<std::unique_ptr<LowerTier>> RowStore::make_lower(const RowLayout& layout) const {
  std::vector<std::unique_ptr<LowerTier>> lower;
  for (std::size_t t = 1; t < config_.tiers.size(); ++t) {
    lower.push_back(
        make_tier(config_.tiers[t].medium, {config_.tier_folder, "table '" + name() + "'", layout.stride(),
                                            t + 1 < config_.tiers.size() ? 0 : config_.tiers[t].bytes,
                                            static_cast<std::size_t>(config_.tier_segment), config_.tier_library}));
  }
  return lower;
}

NewRow RowStore::new_row() const {
  return {&initializer_,
          state_->base.empty() ? nullptr : &state_->base,
          state_->seed,
          state_->starts,
          static_cast<float>(state_->left),
          std::vector<float>(narrow() ? dim_ : 0)};
}

// The result of `read_row` once the key is inserted.
void RowStore::read_initial(std::int64_t key, float* out) const noexcept {
  if (!state_->base.empty()) {
    key = state_->base.bucket(key);
    const float* const row = state_->base.row(key);
    if (row != nullptr) return read_row(row, out);
  }
  initializer_.fill(state_->seed, key, out);
  const auto left = static_cast<float>(state_->left);
  if (left != 1.0F) std::transform(out, out + dim_, out, [left](float value) { return value * left; });
  if (narrow()) narrow::round(config_.values, out, dim_);
  if (state_->steps) state_->steps->from_start(out, state_->starts, dim_);
}

void RowStore::read_waiting(std::int64_t key, float* out) const noexcept {
  const Base& base = state_->base;
  const float* const row = base.empty() ? nullptr : base.row(base.bucket(key));
  if (row != nullptr) return read_row(row, out);
  std::fill_n(out, dim_, 0.0F);
}

std::size_t RowStore::size() const {
  const ReadLock lock(structure_);
  std::size_t rows = 0;
  for (const auto& shard : state_->shards) {
    const ReadLock shard_lock(shard->mutex);
    rows += shard->size() + rows_below(*shard);
  }
  return rows;
}

std::size_t RowStore::bytes() const {
  const ReadLock lock(structure_);
  std::size_t total = state_->base.bytes();
  for (const auto& shard : state_->shards) {
    const ReadLock shard_lock(shard->mutex);
    total += shard->bytes(state_->layout);
  }
  const StepsGuard steps(*this);
  if (state_->steps) total += state_->steps->bytes();
  for (const auto& tier : state_->lower) total += tier->use().memory_bytes;
  return total;
}

void RowStore::refuse_id(std::int64_t key) const {
  fail_invalid("table '" + name() + "' is asked for the row of id " + std::to_string(key) +
               ", which is reserved for the row of a bucket; ids must be " + std::to_string(kBaseKeys + kMostBuckets) +
               " or more");
}

void RowStore::initial_row(std::int64_t key, float* out) const {
  const ReadLock lock(structure_);
  const StepsGuard steps(*this);
  read_initial(key, out);
}

void RowStore::set_initial_rows(const float* rows, std::size_t count, bool keep) {
  if (count == 0)
    fail_invalid("table '" + name() + "' starts rows from a matrix that has no rows; give it one row or more");
  const Maintenance maintenance(maintenance_);
  const WriteLock lock(structure_);
  if (keep && initializer_.has_rows()) return;
  initializer_.set_rows(rows, count);
}

namespace {

RECMIGRATE_INLINE bool are_below(std::uint64_t limit, const std::int64_t* keys, std::size_t count) noexcept {
  bool all = true;
  for (std::size_t i = 0; i < count; ++i) all &= static_cast<std::uint64_t>(keys[i]) < limit;
  return all;
}

}  // namespace

// Rows of up to kBlock keys, null if there is none, and the shards' numbers. The rows are prefetched.
RECMIGRATE_VECTOR_CLONES
void RowStore::find_block(const std::int64_t* keys, std::size_t count, float** rows,
                          std::uint8_t* shards) const noexcept {
  const Line* places[kBlock];
  // The part of a row that a reader needs.
  const std::size_t width = state_->steps ? state_->layout.stride() : state_->layout.slots_at();
  const std::unique_ptr<Shard>* const all = state_->shards.data();
  const std::uint64_t limit = all[0]->dense.keys();
  const auto is_dense = [&](std::size_t i)
                            RECMIGRATE_INLINED { return limit != 0 && static_cast<std::uint64_t>(keys[i]) < limit; };
  const auto find = [&](const auto& shard_of_number) RECMIGRATE_INLINED {
    const auto put = [&](std::size_t i, const Shard& shard, Slot slot) RECMIGRATE_INLINED {
      rows[i] = slot == kAbsent ? nullptr : shard.row(slot);
      if (rows[i] != nullptr) prefetch_row(rows[i], width);
    };
    if (limit != 0 && are_below(limit, keys, count)) {
      for (std::size_t i = 0; i < count; ++i) {
        shards[i] = static_cast<std::uint8_t>(shard_of_key(keys[i]));
        const Shard& shard = shard_of_number(shards[i]);
        put(i, shard, shard.dense.find(keys[i]));
      }
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = hash_key(keys[i]);
      shards[i] = static_cast<std::uint8_t>(shard_of(hash));
      places[i] = is_dense(i) ? nullptr : shard_of_number(shards[i]).index.prefetch(hash);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Shard& shard = shard_of_number(shards[i]);
      put(i, shard, is_dense(i) ? shard.dense.find(keys[i]) : shard.index.find_from(places[i], keys[i]));
    }
  };
  if (state_->gathered()) {
    find([&whole = *all[0]](std::size_t) -> const Shard& { return whole; });
  } else {
    find([all](std::size_t shard) -> const Shard& { return *all[shard]; });
  }
}

void RowStore::contains(const std::int64_t* keys, std::size_t count, bool* found) const {
  const ReadLock lock(structure_);
  const ReadGuard guard(*state_, shards_of(keys, count));
  parallel::ranges(count, kRowGrain, [&](std::size_t begin, std::size_t end) {
    float* rows[kBlock];
    std::uint8_t shards[kBlock];
    for (std::size_t at = begin; at < end; at += kBlock) {
      const std::size_t some = std::min(kBlock, end - at);
      find_block(keys + at, some, rows, shards);
      for (std::size_t i = 0; i < some; ++i) {
        found[at + i] =
            rows[i] != nullptr || is_below(state_->of_part(shards[i]), hash_key(keys[at + i]), keys[at + i]);
      }
    }
  });
}

// Copies the rows of a part's ids, whose shards are locked, to out[count, dim].
void RowStore::read_rows(const Batch& batch, std::size_t part, float* out) const noexcept {
  const std::size_t begin = batch.begin(part);
  float* const* const rows = batch.rows() + begin;
  const std::uint32_t* const numbers = batch.numbers() + begin;
  const std::uint32_t* const positions = batch.positions() + begin;
  if (plain()) return spread_rows(out, positions, rows, numbers, batch.ids(part), dim_);
  if (state_->steps == nullptr)
    return spread_widened(config_.values, out, positions, rows, numbers, batch.ids(part), dim_);
  for (std::size_t i = 0; i < batch.ids(part); ++i) read_row(rows[numbers[i]], out + positions[i] * dim_);
}

// Finds the rows of a part's keys, whose shards are locked; false if one has no row.
bool RowStore::find_rows(Batch& batch, std::size_t part) const noexcept {
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  float** const rows = batch.rows() + batch.begin(part);
  const std::size_t distinct = batch.distinct(part);
  std::uint8_t shards[kBlock];
  bool complete = true;
  for (std::size_t at = 0; at < distinct; at += kBlock) {
    const std::size_t some = std::min(kBlock, distinct - at);
    find_block(keys + at, some, rows + at, shards);
    complete = complete && std::find(rows + at, rows + at + some, nullptr) == rows + at + some;
  }
  return complete;
}

// The rows of keys by id, null if there is none; rows below memory are copied to `copies`. Shards are locked.
std::unique_ptr<float*[]> RowStore::rows_where_they_lie(const std::int64_t* keys, std::size_t count,
                                                        std::vector<std::vector<float>>& copies) const {
  std::unique_ptr<float*[]> rows(new float*[count]);
  std::uint8_t shards[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t some = std::min(kBlock, count - at);
    find_block(keys + at, some, &rows[at], shards);
    for (std::size_t i = at; i < at + some; ++i) {
      std::vector<float> copy;
      if (found_or_below(rows[i], shards[i - at], keys[i], copy) == nullptr || rows[i] != nullptr) continue;
      copies.push_back(std::move(copy));
      rows[i] = copies.back().data();
    }
  }
  return rows;
}

std::size_t RowStore::rows_in_memory() const {
  std::size_t rows = 0;
  for (const auto& shard : state_->shards) {
    const ReadLock lock(shard->mutex);
    rows += shard->size();
  }
  return rows;
}

std::uint64_t shards_of(const std::int64_t* keys, std::size_t count) noexcept {
  if (count >= kShards) return ~std::uint64_t{0} >> (64 - kShards);
  std::uint64_t shards = 0;
  for (std::size_t i = 0; i < count; ++i) shards |= std::uint64_t{1} << shard_of_key(keys[i]);
  return shards;
}

}  // namespace recmigrate
