#include "store/table.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "store/address.h"
#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/prepared.h"
#include "store/row.h"
#include "store/simd.h"
#include "store/table_prefetch.h"

namespace recmigrate {
namespace {

// A larger hint would only spread few rows over a large index, which then misses the cache; growing costs little.
constexpr std::int64_t kReserveAtMost = 1 << 16;

// Batches remembered for their updates: a step seldom looks more than a few up before it updates. Each takes some 36
// bytes an id, so only some are, and those of a bulk load are not.
constexpr std::size_t kRemembered = 4;
constexpr std::size_t kRememberedIds = std::size_t{1} << 20;

// Numbers the fillings of all tables of the process, so that their addresses differ.
std::uint32_t next_filling() noexcept {
  static std::atomic<std::uint32_t> fillings{0};
  return ++fillings % kFillings;
}

std::size_t checked_dim(const TableConfig& config) {
  // 2^20 floats are 4 MiB a row; more is a mistake, and offsets stay far from overflow.
  if (config.dim < 1 || config.dim > (1 << 20)) {
    fail_invalid("table '" + config.name + "' has dim " + std::to_string(config.dim) + "; it must be 1 to 1048576");
  }
  return static_cast<std::size_t>(config.dim);
}

// A key of a batch, by its number, that has no row.
struct Missing {
  std::size_t shard;
  std::uint32_t number;
};

}  // namespace

Table::State::State(const RowLayout& rows, std::int64_t seed_of_rows)
    : layout(rows), arena(std::make_unique<Arena>(rows.chunk_bytes())), seed(seed_of_rows), filling(next_filling()) {
  shards.reserve(kShards);
  for (std::size_t s = 0; s < kShards; ++s) {
    shards.push_back(std::make_unique<Shard>(static_cast<double>(s) / kShards, layout, *arena));
  }
}

std::uint64_t Table::shards_of(const std::int64_t* keys, std::size_t count) noexcept {
  if (count >= kShards) return ~std::uint64_t{0} >> (64 - kShards);
  std::uint64_t shards = 0;
  for (std::size_t i = 0; i < count; ++i) shards |= std::uint64_t{1} << shard_of(hash_key(keys[i]));
  return shards;
}

Table::Found::Found(const std::int64_t* keys, Batch keys_with_rows, std::uint64_t now)
    : ids(new std::int64_t[keys_with_rows.count()]), batch(std::move(keys_with_rows)), epoch(now) {
  std::copy_n(keys, batch.count(), ids.get());
}

bool Table::Found::is_for(const std::int64_t* keys, std::size_t count) const noexcept {
  return batch.count() == count && std::memcmp(ids.get(), keys, count * sizeof *keys) == 0;
}

Table::Table(const TableConfig& config)
    : config_(config),
      dim_(checked_dim(config)),
      initializer_(config.initializer, dim_, "table '" + config.name + "'") {
  if (config.reserve < 0) {
    fail_invalid("table '" + name() + "' is to reserve " + std::to_string(config.reserve) +
                 " rows; it must be 0 or more");
  }
  if (config.evicts && config.max_bytes == 0) {
    fail_invalid("table '" + name() + "' is to evict rows when it is full and has no max_bytes; give it one");
  }
  check_tiers();
  if (tiered()) prefetcher_ = std::make_unique<Prefetcher>(*this);
  state_ = make_state(layout(OptimizerKind::none), config.seed);
  for (const std::int64_t key : config.padding_keys) padding_[shard_of(hash_key(key))].push_back({key, nullptr});
  const auto expected = static_cast<std::size_t>(std::min(config.reserve, kReserveAtMost)) / kShards;
  for (const auto& shard : state_->shards) shard->index.reserve(expected);
  recount();
}

Table::~Table() {
  if (prefetcher_) prefetcher_->close();
  sweeper::forget(*this);
  sweeper::forget(compactor_, sweeper::Work::compact);
  if (prefetcher_) prefetcher_->close();  // rows that went down meanwhile may have called it
}

RowLayout Table::layout(OptimizerKind kind) const noexcept {
  const unsigned cells =
      (config_.expansion ? RowLayout::bit(Cell::generation) : 0U) | (stamps() ? RowLayout::bit(Cell::used) : 0U) |
      (tiered() ? RowLayout::bit(Cell::uses) | RowLayout::bit(Cell::key_low) | RowLayout::bit(Cell::key_high) : 0U);
  return {dim_, slot_count(kind), cells | (is_deferred(kind) ? RowLayout::bit(Cell::last_step) : 0U)};
}

NewRow Table::new_row() const noexcept {
  return {&initializer_, state_->seed, state_->starts, static_cast<float>(state_->left)};
}

// What `read_row` gives once the key is inserted.
void Table::read_initial(std::int64_t key, float* out) const noexcept {
  initializer_.fill(state_->seed, key, out);
  const auto scale = [&](float factor) {
    if (factor != 1.0F) std::transform(out, out + dim_, out, [factor](float value) { return value * factor; });
  };
  scale(static_cast<float>(state_->left));
  if (state_->steps) scale(static_cast<float>(state_->steps->shrinkage()));
}

std::size_t Table::size() const {
  const ReadLock lock(structure_);
  std::size_t rows = 0;
  for (const auto& shard : state_->shards) {
    const ReadLock shard_lock(shard->mutex);
    rows += shard->index.size() + rows_below(*shard);
  }
  return rows;
}

std::size_t Table::bytes() const {
  const ReadLock lock(structure_);
  std::size_t total = 0;
  for (const auto& shard : state_->shards) {
    const ReadLock shard_lock(shard->mutex);
    total += shard->bytes(state_->layout);
  }
  const StepsGuard steps(*this);
  if (state_->steps) total += state_->steps->bytes();
  for (const auto& tier : state_->lower) total += tier->use().memory_bytes;
  return total;
}

void Table::initial_row(std::int64_t key, float* out) const {
  const ReadLock lock(structure_);
  const StepsGuard steps(*this);
  read_initial(key, out);
}

// Rows of up to kBlock keys, null where there is none, and their shards. The rows are prefetched.
RECMIGRATE_VECTOR_CLONES
void Table::find_block(const std::int64_t* keys, std::size_t count, float** rows, std::uint8_t* shards) const noexcept {
  std::size_t places[kBlock];
  const std::size_t width = state_->steps ? state_->layout.stride() : dim_;  // what a reader needs of a row
  const std::unique_ptr<Shard>* const all = state_->shards.data();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t hash = hash_key(keys[i]);
    shards[i] = static_cast<std::uint8_t>(shard_of(hash));
    places[i] = all[shards[i]]->index.prefetch(hash);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Shard& shard = *all[shards[i]];
    const Slot slot = shard.index.find_from(places[i], keys[i]);
    rows[i] = slot == kAbsent ? nullptr : shard.rows.row(slot);
    if (rows[i] != nullptr) prefetch_row(rows[i], width);
  }
}

