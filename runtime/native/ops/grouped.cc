// RecLookupGroup and RecLookupOrInsertGroup: lookups of many tables in one op, because a tf.function runs stateful ops
// one by one.
#include <memory>

#include "ops/anchor.h"
#include "ops/chains.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

struct Member {
  Member(TF_OpKernelContext* context, int number, int count)
      : table(find_table(Input(context, number, "handle").scalar<std::int64_t>())),
        keys(context, 2 * count + number, "keys") {
    require_anchor(Input(context, count + number, "anchor"), *table);
    values = allocate_rows(context, number, keys, table->dim());
  }

  std::shared_ptr<Table> table;
  Input keys;
  TensorPtr values;
};

// Inputs are N handles, N anchors, N keys; all are checked and the outputs allocated before a table is touched.
std::vector<Member> members(TF_OpKernelContext* context) {
  const int count = TF_NumInputs(context) / 3;
  std::vector<Member> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.emplace_back(context, i, count);
  return all;
}

template <bool kInsert>
void look_up(TF_OpKernelContext* context) {
  const std::vector<Member> all = members(context);
  std::vector<const Table*> tables;
  tables.reserve(all.size());
  for (const Member& member : all) tables.push_back(member.table.get());
  run_by_table(tables, [&](std::size_t i) {
    const Member& member = all[i];
    const auto* keys = member.keys.data<std::int64_t>();
    auto* values = writable<float>(member.values);
    if constexpr (kInsert) {
      member.table->lookup_or_insert(keys, member.keys.elements(), values);
    } else {
      member.table->lookup(keys, member.keys.elements(), values);
    }
  });
}

template <bool kInsert>
void register_group(const char* name) {
  register_op({name,
               {"handles: N * int64", "anchors: N * float", "keys: N * int64"},
               {"values: N * float"},
               {"N: int >= 1"},
               &grouped_shape},
              stateless<&look_up<kInsert>>());
}

}  // namespace

void register_grouped_ops() {
  register_group<false>("RecLookupGroup");
  register_group<true>("RecLookupOrInsertGroup");
}

}  // namespace recmigrate::ops
