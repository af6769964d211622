// Tables and batches that several test files use.
#pragma once

#include <algorithm>
#include <random>

#include "store/table.h"

namespace fixtures {

using recmigrate::OptimizerKind;
using recmigrate::Table;
using recmigrate::TableMeta;
using recmigrate::Update;

inline recmigrate::TableConfig config(std::int64_t dim = 4) {
  recmigrate::TableConfig result;
  result.name = "user";
  result.dim = dim;
  result.seed = 7;
  result.initializer = std::to_string(dim) + ":normal:0.0:1.0";
  return result;
}

inline Update update(OptimizerKind kind) {
  Update u;
  u.kind = kind;
  if (kind == OptimizerKind::lazy_adam) {
    u.hyper = {0.1F, 0.9F, 0.999F, 0.9F, 0.999F, 1e-8F};
  } else {
    u.hyper = {0.1F, kind == OptimizerKind::adagrad ? 1e-8F : 0.0F};
  }
  if (kind == OptimizerKind::adagrad) u.starts = {0.5F};
  return u;
}

struct Snapshot {
  TableMeta meta;
  std::vector<std::int64_t> keys;
  std::vector<float> values;
  std::vector<float> slots;
};

inline Snapshot snapshot(const Table& table) {
  Snapshot result;
  table.snapshot([&](const TableMeta& meta, std::size_t rows) {
    result.meta = meta;
    result.keys.resize(rows);
    result.values.resize(rows * table.dim());
    result.slots.resize(rows * table.dim() * recmigrate::slot_count(meta.kind));
    return recmigrate::Destination{result.keys.data(), result.values.data(), result.slots.data(), nullptr};
  });
  return result;
}

inline void import_rows(Table& table, const Snapshot& from) {
  table.import_rows(from.meta, from.keys.data(), from.keys.size(), from.values.data(), from.slots.data());
}

// The same rows by ascending key.
inline Snapshot sorted(const Snapshot& from, std::size_t dim) {
  std::vector<std::size_t> order(from.keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return from.keys[a] < from.keys[b]; });
  Snapshot result;
  result.meta = from.meta;
  const std::size_t width = from.keys.empty() ? 0 : from.slots.size() / from.keys.size();
  for (const std::size_t i : order) {
    result.keys.push_back(from.keys[i]);
    const float* const row = &from.values[i * dim];
    result.values.insert(result.values.end(), row, row + dim);
    result.slots.insert(result.slots.end(), from.slots.data() + i * width, from.slots.data() + (i + 1) * width);
  }
  return result;
}

// The keys of a snapshot in ascending order: its own order is that of the shards.
inline std::vector<std::int64_t> sorted_keys(const Table& table) {
  std::vector<std::int64_t> keys = snapshot(table).keys;
  std::sort(keys.begin(), keys.end());
  return keys;
}

inline bool same_rows(const Snapshot& a, const Snapshot& b) { return a.keys == b.keys && a.values == b.values; }

// Few keys often, many keys seldom, as ids are.
inline std::vector<std::int64_t> skewed_keys(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> keys(count);
  for (std::int64_t& key : keys) {
    key = static_cast<std::int64_t>(random() % 4 == 0 ? random() % 100000 : random() % 30) - 10;
  }
  return keys;
}

inline std::vector<float> gradients(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 2001) * 0.001F - 1.0F;
  return values;
}

// Looks the rows of keys up, as training does.
inline std::vector<float> insert(Table& table, const std::vector<std::int64_t>& keys) {
  std::vector<float> rows(keys.size() * table.dim());
  table.lookup_or_insert(keys.data(), keys.size(), rows.data());
  return rows;
}

inline void train(Table& table, const std::vector<std::int64_t>& keys, OptimizerKind kind, unsigned seed) {
  const std::vector<float> steps = gradients(keys.size() * table.dim(), seed);
  Update rule = update(kind);
  if (kind == OptimizerKind::adam) rule.hyper = {0.01F, 0.1F, 0.001F, 1e-8F};
  table.apply(keys.data(), keys.size(), steps.data(), rule);
}

// Whether two tables would be saved with the same rows, slots and metadata.
inline bool same_tables(const Table& one, const Table& other) {
  const Snapshot a = sorted(snapshot(one), one.dim());
  const Snapshot b = sorted(snapshot(other), one.dim());
  return one.size() == other.size() && a.meta.to_vector() == b.meta.to_vector() && same_rows(a, b) &&
         a.slots == b.slots;
}

}  // namespace fixtures
