#include "store/table.h"

#include <utility>

namespace recmigrate {

Table::Table(const TableConfig& config)
    : store_(config),
      recent_(store_),
      limit_(store_),
      tiers_(store_, recent_),
      lookups_(store_, recent_, limit_, tiers_),
      admission_(store_, recent_, limit_, tiers_, lookups_),
      updates_(store_, recent_, limit_, tiers_, lookups_),
      addresses_(store_, lookups_, updates_),
      snapshots_(store_, recent_, limit_, tiers_, lookups_, admission_, updates_),
      norms_(store_, lookups_),
      device_(store_, tiers_, lookups_, updates_) {}

void Table::apply(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update) {
  updates_.apply({&updates_, keys, count, grads}, update);
}

void Table::apply_together(const std::vector<Gradients>& all, const Update& update) {
  std::vector<Updates::Gradients> parts;
  parts.reserve(all.size());
  for (const Gradients& one : all) parts.push_back({&one.table->updates_, one.keys, one.count, one.grads, one.term});
  Updates::apply_together(std::move(parts), update);
}

void Table::apply_and_count(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update,
                            const Admission& admission) {
  lookup_and_admit(keys, count, admission, nullptr, nullptr);
  apply(keys, count, grads, update);  // it skips keys without a row, now that rows are counted
}

}  // namespace recmigrate