void Table::contains(const std::int64_t* keys, std::size_t count, bool* found) const {
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
            rows[i] != nullptr || is_below(*state_->shards[shards[i]], hash_key(keys[at + i]), keys[at + i]);
      }
    }
  });
}

void Table::lookup(const std::int64_t* keys, std::size_t count, float* out) {
  const bool moves = way_made();
  {
    const ReadLock lock(structure_);
    tiered() && moves ? read_from_tiers(keys, count, out) : read(keys, count, out);
  }
  after_use();
}

// `lookup`, of rows that stay where they lie; `structure_` is held.
void Table::read(const std::int64_t* keys, std::size_t count, float* out) const {
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
        if (const float* const row = found_or_below(rows[i], shards[i], keys[at + i], copy); row != nullptr) {
          read_row(row, out + (at + i) * dim_);
        } else {
          read_initial(keys[at + i], out + (at + i) * dim_);
        }
      }
    }
  });
}

// The same of rows wherever they lie: each distinct key is looked for once.
void Table::read_from_tiers(const std::int64_t* keys, std::size_t count, float* out) {
  const Batch batch = resolve(keys, count, false);
  const StepsGuard steps(*this);
  batch.for_each_part([&](std::size_t part) {
    const std::size_t begin = batch.begin(part);
    const ReadLock lock(state_->shards[part]->mutex);
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      const float* const row = batch.rows()[begin + batch.numbers()[i]];
      float* const to = out + batch.positions()[i] * dim_;
      row != nullptr ? read_row(row, to) : read_initial(keys[batch.positions()[i]], to);
    }
  });
}

// De-duplicates keys, unless that was done ahead, and calls then(batch, part) for each part.
template <typename Then>
Batch Table::numbered(const std::int64_t* keys, std::size_t count, const Then& then, Division division) const {
  std::optional<Batch> ready = prepared::take(keys, count);
  if (!ready) return {keys, count, IdKind::key, Fetch{*this}, then, division};
  ready->for_each_part([&](std::size_t part) { then(*ready, part); });
  return std::move(*ready);
}

