// RecLookup and RecLookupOrInsert: keys of any shape to rows, keys.shape + [dim]. RecContains: whether keys have a row.
#include <memory>
#include <type_traits>

#include "ops/anchor.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

void read_rows(Table& table, const std::int64_t* keys, std::size_t count, float* out, bool insert) {
  if (insert) {
    table.lookup_or_insert(keys, count, out);
  } else {
    table.lookup(keys, count, out);
  }
}

template <typename Key, bool kInsert>
void compute(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = find_table(Input(context, 0, "handle").scalar<std::int64_t>());
  require_anchor(Input(context, 1, "anchor"), *table);
  const Input keys(context, 2, "keys");
  std::vector<std::int64_t> shape = keys.shape();
  shape.push_back(static_cast<std::int64_t>(table->dim()));
  const TensorPtr values = allocate_output(context, 0, TF_FLOAT, sizeof(float), shape);
  if constexpr (std::is_same_v<Key, std::int64_t>) {
    read_rows(*table, keys.data<Key>(), keys.elements(), writable<float>(values), kInsert);
  } else {
    const std::vector<std::int64_t> wide(keys.data<Key>(), keys.data<Key>() + keys.elements());
    read_rows(*table, wide.data(), wide.size(), writable<float>(values), kInsert);
  }
}

template <typename Key>
void contains(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = find_table(Input(context, 0, "handle").scalar<std::int64_t>());
  const Input keys(context, 1, "keys");
  const TensorPtr found = allocate_output(context, 0, TF_BOOL, sizeof(bool), keys.shape());
  if constexpr (std::is_same_v<Key, std::int64_t>) {
    table->contains(keys.data<Key>(), keys.elements(), writable<bool>(found));
  } else {
    const std::vector<std::int64_t> wide(keys.data<Key>(), keys.data<Key>() + keys.elements());
    table->contains(wide.data(), wide.size(), writable<bool>(found));
  }
}

template <bool kInsert>
void register_lookup(const char* name) {
  register_keyed_op({name,
                     {"handle: int64", "anchor: float", "keys: Tkey"},
                     {"values: float"},
                     {"Tkey: {int32, int64} = DT_INT64"},
                     &lookup_shape},
                    stateless<&compute<std::int32_t, kInsert>>(), stateless<&compute<std::int64_t, kInsert>>());
}

}  // namespace

void register_lookup_ops() {
  register_lookup<false>("RecLookup");
  register_lookup<true>("RecLookupOrInsert");
  register_keyed_op({"RecContains",
                     {"handle: int64", "keys: Tkey"},
                     {"found: bool"},
                     {"Tkey: {int32, int64} = DT_INT64"},
                     &like_keys_shape},
                    stateless<&contains<std::int32_t>>(), stateless<&contains<std::int64_t>>());
}

}  // namespace recmigrate::ops
