// RecLookupGroup and RecLookupOrInsertGroup: lookups of many tables in one op, because a tf.function runs stateful ops
// one by one.
#include <memory>
#include <vector>

#include "ops/anchor.h"
#include "ops/attributes.h"
#include "ops/chains.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

struct GroupKernel {
  explicit GroupKernel(TF_OpKernelConstruction* construction)
      : widths(static_cast<std::size_t>(int_attribute(construction, "N"))) {}
  std::vector<WidthCheck> widths;  // of each table
};

// One table's part, checked. TensorFlow holds inputs and outputs while the op runs, so that only their data is kept.
struct Member {
  Member(const GroupKernel& kernel, TF_OpKernelContext* context, int number) {
    const auto tables = static_cast<int>(kernel.widths.size());
    const auto handle = Input(context, number, "handle").scalar<std::int64_t>();
    table = find_table(handle);
    const int like = (TF_NumInputs(context) > 3 * tables ? 3 : 1) * tables + number;
    kernel.widths[static_cast<std::size_t>(number)].require(context, like, handle, *table);
    const Input given(context, 2 * tables + number, "keys");
    keys = given.data<std::int64_t>();
    count = given.elements();
    values = writable<float>(allocate_rows(context, number, given, table->dim()));
  }

  std::shared_ptr<Table> table;
  const std::int64_t* keys = nullptr;
  std::size_t count = 0;
  float* values = nullptr;
};

// Inputs are N handles, N anchors, N keys, and N `like` if anchors are resources; all are checked and the outputs
// allocated before a table is touched.
std::vector<Member> members(const GroupKernel& kernel, TF_OpKernelContext* context) {
  const auto count = static_cast<int>(kernel.widths.size());
  std::vector<Member> all;
  all.reserve(kernel.widths.size());
  for (int i = 0; i < count; ++i) all.emplace_back(kernel, context, i);
  return all;
}

template <bool kInsert>
void look_up(const GroupKernel& kernel, TF_OpKernelContext* context) {
  const std::vector<Member> all = members(kernel, context);
  std::vector<const Table*> tables;
  tables.reserve(all.size());
  for (const Member& member : all) tables.push_back(member.table.get());
  run_by_table(tables, [&](std::size_t i) {
    const Member& member = all[i];
    if constexpr (kInsert) {
      member.table->lookup_or_insert(member.keys, member.count, member.values);
    } else {
      member.table->lookup(member.keys, member.count, member.values);
    }
  });
}

template <bool kInsert>
void compute(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] { look_up<kInsert>(*static_cast<const GroupKernel*>(kernel), context); });
}

template <bool kInsert>
void register_group(const char* name) {
  register_op({name,
               {"handles: N * int64", "anchors: N * Tanchor", "keys: N * int64", "like: likes * float"},
               {"values: N * float"},
               {"N: int >= 1", kAnchorType, kLikes},
               &grouped_shape},
              {&create_kernel<GroupKernel>, &compute<kInsert>, &destroy_kernel<GroupKernel>});
}

}  // namespace

void register_grouped_ops() {
  register_group<false>("RecLookupGroup");
  register_group<true>("RecLookupOrInsertGroup");
}

}  // namespace recmigrate::ops