// Each distinct key is looked for once, and its row is read while it is near.
void Table::lookup_or_insert(const std::int64_t* keys, std::size_t count, float* out) {
  make_way();
  with_room([&] {
    const ReadLock lock(structure_);
    const StepsGuard steps(*this);
    const auto read_present = [&](Batch& batch, std::size_t part) {
      const ReadGuard guard(*state_, batch.shards(part));
      const bool all = find_rows(batch, part);
      if (all) read_rows(batch, part, out);
      return all;
    };
    const auto read_inserted = [&](const Batch& batch, std::size_t part) {
      const ReadGuard guard(*state_, batch.shards(part));
      read_rows(batch, part, out);
    };
    const bool whole = limited() || tiered();  // before the first row is read
    Batch batch = whole ? resolve(keys, count)
                        : numbered(
                              keys, count,
                              [&](Batch& own, std::size_t part) {
                                if (read_present(own, part)) return;
                                insert_part(own, part);
                                read_inserted(own, part);
                              },
                              Division::few);
    if (whole) batch.for_each_part([&](std::size_t part) { read_inserted(batch, part); });
    remember(keys, std::move(batch));
  });
  after_use();
}

// out[count, dim] gets the rows of a part's ids, whose shards are held.
void Table::read_rows(const Batch& batch, std::size_t part, float* out) const noexcept {
  const std::size_t begin = batch.begin(part);
  float* const* const rows = batch.rows() + begin;
  const std::uint32_t* const numbers = batch.numbers() + begin;
  const std::uint32_t* const positions = batch.positions() + begin;
  if (state_->steps == nullptr) return spread_rows(out, positions, rows, numbers, batch.ids(part), dim_);
  for (std::size_t i = 0; i < batch.ids(part); ++i) read_row(rows[numbers[i]], out + positions[i] * dim_);
}

void Table::View::read(std::size_t begin, std::size_t count, float* scratch, const float** rows) const noexcept {
  float* found[kBlock];
  std::uint8_t shards[kBlock];
  if (found_ != nullptr) {
    std::copy_n(&found_[begin], count, found);
    for (std::size_t i = 0; i < count; ++i) prefetch_row(found[i], table_.dim_);
  } else {
    table_.find_block(keys_ + begin, count, found, shards);
  }
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = found[i];
    if (found[i] != nullptr && table_.state_->steps == nullptr) continue;
    float* const copy = scratch + i * table_.dim_;
    if (found[i] != nullptr) {
      table_.read_row(found[i], copy);
    } else {
      table_.read_initial(keys_[begin + i], copy);
    }
    rows[i] = copy;
  }
}

std::unique_ptr<float*[]> Table::rows_by_id(const Batch& batch) {
  std::unique_ptr<float*[]> rows(new float*[batch.count()]);
  batch.for_each_part([&](std::size_t part) {
    const std::size_t begin = batch.begin(part);
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      rows[batch.positions()[i]] = batch.rows()[begin + batch.numbers()[i]];
    }
  });
  return rows;
}

// De-duplicates keys, finds their rows and inserts those that are missing.
Batch Table::resolve(const std::int64_t* keys, std::size_t count, bool insert) {
  const std::uint32_t stamp = next_stamp();
  Batch found = numbered(keys, count, [&](Batch& batch, std::size_t part) {
    resolve_part(batch, part, insert && !limited() && !tiered());
    if (!stamps()) return;
    const WriteLock lock(state_->shards[part]->mutex);
    stamp_part(batch, part, stamp);
  });
  found.set_stamp(stamp);
  if (tiered()) bring_up(found, insert, stamp);
  if (insert && limited()) insert_within_limit(found, stamp);
  return found;
}

void Table::Fetch::operator()(const Batch& batch, std::size_t part, const std::int64_t* keys,
                              std::size_t count) const noexcept {
  if (batch.undivided()) return;  // its few rows are looked for at once
  const Shard& shard = *table.state_->shards[part];
  const ReadLock lock(shard.mutex);
  for (std::size_t i = 0; i < count; ++i) static_cast<void>(shard.index.prefetch(hash_key(keys[i])));
}

void Table::resolve_part(Batch& batch, std::size_t part, bool insert) {
  bool complete = false;
  {
    const ReadGuard guard(*state_, batch.shards(part));
    complete = find_rows(batch, part);
  }
  if (!complete && insert) insert_part(batch, part);
}

