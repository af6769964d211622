#include "store/table.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "store/errors.h"
#include "store/parallel.h"

namespace recmigrate {
namespace {

// Ids per task: a few tens of microseconds of work, so that waking a thread pays and the last task is short.
constexpr std::size_t kGrain = 4096;
constexpr std::size_t kRowGrain = 512;

// A larger hint would only spread few rows over a large index, which then misses the cache; growing costs little.
constexpr std::int64_t kReserveAtMost = 1 << 16;

std::size_t checked_dim(const TableConfig& config) {
  // 2^20 floats are 4 MiB a row; more is a mistake, and offsets stay far from overflow.
  if (config.dim < 1 || config.dim > (1 << 20)) {
    fail_invalid("table '" + config.name + "' has dim " + std::to_string(config.dim) + "; it must be 1 to 1048576");
  }
  return static_cast<std::size_t>(config.dim);
}

void prefetch_row(const float* row, std::size_t floats) noexcept {
  // The hardware follows from the fourth line on.
  const std::size_t lines = std::min<std::size_t>((floats + 15) / 16, 4);
  for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(row + line * 16);
}

// A copy of fixed size is a few vector moves; a call of memcpy per short row costs more than the copy.
void copy_row(float* to, const float* from, std::size_t dim) noexcept {
  switch (dim) {
    case 4: std::memcpy(to, from, 4 * sizeof(float)); break;
    case 8: std::memcpy(to, from, 8 * sizeof(float)); break;
    case 16: std::memcpy(to, from, 16 * sizeof(float)); break;
    case 32: std::memcpy(to, from, 32 * sizeof(float)); break;
    case 64: std::memcpy(to, from, 64 * sizeof(float)); break;
    default: std::memcpy(to, from, dim * sizeof(float));
  }
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
  {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    missing = gather(keys, count, out, false);
  }
  if (missing.empty()) return;
  std::vector<std::int64_t> unseen(missing.size());
  std::transform(missing.begin(), missing.end(), unseen.begin(), [keys](std::uint32_t i) { return keys[i]; });
  const std::vector<Group> groups = group_by_key(unseen.data(), unseen.size(), nullptr, 0);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  insert_unseen(groups);
  parallel::ranges(missing.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      copy_row(out + missing[i] * dim_, std::as_const(rows_).row(index_.find(unseen[i])), dim_);
    }
  });
}

void Table::apply(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update) {
  const std::vector<Group> groups = group_by_key(keys, count, grads, dim_);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  adopt(update);
  insert_unseen(groups);
  parallel::run(groups.size(), [&](std::size_t g) {
    for (std::size_t begin = 0; begin < groups[g].keys.size(); begin += kBlock) {
      update_rows(groups[g], begin, std::min(begin + kBlock, groups[g].keys.size()), update);
    }
  });
}

void Table::reset() {
  Index index;
  Slab rows(dim_, 0);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  std::swap(index_, index);
  std::swap(rows_, rows);
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

// Gives the rows the slots of the update's rule. The new layout is built beside the old one.
void Table::adopt(const Update& update) {
  const std::size_t wanted = slot_count(update.kind);
  const std::size_t present = slot_count(kind_);
  if (present != 0 && kind_ != update.kind) {
    fail_invalid("table '" + name_ + "' has the slots of optimizer " + optimizer_name(kind_) + "; an update by " +
                 optimizer_name(update.kind) + " would misread them: train it with " + optimizer_name(kind_) +
                 ", or reset it first");
  }
  const float initial = initial_slot(update);
  if (wanted != present) {
    Slab wider(dim_, wanted);
    wider.reserve(index_.size());
    parallel::ranges(index_.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t slot = begin; slot < end; ++slot) {
        float* row = wider.row(static_cast<Slot>(slot));
        copy_row(row, rows_.row(static_cast<Slot>(slot)), dim_);
        std::fill(row + dim_, row + dim_ + wider.slot_width(), initial);
      }
    });
    std::swap(rows_, wider);
  }
  kind_ = update.kind;
  initial_slot_ = initial;
}

void Table::reserve(std::size_t rows) {
  rows_.reserve(rows);
  index_.reserve(rows);
}

// Inserts the groups' keys that are not present, by position in the batch, so that slots do not depend on the grouping.
void Table::insert_unseen(const std::vector<Group>& groups) {
  using Unseen = std::pair<std::uint32_t, std::int64_t>;
  std::vector<std::vector<Unseen>> found(groups.size());
  parallel::run(groups.size(), [&](std::size_t g) {
    const auto& keys = groups[g].keys;
    Slot slots[kBlock];
    for (std::size_t begin = 0; begin < keys.size(); begin += kBlock) {
      const std::size_t count = std::min(kBlock, keys.size() - begin);
      index_.find_block(&keys[begin], count, slots, [](Slot) {});
      for (std::size_t i = 0; i < count; ++i) {
        if (slots[i] == kAbsent) found[g].emplace_back(groups[g].first[begin + i], keys[begin + i]);
      }
    }
  });
  std::vector<Unseen> unseen;
  for (const auto& part : found) unseen.insert(unseen.end(), part.begin(), part.end());
  if (unseen.empty()) return;
  std::sort(unseen.begin(), unseen.end());
  const std::size_t base = index_.size();
  reserve(base + unseen.size());
  parallel::ranges(unseen.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      float* row = rows_.row(static_cast<Slot>(base + i));
      initializer_.fill(seed_, unseen[i].second, row);
      std::fill(row + dim_, row + dim_ + rows_.slot_width(), initial_slot_);
    }
  });
  // Last, because it cannot fail: a key is present only when its row is complete.
  for (const Unseen& one : unseen) index_.insert_new(one.second);
}

void Table::update_rows(const Group& group, std::size_t begin, std::size_t end, const Update& update) noexcept {
  Slot slots[kBlock];
  float* rows[kBlock];
  const std::size_t width = dim_ + rows_.slot_width();
  index_.find_block(&group.keys[begin], end - begin, slots, [&](Slot slot) { prefetch_row(rows_.row(slot), width); });
  for (std::size_t i = 0; i < end - begin; ++i) rows[i] = rows_.row(slots[i]);
  apply_update(update, rows, &group.sums[begin * dim_], end - begin, dim_);
}

}  // namespace recmigrate
