// RecLookup and RecLookupOrInsert: keys of any shape to rows, keys.shape + [dim]. RecContains: whether keys have a row.
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/anchor.h"
#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

struct InsertKernel {
  explicit InsertKernel(TF_OpKernelConstruction* /*construction*/) {}
  WidthCheck width;
};

struct ReadKernel {
  explicit ReadKernel(TF_OpKernelConstruction* construction) : in_place(bool_attribute(construction, "in_place")) {}
  bool in_place;
  WidthCheck width;
};

void read_rows(const InsertKernel& /*kernel*/, Table& table, const std::int64_t* keys, std::size_t count, float* out) {
  table.lookup_or_insert(keys, count, out);
}

void read_rows(const ReadKernel& kernel, Table& table, const std::int64_t* keys, std::size_t count, float* out) {
  if (kernel.in_place) {
    table.lookup_in_place(keys, count, out);
  } else {
    table.lookup(keys, count, out);
  }
}

template <typename Key, typename Kernel>
void look_up(const Kernel& kernel, TF_OpKernelContext* context) {
  const auto handle = Input(context, 0, "handle").scalar<std::int64_t>();
  const std::shared_ptr<Table> table = find_table(handle);
  kernel.width.require(context, TF_NumInputs(context) > 3 ? 3 : 1, handle, *table);
  const Input keys(context, 2, "keys");
  const TensorPtr values = allocate_rows(context, 0, keys, table->dim());
  if constexpr (std::is_same_v<Key, std::int64_t>) {
    read_rows(kernel, *table, keys.data<Key>(), keys.elements(), writable<float>(values));
  } else {
    const std::vector<std::int64_t> wide(keys.data<Key>(), keys.data<Key>() + keys.elements());
    read_rows(kernel, *table, wide.data(), wide.size(), writable<float>(values));
  }
}

template <typename Key, typename Kernel>
void compute(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] { look_up<Key>(*static_cast<const Kernel*>(kernel), context); });
}

template <typename Key, typename Kernel>
[[nodiscard]] constexpr KernelFunctions kernel() {
  return {&create_kernel<Kernel>, &compute<Key, Kernel>, &destroy_kernel<Kernel>};
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

template <typename Kernel>
void register_lookup(const char* name, std::vector<const char*> attrs) {
  attrs.insert(attrs.end(), {"Tkey: {int32, int64} = DT_INT64", kAnchorType, kLikes});
  register_keyed_op({name,
                     {"handle: int64", "anchor: Tanchor", "keys: Tkey", "like: likes * float"},
                     {"values: float"},
                     std::move(attrs),
                     &lookup_like_shape},
                    kernel<std::int32_t, Kernel>(), kernel<std::int64_t, Kernel>());
}

}  // namespace

void register_lookup_ops() {
  register_lookup<ReadKernel>("RecLookup", {"in_place: bool = false"});
  register_lookup<InsertKernel>("RecLookupOrInsert", {});
  register_keyed_op({"RecContains",
                     {"handle: int64", "keys: Tkey"},
                     {"found: bool"},
                     {"Tkey: {int32, int64} = DT_INT64"},
                     &like_keys_shape},
                    stateless<&contains<std::int32_t>>(), stateless<&contains<std::int64_t>>());
}

}  // namespace recmigrate::ops