// Finds the rows of a part's keys, whose shards are held; false where one has none.
bool Table::find_rows(Batch& batch, std::size_t part) const noexcept {
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

// Inserts the keys of these numbers into their shard.
template <typename Iterator>
void Table::insert_into(Shard& shard, const std::int64_t* keys, float** rows, Iterator begin, Iterator end) {
  const NewRow fresh = new_row();
  const WriteLock lock(shard.mutex);
  // Looked for again: another thread may have inserted it since.
  end = std::remove_if(begin, end, [&](const Missing& one) {
    const std::int64_t key = keys[one.number];
    return (rows[one.number] = shard.find(hash_key(key), key)) != nullptr;
  });
  const auto more = static_cast<std::size_t>(end - begin);
  require_places(shard, more);
  const Growth growth(*this, shard);
  shard.reserve(more);
  for (; begin != end; ++begin) {
    const std::int64_t key = keys[begin->number];
    rows[begin->number] = shard.insert(hash_key(key), key, state_->layout, fresh);
  }
}

// Inserts the keys of a part that are still missing, one shard after the other and there in input order.
void Table::insert_part(Batch& batch, std::size_t part) {
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  float** const rows = batch.rows() + batch.begin(part);
  std::vector<Missing> missing;
  for (std::uint32_t i = 0; i < batch.distinct(part); ++i) {
    if (rows[i] == nullptr) missing.push_back({shard_of(hash_key(keys[i])), i});
  }
  const auto by_shard = [](const Missing& a, const Missing& b) { return a.shard < b.shard; };
  const auto in_order = [](const Missing& a, const Missing& b) {
    return a.shard != b.shard ? a.shard < b.shard : a.number < b.number;
  };
  if (batch.undivided()) std::sort(missing.begin(), missing.end(), in_order);
  for (auto own = missing.begin(); own != missing.end();) {
    const auto end = std::upper_bound(own, missing.end(), *own, by_shard);
    insert_into(*state_->shards[own->shard], keys, rows, own, end);
    own = end;
  }
}

void Table::require_places(const Shard& shard, std::size_t more) const {
  if (!config_.expansion || shard.used + more <= kAddressedSlots) return;
  fail_limit("a shard of table '" + name() + "' holds at most 268435456 rows that have addresses");
}

void Table::remember(const std::int64_t* keys, Batch batch) {
  if (batch.count() == 0 || batch.count() > kRememberedIds) return;
  leave_found(std::make_unique<Found>(keys, std::move(batch), epoch_));
}

void Table::leave_found(FoundPtr found) {
  std::size_t ids = found->batch.count();
  const std::lock_guard<std::mutex> lock(recent_mutex_);
  recent_.reserve(kRemembered + 1);
  for (const FoundPtr& other : recent_) ids += other->batch.count();
  while (!recent_.empty() && (recent_.size() == kRemembered || ids > kRememberedIds)) {
    ids -= recent_.front()->batch.count();
    recent_.erase(recent_.begin());
  }
  recent_.push_back(std::move(found));
}

// The look-up of exactly these keys, if it was lately; it is forgotten then.
Table::FoundPtr Table::take_recent(const std::int64_t* ids, std::size_t count) {
  const std::lock_guard<std::mutex> lock(recent_mutex_);
  for (auto at = recent_.rbegin(); at != recent_.rend(); ++at) {
    if (!(*at)->is_for(ids, count)) continue;
    FoundPtr found = std::move(*at);
    recent_.erase(std::next(at).base());
    return found;
  }
  return nullptr;
}

// The same if its rows are all still there. The caller holds `structure_`.
Table::FoundPtr Table::recall(const std::int64_t* ids, std::size_t count) {
  FoundPtr found = take_recent(ids, count);
  return found && has_rows(*found) ? std::move(found) : nullptr;
}

Table::FoundPtr Table::take_found(const std::int64_t* keys, std::size_t count) {
  if (FoundPtr found = take_recent(keys, count); found && !found->batch.undivided()) return found;
  return std::make_unique<Found>(keys, Batch(keys, count, IdKind::key, [](Batch&, std::size_t) {}), kNoRows);
}

void Table::reset() {
  const Maintenance maintenance(maintenance_);
  auto fresh = make_state(layout(OptimizerKind::none), config_.seed);
  {
    const WriteLock lock(structure_);
    std::swap(state_, fresh);
    ++epoch_;
    recount();
  }
  const std::lock_guard<std::mutex> lock(recent_mutex_);
  recent_.clear();
}

}  // namespace recmigrate
