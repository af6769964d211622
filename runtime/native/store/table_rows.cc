// Whole-table traffic: snapshot, import, upsert and the meta data that goes with a checkpoint.
#include <cstring>
#include <mutex>
#include <utility>

#include "store/errors.h"
#include "store/parallel.h"
#include "store/row.h"
#include "store/table.h"

namespace recmigrate {
namespace {

constexpr std::size_t kRowGrain = 4096;

}  // namespace

std::vector<std::int64_t> TableMeta::to_vector() const {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &initial_slot, sizeof bits);
  return {kVersion, seed, dim, static_cast<std::int64_t>(slot_count(kind)), static_cast<std::int64_t>(kind), bits};
}

TableMeta TableMeta::from_vector(const std::int64_t* meta, std::size_t count, const std::string& owner) {
  const std::string prefix = "meta data for " + owner;
  if (count < 5) fail_invalid(prefix + " has " + std::to_string(count) + " entries; a snapshot has 6");
  if (meta[0] != kVersion) {
    fail_invalid(prefix + " is of format " + std::to_string(meta[0]) + "; this engine reads format 1");
  }
  if (meta[4] < 0 || meta[4] > static_cast<std::int64_t>(OptimizerKind::lazy_adam)) {
    fail_invalid(prefix + " names optimizer kind " + std::to_string(meta[4]) + "; known are 0 to 3");
  }
  TableMeta result;
  result.seed = meta[1];
  result.dim = meta[2];
  result.kind = static_cast<OptimizerKind>(meta[4]);
  if (meta[3] != static_cast<std::int64_t>(slot_count(result.kind))) {
    fail_invalid(prefix + " has " + std::to_string(meta[3]) + " slots per row; optimizer " +
                 optimizer_name(result.kind) + " has " + std::to_string(slot_count(result.kind)));
  }
  if (count > 5) {
    const auto bits = static_cast<std::uint32_t>(meta[5]);
    std::memcpy(&result.initial_slot, &bits, sizeof bits);
  } else if (result.kind == OptimizerKind::adagrad) {
    fail_invalid(prefix + " lacks its sixth entry, the initial accumulator of adagrad");
  }
  return result;
}

TableMeta Table::meta() const noexcept { return {seed_, static_cast<std::int64_t>(dim_), kind_, initial_slot_}; }

void Table::write_rows(const Destination& to) const {
  const std::size_t width = rows_.slot_width();
  parallel::ranges(index_.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::memcpy(to.keys + begin, index_.keys().data() + begin, (end - begin) * sizeof(std::int64_t));
    for (std::size_t i = begin; i < end; ++i) {
      const float* row = rows_.row(static_cast<Slot>(i));
      std::memcpy(to.values + i * dim_, row, dim_ * sizeof(float));
      if (width != 0) std::memcpy(to.slots + i * width, row + dim_, width * sizeof(float));
    }
  });
}

void Table::import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                        const float* slots) {
  if (meta.dim != static_cast<std::int64_t>(dim_)) {
    fail_invalid("rows for table '" + name_ + "' are " + std::to_string(meta.dim) + " wide; the table's dim is " +
                 std::to_string(dim_));
  }
  Index index;
  Slab rows(dim_, slot_count(meta.kind));
  rows.reserve(count);
  index.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (index.find(keys[i]) != kAbsent) {
      fail_invalid("rows for table '" + name_ + "' hold key " + std::to_string(keys[i]) + " twice");
    }
    index.insert_new(keys[i]);
  }
  const std::size_t width = rows.slot_width();
  parallel::ranges(count, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      float* row = rows.row(static_cast<Slot>(i));
      std::memcpy(row, values + i * dim_, dim_ * sizeof(float));
      if (width != 0) std::memcpy(row + dim_, slots + i * width, width * sizeof(float));
    }
  });
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  std::swap(index_, index);
  std::swap(rows_, rows);
  ++changes_;
  seed_ = meta.seed;
  kind_ = meta.kind;
  initial_slot_ = meta.initial_slot;
}

void Table::upsert(const std::int64_t* keys, std::size_t count, const float* values) {
  const std::vector<Group> groups = group_by_key(keys, count, nullptr, 0);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const std::vector<std::vector<Slot>> slots = insert_unseen(groups);
  parallel::run(groups.size(), [&](std::size_t g) {
    const Group& group = groups[g];
    for (std::size_t i = 0; i < group.ids; ++i) {
      copy_row(rows_.row(slots[g][group.numbers[i]]), values + group.positions[i] * dim_, dim_);
    }
  });
}

}  // namespace recmigrate
