#include "store/rows/addresses.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/rows/address.h"
#include "store/rows/row.h"

namespace recmigrate {

void Addresses::apply_at(const std::int64_t* addresses, std::size_t count, const float* grads, const Update& update) {
  updates_.with_slots(update, nullptr, 0, [&] {
    require_addresses();
    const Batch batch(addresses, count, IdKind::address,
                      [&](Batch& part_of, std::size_t part) { find_addresses(part_of, part); });
    require_rows(batch, addresses);
    const Sums sums = updates_.sums_of(batch, grads, update);
    updates_.require_sound(batch, sums, update);
    updates_.update_all(batch, sums, update);
  });
}

void Addresses::require_addresses() const {
  if (config_.expansion) return;
  fail_invalid("the rows of table '" + name() + "' have no addresses; create it with dynamic expansion");
}

void Addresses::begin_expansion(const Batch& batch, std::size_t* begins) const {
  std::size_t next = 0;
  for (std::size_t part = 0; part < kShards; ++part) begins[part] = std::exchange(next, next + batch.distinct(part));
}

// Writes the rows and addresses of a part's distinct keys from number `begin` on, and the key number of each id.
void Addresses::expand_part(const Batch& batch, std::size_t part, std::size_t begin, const Expansion& to) const {
  const Shard& shard = *state().shards[part];
  const std::size_t first = batch.begin(part);
  const ReadLock lock(shard.mutex);
  for (std::size_t i = 0; i < batch.distinct(part); ++i) {
    const std::int64_t key = batch.keys()[first + i];
    const Slot slot = shard.index.find(hash_key(key), key);
    const float* const row = shard.rows.row(slot);
    to.addresses[begin + i] = make_address(part, slot, state().filling, state().layout.read(row, Cell::generation));
    store_.read_row(row, to.rows + (begin + i) * dim_);
  }
  for (std::size_t i = first; i < first + batch.ids(part); ++i) {
    to.numbers[batch.positions()[i]] = static_cast<std::int64_t>(begin + batch.numbers()[i]);
  }
}

void Addresses::addresses(const std::int64_t* keys, std::size_t count, std::int64_t* out) {
  require_addresses();
  MemoryLimit::with_room([&] {
    const ReadLock lock(store_.structure());
    const Batch batch = lookups_.resolve(keys, count);
    batch.for_each_part([&](std::size_t part) {
      const Shard& shard = *state().shards[part];
      const std::size_t begin = batch.begin(part);
      const ReadLock shard_lock(shard.mutex);
      for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
        const std::int64_t key = keys[batch.positions()[i]];
        const Slot slot = shard.index.find(hash_key(key), key);
        const std::uint32_t generation = state().layout.read(shard.rows.row(slot), Cell::generation);
        out[batch.positions()[i]] = make_address(part, slot, state().filling, generation);
      }
    });
  });
}

// The row at an address, or null; the shard is locked.
float* Addresses::row_at(std::int64_t address) const noexcept {
  const Shard& shard = *state().shards[address_shard(address)];
  const Slot slot = address_slot(address);
  if (address_filling(address) != state().filling || address_generation(address) % 2 == 0) return nullptr;
  if (slot >= shard.used) return nullptr;
  float* const row = shard.rows.row(slot);
  return state().layout.read(row, Cell::generation) == address_generation(address) ? row : nullptr;
}

void Addresses::find_addresses(Batch& batch, std::size_t part) const {
  const ReadLock lock(state().shards[part]->mutex);
  for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.distinct(part); ++i) {
    batch.rows()[i] = row_at(batch.keys()[i]);
  }
}

void Addresses::require_rows(const Batch& batch, const std::int64_t* addresses) const {
  std::size_t wrong = batch.count();
  for (std::size_t part = 0; part < kShards; ++part) {
    for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.distinct(part); ++i) {
      if (batch.rows()[i] == nullptr) wrong = std::min<std::size_t>(wrong, batch.firsts()[i]);
    }
  }
  if (wrong == batch.count()) return;
  fail_invalid(
      "address " + std::to_string(addresses[wrong]) + " at position " + std::to_string(wrong) +
      " is not that of a row of table '" + name() +
      "', or of one that was evicted or was there before a reset or restore: take addresses from a lookup of the "
      "same step");
}

void Addresses::lookup_at(const std::int64_t* addresses, std::size_t count, float* out) const {
  require_addresses();
  const ReadLock lock(store_.structure());
  const Batch batch(addresses, count, IdKind::address,
                    [this](Batch& part_of, std::size_t part) { find_addresses(part_of, part); });
  require_rows(batch, addresses);
  const StepsGuard steps(store_);
  batch.for_each_part([&](std::size_t part) {
    const ReadLock shard_lock(state().shards[part]->mutex);
    const std::size_t begin = batch.begin(part);
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      store_.read_row(batch.rows()[begin + batch.numbers()[i]], out + batch.positions()[i] * dim_);
    }
  });
}

}  // namespace recmigrate
