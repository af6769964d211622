// RecExpand and RecLookupAt: dynamic expansion, in which a step works on rows and their addresses instead of keys.
#include <type_traits>

#include "ops/anchor.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

template <typename Key>
void expand(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = find_table(Input(context, 0, "handle").scalar<std::int64_t>());
  require_anchor(Input(context, 1, "anchor"), *table);
  const Input input(context, 2, "keys");
  const std::vector<std::int64_t> wide(input.data<Key>(), input.data<Key>() + input.elements());
  const TensorPtr numbers = allocate_output(context, 2, TF_INT64, sizeof(std::int64_t), input.shape());
  TensorPtr rows;
  TensorPtr addresses;
  table->expand(wide.data(), wide.size(), [&](std::size_t distinct) {
    const auto count = static_cast<std::int64_t>(distinct);
    rows = allocate_output(context, 0, TF_FLOAT, sizeof(float), {count, static_cast<std::int64_t>(table->dim())});
    addresses = allocate_output(context, 1, TF_INT64, sizeof(std::int64_t), {count});
    return Table::Expansion{writable<float>(rows), writable<std::int64_t>(addresses), writable<std::int64_t>(numbers)};
  });
}

void lookup_at(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = find_table(Input(context, 0, "handle").scalar<std::int64_t>());
  require_anchor(Input(context, 1, "anchor"), *table);
  const Input addresses(context, 2, "addresses");
  std::vector<std::int64_t> shape = addresses.shape();
  shape.push_back(static_cast<std::int64_t>(table->dim()));
  const TensorPtr rows = allocate_output(context, 0, TF_FLOAT, sizeof(float), shape);
  table->lookup_at(addresses.data<std::int64_t>(), addresses.elements(), writable<float>(rows));
}

}  // namespace

void register_expansion_ops() {
  register_keyed_op({"RecExpand",
                     {"handle: int64", "anchor: float", "keys: Tkey"},
                     {"rows: float", "addresses: int64", "numbers: int64"},
                     {"Tkey: {int32, int64} = DT_INT64"},
                     &expand_shape},
                    stateless<&expand<std::int32_t>>(), stateless<&expand<std::int64_t>>());
  register_op(
      {"RecLookupAt", {"handle: int64", "anchor: float", "addresses: int64"}, {"rows: float"}, {}, &lookup_shape},
      stateless<&lookup_at>());
}

}  // namespace recmigrate::ops
