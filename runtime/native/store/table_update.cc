// Updates and the insertions that come with them.
#include <algorithm>
#include <mutex>
#include <utility>

#include "store/errors.h"
#include "store/parallel.h"
#include "store/row.h"
#include "store/table.h"

namespace recmigrate {
namespace {

// Rows per task when each is computed or copied whole.
constexpr std::size_t kRowGrain = 512;

}  // namespace

void Table::apply(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update) {
  const std::vector<Group> groups = group_by_key(keys, count, grads, dim_);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  adopt(update);
  const std::vector<std::vector<Slot>> slots = insert_unseen(groups);
  parallel::run(groups.size(), [&](std::size_t g) { update_rows(groups[g], slots[g], update); });
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
// Returns each group's slots. With `all_unseen` the caller knows that none is present, and the search is left out.
std::vector<std::vector<Slot>> Table::insert_unseen(const std::vector<Group>& groups, bool all_unseen) {
  struct Unseen {
    std::uint32_t first;
    std::int64_t key;
    Slot* slot;
  };
  std::vector<std::vector<Slot>> slots(groups.size());
  std::vector<std::vector<Unseen>> found(groups.size());
  parallel::run(groups.size(), [&](std::size_t g) {
    slots[g] = all_unseen ? std::vector<Slot>(groups[g].keys.size(), kAbsent) : find_all(groups[g].keys);
    for (std::size_t i = 0; i < slots[g].size(); ++i) {
      if (slots[g][i] == kAbsent) found[g].push_back({groups[g].first[i], groups[g].keys[i], &slots[g][i]});
    }
  });
  std::vector<Unseen> unseen;
  for (const auto& part : found) unseen.insert(unseen.end(), part.begin(), part.end());
  if (unseen.empty()) return slots;
  std::sort(unseen.begin(), unseen.end(), [](const Unseen& a, const Unseen& b) { return a.first < b.first; });
  const std::size_t base = index_.size();
  reserve(base + unseen.size());
  parallel::ranges(unseen.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      float* row = rows_.row(static_cast<Slot>(base + i));
      initializer_.fill(seed_, unseen[i].key, row);
      std::fill(row + dim_, row + dim_ + rows_.slot_width(), initial_slot_);
    }
  });
  // Last, because it cannot fail: a key is present only when its row is complete.
  ++changes_;
  for (const Unseen& one : unseen) *one.slot = index_.insert_new(one.key);
  return slots;
}

std::vector<Slot> Table::find_all(const std::vector<std::int64_t>& keys) const {
  std::vector<Slot> slots(keys.size());
  for (std::size_t begin = 0; begin < keys.size(); begin += kBlock) {
    index_.find_block(&keys[begin], std::min(kBlock, keys.size() - begin), &slots[begin], [](Slot) {});
  }
  return slots;
}

// One group's updates; the rows of the next block are fetched while this one is updated.
void Table::update_rows(const Group& group, const std::vector<Slot>& slots, const Update& update) noexcept {
  const std::size_t width = dim_ + rows_.slot_width();
  for (std::size_t begin = 0; begin < slots.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, slots.size() - begin);
    float* rows[kBlock];
    for (std::size_t i = 0; i < count; ++i) rows[i] = rows_.row(slots[begin + i]);
    const std::size_t next_end = std::min(begin + 2 * kBlock, slots.size());
    for (std::size_t i = begin + kBlock; i < next_end; ++i) prefetch_row(rows_.row(slots[i]), width);
    apply_update(update, rows, &group.sums[begin * dim_], count, dim_);
  }
}

}  // namespace recmigrate
