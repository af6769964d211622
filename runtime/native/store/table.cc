#include "store/table.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "store/errors.h"
#include "store/parallel.h"
#include "store/row.h"

namespace recmigrate {
namespace {

// Ids per task: a few tens of microseconds of work, so that waking a thread pays and the last task is short.
constexpr std::size_t kGrain = 4096;

// A larger hint would only spread few rows over a large index, which then misses the cache; growing costs little.
constexpr std::int64_t kReserveAtMost = 1 << 16;

std::size_t checked_dim(const TableConfig& config) {
  // 2^20 floats are 4 MiB a row; more is a mistake, and offsets stay far from overflow.
  if (config.dim < 1 || config.dim > (1 << 20)) {
    fail_invalid("table '" + config.name + "' has dim " + std::to_string(config.dim) + "; it must be 1 to 1048576");
  }
  return static_cast<std::size_t>(config.dim);
}

}  // namespace

Table::Table(const TableConfig& config)
    : name_(config.name),
      dim_(checked_dim(config)),
      first_seed_(config.seed),
      initializer_(config.initializer, dim_, "table '" + config.name + "'"),
      seed_(config.seed),
      rows_(dim_, 0) {
  if (config.reserve < 0) {
    fail_invalid("table '" + name_ + "' is to reserve " + std::to_string(config.reserve) +
                 " rows; it must be 0 or more");
  }
  index_.reserve(static_cast<std::size_t>(std::min(config.reserve, kReserveAtMost)));
}

std::size_t Table::size() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return index_.size();
}

void Table::lookup(const std::int64_t* keys, std::size_t count, float* out) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  static_cast<void>(gather(keys, count, out, true));
}

void Table::lookup_or_insert(const std::int64_t* keys, std::size_t count, float* out) {
  std::vector<std::uint32_t> missing;
  std::uint64_t changes = 0;
  {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    missing = gather(keys, count, out, false);
    changes = changes_;
  }
  if (missing.empty()) return;
  std::vector<std::int64_t> unseen(missing.size());
  std::transform(missing.begin(), missing.end(), unseen.begin(), [keys](std::uint32_t i) { return keys[i]; });
  const std::vector<Group> groups = group_by_key(unseen.data(), unseen.size(), nullptr, 0);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const std::vector<std::vector<Slot>> slots = insert_unseen(groups, changes == changes_);
  parallel::run(groups.size(), [&](std::size_t g) {
    const Group& group = groups[g];
    for (std::size_t i = 0; i < group.ids; ++i) {
      copy_row(out + missing[group.positions[i]] * dim_, rows_.row(slots[g][group.numbers[i]]), dim_);
    }
  });
}

void Table::reset() {
  Index index;
  Slab rows(dim_, 0);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  std::swap(index_, index);
  std::swap(rows_, rows);
  ++changes_;
  seed_ = first_seed_;
  kind_ = OptimizerKind::none;
  initial_slot_ = 0;
}

// Copies the rows of the present keys; computes the others in place if `fill`, else returns their positions, in order.
std::vector<std::uint32_t> Table::gather(const std::int64_t* keys, std::size_t count, float* out,
                                         bool fill) const {
  if (count >= kAbsent) fail_limit("a batch holds at most 4294967294 ids, not " + std::to_string(count));
  std::vector<std::vector<std::uint32_t>> missing((count + kGrain - 1) / kGrain);
  parallel::ranges(count, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; block += kBlock) {
      gather_range(keys, block, std::min(block + kBlock, end), out, fill, missing[begin / kGrain]);
    }
  });
  std::vector<std::uint32_t> all;
  for (const auto& part : missing) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void Table::gather_range(const std::int64_t* keys, std::size_t begin, std::size_t end, float* out, bool fill,
                         std::vector<std::uint32_t>& missing) const {
  Slot slots[kBlock];
  index_.find_block(keys + begin, end - begin, slots, [this](Slot slot) { prefetch_row(rows_.row(slot), dim_); });
  for (std::size_t i = begin; i < end; ++i) {
    const Slot slot = slots[i - begin];
    if (slot != kAbsent) {
      copy_row(out + i * dim_, rows_.row(slot), dim_);
    } else if (fill) {
      initializer_.fill(seed_, keys[i], out + i * dim_);
    } else {
      missing.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

}  // namespace recmigrate
