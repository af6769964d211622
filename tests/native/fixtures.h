// Tables and batches that several test files use.
#pragma once

#include <random>

#include "store/table.h"

namespace fixtures {

using recmigrate::OptimizerKind;
using recmigrate::Table;
using recmigrate::TableMeta;
using recmigrate::Update;

inline recmigrate::TableConfig config(std::int64_t dim = 4) {
  return {"user", dim, 7, std::to_string(dim) + ":normal:0.0:1.0", 0};
}

inline Update update(OptimizerKind kind) {
  Update u;
  u.kind = kind;
  u.learning_rate = 0.1F;
  u.epsilon = 1e-8F;
  u.initial_accumulator = 0.5F;
  u.beta1 = u.beta1_power = 0.9F;
  u.beta2 = u.beta2_power = 0.999F;
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
    return Table::Destination{result.keys.data(), result.values.data(), result.slots.data()};
  });
  return result;
}

inline void import_rows(Table& table, const Snapshot& from) {
  table.import_rows(from.meta, from.keys.data(), from.keys.size(), from.values.data(), from.slots.data());
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

}  // namespace fixtures
