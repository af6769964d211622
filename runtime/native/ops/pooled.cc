// RecPooledLookup, RecPooledLookupOrInsert: ids in bags to one row per bag, without materializing the row of each id.
// RecPooledLookupGroup and RecPooledLookupOrInsertGroup do the same for many tables at once.
#include "ops/pooled.h"

#include <algorithm>

#include "ops/anchor.h"
#include "ops/chains.h"
#include "ops/registry.h"
#include "ops/row_window.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

void pool_bag(RowWindow& rows, const Bags& bags, std::size_t bag, std::size_t dim, float* out) {
  const std::size_t begin = bags.begin(bag);
  const std::size_t end = begin + bags.size(bag);
  if (bags.weights() == nullptr) {
    for (std::size_t at = begin, count = first_piece(end - begin); at < end; at += count, count = 8) {
      rows.fetch(at, count);
      const float* piece[kPiece];
      for (std::size_t i = 0; i < count; ++i) piece[i] = rows[at + i];
      add_rows(out, piece, count, dim, at != begin);
    }
  } else {
    for (std::size_t i = begin; i < end; ++i) {
      rows.fetch(i, 1);
      add_weighted(out, rows[i], bags.weights()[i], dim, i != begin);
    }
  }
}

void divide_bag(const PoolingRules& rules, const Bags& bags, std::size_t bag, float* pooled, std::size_t dim) {
  const float by = bag_divisor(rules, bags, bag);
  // TensorFlow multiplies by the reciprocal if a single piece is the whole sum, which rounds differently.
  if (bags.weights() == nullptr && bags.size(bag) <= kPiece) {
    scale(pooled, pooled, 1.0F / by, dim);
  } else {
    divide(pooled, pooled, by, dim);
  }
}

void pool(const PoolingRules& rules, const Bags& bags, const RowReader& reader, const float* max_norm, std::size_t dim,
          float* out) {
  bags.for_ranges([&](std::size_t begin, std::size_t end) {
    RowWindow rows(reader, bags.begin(begin), bags.begin(end), max_norm, dim);
    for (std::size_t bag = begin; bag < end; ++bag) {
      float* pooled = out + bag * dim;
      if (bags.size(bag) == 0) {
        std::fill_n(pooled, dim, 0.0F);
        continue;
      }
      pool_bag(rows, bags, bag, dim, pooled);
      if (rules.combiner != Combiner::sum) divide_bag(rules, bags, bag, pooled, dim);
    }
  });
}

// One table's part of a lookup, checked, with its output. Inputs: handle, anchor, keys, layout, weights, rows,
// max_norm.
class Lookup {
 public:
  Lookup(TF_OpKernelContext* context, Ports ports, const PoolingRules& rules)
      : rules_(rules),
        table_(find_table(Input(context, ports[0], "handle").scalar<std::int64_t>())),
        bags_(context, ports, 2, rules),
        norm_(context, ports[6], "max_norm"),
        max_norm_(max_norm_of(norm_)) {
    require_anchor(Input(context, ports[1], "anchor"), *table_);
    out_ = allocate_output(context, ports[0], TF_FLOAT, sizeof(float),
                           {static_cast<std::int64_t>(bags_.count()), static_cast<std::int64_t>(table_->dim())});
  }

  [[nodiscard]] const Table* table() const noexcept { return table_.get(); }

  void run(bool insert) const {
    visit_rows(*table_, bags_.keys(), bags_.ids(), insert, [&](const RowReader& reader) {
      pool(rules_, bags_, reader, max_norm_, table_->dim(), writable<float>(out_));
    });
  }

 private:
  const PoolingRules& rules_;
  std::shared_ptr<Table> table_;
  Bags bags_;
  Input norm_;
  const float* max_norm_;
  TensorPtr out_;
};

// All members are checked and their outputs allocated before a table is touched.
template <bool kInsert>
void compute_lookup(void* given, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] {
    const PoolingKernel& kernel = *static_cast<const PoolingKernel*>(given);
    std::vector<std::unique_ptr<Lookup>> lookups;
    std::vector<const Table*> tables;
    for (std::size_t i = 0; i < kernel.members.size(); ++i) {
      lookups.push_back(std::make_unique<Lookup>(context, kernel.ports(i), kernel.members[i]));
      tables.push_back(lookups.back()->table());
    }
    run_by_table(tables, [&](std::size_t i) { lookups[i]->run(kInsert); });
  });
}

void register_lookups(const char* name, const char* group_name, void (*compute)(void*, TF_OpKernelContext*)) {
  const KernelFunctions kernel = pooling_kernel<false, false>(compute);
  register_keyed_op({name,
                     {"handle: int64", "anchor: float", "keys: Tkey", "layout: int64", "weights: float", "rows: int64",
                      "max_norm: float"},
                     {"pooled: float"},
                     pooling_attributes({"Tkey: {int32, int64} = DT_INT64", "combiner: {'sum', 'mean', 'sqrtn'}",
                                         "splits: bool = false", "weighted: bool = false"}),
                     &pooled_shape},
                    kernel, kernel);
  register_op(
      {group_name,
       {"handles: N * int64", "anchors: N * float", "keys: N * int64", "layouts: N * int64", "weights: N * float",
        "rows: N * int64", "max_norms: N * float"},
       {"pooled: N * float"},
       pooling_attributes({"N: int >= 1", "combiners: list(string)", "splits: list(bool)", "weighted: list(bool)"}),
       &pooled_shape},
      pooling_kernel<true, false>(compute));
}

}  // namespace

void register_pooled_ops() {
  register_lookups("RecPooledLookup", "RecPooledLookupGroup", &compute_lookup<false>);
  register_lookups("RecPooledLookupOrInsert", "RecPooledLookupOrInsertGroup", &compute_lookup<true>);
  register_pooled_gradients();
}

}  // namespace recmigrate::ops
