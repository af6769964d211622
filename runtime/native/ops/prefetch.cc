// RecPrefetchKeys: returns keys unchanged, and reads those of their rows that are in tiers below memory, ahead of a
// later step's lookup. A table is identified by the `instance` of the op that creates it, because a pipeline may be
// built before the table exists, in a function that cannot have a handle, and may outlive it: then nothing is read.
#include <algorithm>
#include <memory>
#include <type_traits>

#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"
#include "store/lookup/prepared.h"

namespace recmigrate::ops {
namespace {

struct PrefetchKernel {
  std::vector<std::string> instances;
};

void* create(TF_OpKernelConstruction* construction) noexcept {
  try {
    return new PrefetchKernel{strings_attribute(construction, "instances")};
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

void destroy(void* kernel) noexcept { delete static_cast<PrefetchKernel*>(kernel); }

void prefetch(const std::vector<std::shared_ptr<Table>>& tables, const std::int64_t* keys, std::size_t count) {
  const std::vector<std::int64_t> distinct = prepared::distinct(keys, count);
  for (const auto& table : tables) table->prefetch(distinct);
}

template <typename Key>
void compute(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] {
    const Input keys(context, 0, "keys");
    keys.pass_to(context, 0);
    std::vector<std::shared_ptr<Table>> tables;
    for (const std::string& instance : static_cast<const PrefetchKernel*>(kernel)->instances) {
      for (auto& table : tables_of(instance)) {
        if (table->prefetches()) tables.push_back(std::move(table));
      }
    }
    if (tables.empty()) return;
    if constexpr (std::is_same_v<Key, std::int64_t>) {
      prefetch(tables, keys.data<Key>(), keys.elements());
    } else {
      const std::vector<std::int64_t> wide(keys.data<Key>(), keys.data<Key>() + keys.elements());
      prefetch(tables, wide.data(), wide.size());
    }
  });
}

}  // namespace

void register_prefetch_op() {
  // Stateless as far as a graph is concerned: what it reads affects no result.
  register_keyed_op({"RecPrefetchKeys",
                     {"keys: Tkey"},
                     {"same: Tkey"},
                     {"Tkey: {int32, int64} = DT_INT64", "instances: list(string)"},
                     &like_first_shape,
                     false},
                    {&create, &compute<std::int32_t>, &destroy}, {&create, &compute<std::int64_t>, &destroy});
}

}  // namespace recmigrate::ops
