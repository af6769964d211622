// Contents and statistics of a table's tiers, and waiting until no tier exceeds its size.
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

std::shared_ptr<Table> table_of(TF_OpKernelContext* context) {
  return find_table(Input(context, 0, "handle").scalar<std::int64_t>());
}

void tier_of(TF_OpKernelContext* context) {
  const Input keys(context, 1, "keys");
  const TensorPtr output = allocate_output(context, 0, TF_INT32, sizeof(std::int32_t), keys.shape());
  table_of(context)->tiers_of(keys.data<std::int64_t>(), keys.elements(), writable<std::int32_t>(output));
}

void drain(TF_OpKernelContext* context) { table_of(context)->drain(); }

// A row for each tier: medium, capacity, rows, found, bytes on the medium, bytes of memory, rows read, rows written,
// compactions, rows that these moved, rows found that had been read ahead, rows read ahead in vain.
void tier_status(TF_OpKernelContext* context) {
  constexpr std::int64_t kColumns = 12;
  const std::vector<Table::TierStatus> tiers = table_of(context)->tier_status();
  const TensorPtr output =
      allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), {static_cast<std::int64_t>(tiers.size()), kColumns});
  auto* to = writable<std::int64_t>(output);
  for (const Table::TierStatus& tier : tiers) {
    const std::uint64_t line[] = {static_cast<std::uint64_t>(tier.medium),
                                  tier.capacity,
                                  tier.use.rows,
                                  tier.found,
                                  tier.use.medium_bytes,
                                  tier.use.memory_bytes,
                                  tier.use.read_rows,
                                  tier.use.written_rows,
                                  tier.use.compactions,
                                  tier.use.moved_rows,
                                  tier.prefetched,
                                  tier.unused};
    static_assert(sizeof line / sizeof *line == kColumns, "a number for each column");
    for (const std::uint64_t number : line) *to++ = static_cast<std::int64_t>(number);
  }
}

}  // namespace

void register_tier_ops() {
  register_op({"RecTierOf", {"handle: int64", "keys: int64"}, {"tiers: int32"}, {}, &like_keys_shape},
              stateless<&tier_of>());
  register_op({"RecDrainTiers", {"handle: int64"}, {}, {}, &no_shape}, stateless<&drain>());
  register_op({"RecTierStatus", {"handle: int64"}, {"status: int64"}, {}, &matrix_shape}, stateless<&tier_status>());
}

}  // namespace recmigrate::ops
