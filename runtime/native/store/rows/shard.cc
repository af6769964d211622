#include "store/rows/shard.h"

#include <algorithm>

#include "store/rows/address.h"

namespace recmigrate {
namespace {

// Odd while the place has a row.
void next_generation(float* row, const RowLayout& layout) noexcept {
  if (!layout.has(Cell::generation)) return;
  layout.write(row, Cell::generation, (layout.read(row, Cell::generation) + 1) % kGenerations);
}

}  // namespace

std::size_t Shard::bytes_for(std::size_t more, const RowLayout& layout) const noexcept {
  const std::size_t fresh = more > free.size() ? more - free.size() : 0;
  return fresh * layout.stride() * sizeof(float) + index.bytes_for(index.size() + more) - index.bytes();
}

void Shard::reserve(std::size_t more) {
  if (more == 0) return;
  if (more > free.size()) rows.reserve(used + more - free.size());
  index.reserve(index.size() + more);
}

float* Shard::insert_empty(std::uint64_t hash, std::int64_t key, const RowLayout& layout) noexcept {
  const bool is_dense = dense.covers(key);
  Slot slot = used;
  if (is_dense) {
    slot = dense.insert(key);
  } else if (free.size() == 0) {
    ++used;
  } else {
    slot = free.pop(rows);
  }
  float* const row = this->row(slot);
  for (const Cell cell : {Cell::last_step, Cell::count, Cell::last_seen, Cell::version, Cell::used}) {
    if (layout.has(cell)) layout.write(row, cell, 0);
  }
  if (layout.has(Cell::uses)) {
    layout.write(row, Cell::uses, 1);
    layout.write_key(row, key);
  }
  next_generation(row, layout);
  if (!is_dense) index.insert(hash, key, slot);
  sightings.erase(hash, key);  // it no longer waits, wherever its row came from
  return row;
}

float* Shard::insert(std::uint64_t hash, std::int64_t key, const RowLayout& layout, const NewRow& fresh) noexcept {
  float* const row = insert_empty(hash, key, layout);
  std::int64_t origin = key;
  if (fresh.base != nullptr) {
    origin = fresh.base->bucket(key);
    const float* const base = fresh.base->row(origin);
    if (base != nullptr) {
      std::copy_n(base, layout.cells_at(), row);
      if (layout.has(Cell::last_step)) layout.write(row, Cell::last_step, layout.read(base, Cell::last_step));
      return row;
    }
  }
  float* const value = layout.narrow() ? fresh.wide.data() : row;
  fresh.initializer->fill(fresh.seed, origin, value);
  if (fresh.left != 1.0F) std::transform(value, value + layout.dim, value, [&](float v) { return v * fresh.left; });
  if (layout.narrow()) layout.write_value(row, value);
  for (std::size_t s = 0; s < layout.slots; ++s) {
    std::fill_n(row + layout.slots_at() + layout.dim * s, layout.dim, fresh.starts[s]);
  }
  return row;
}

bool Shard::remove(std::uint64_t hash, std::int64_t key, const RowLayout& layout) noexcept {
  if (dense.covers(key)) return dense.erase(key) != kAbsent;
  const Slot slot = index.erase(hash, key);
  if (slot == kAbsent) return false;
  next_generation(rows.row(slot), layout);
  if (layout.has(Cell::uses)) layout.write(rows.row(slot), Cell::uses, 0);
  free.push(slot, rows);
  return true;
}

}  // namespace recmigrate
