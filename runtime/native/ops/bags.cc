#include "ops/bags.h"

#include <numeric>

#include "ops/attributes.h"
#include "store/errors.h"

namespace recmigrate::ops {
namespace {

// The numbers of ids and bags must fit into 32 bits.
constexpr std::size_t kMostIds = 0xfffffffeU;

std::size_t checked_bags(std::int64_t count) {
  if (count > static_cast<std::int64_t>(kMostIds)) {
    fail_limit("a pooled lookup has at most 4294967294 rows, not " + std::to_string(count));
  }
  return static_cast<std::size_t>(count);
}

[[noreturn, gnu::cold]] void fail_row(const std::string& what, std::size_t position, std::int64_t row) {
  fail_invalid("row number " + std::to_string(row) + " of id " + std::to_string(position) + " " + what);
}

}  // namespace

PoolingRules::PoolingRules(TF_OpKernelConstruction* construction)
    : PoolingRules(construction, string_attribute(construction, "combiner"), bool_attribute(construction, "splits"),
                   bool_attribute(construction, "weighted")) {}

PoolingRules::PoolingRules(TF_OpKernelConstruction* construction, const std::string& combiner_name, bool has_splits,
                           bool has_weights)
    : combiner(combiner_named(combiner_name)),
      splits(has_splits),
      weighted(has_weights),
      prune(bool_attribute(construction, "prune")),
      negative_keys(bool_attribute(construction, "negative_keys")),
      fill_empty(bool_attribute(construction, "fill_empty")),
      default_id(int_attribute(construction, "default_id")) {}

std::vector<PoolingRules> PoolingRules::of_group(TF_OpKernelConstruction* construction) {
  const std::vector<std::string> combiners = strings_attribute(construction, "combiners");
  const std::vector<unsigned char> splits = bools_attribute(construction, "splits");
  const std::vector<unsigned char> weighted = bools_attribute(construction, "weighted");
  const auto members = static_cast<std::size_t>(int_attribute(construction, "N"));
  if (combiners.size() != members || splits.size() != members || weighted.size() != members) {
    fail_invalid("combiners, splits and weighted must have " + std::to_string(members) + " values, one per table");
  }
  std::vector<PoolingRules> rules;
  for (std::size_t i = 0; i < members; ++i) {
    rules.push_back(PoolingRules(construction, combiners[i], splits[i] != 0, weighted[i] != 0));
  }
  return rules;
}

Bags::Bags(TF_OpKernelContext* context, Ports ports, int first, const PoolingRules& rules)
    : keys_input_(context, ports[first], "keys"),
      weights_input_(context, ports[first + 2], "weights"),
      given_(keys_input_.elements()) {
  if (given_ > kMostIds) fail_limit("a batch holds at most 4294967294 ids, not " + std::to_string(given_));
  keys_input_.require_rank(1);
  read_keys(keys_input_, keys_input_.type() == TF_INT64);
  if (rules.weighted) {
    weights_input_.require_shape({static_cast<std::int64_t>(given_)});
    weights_ = weights_input_.data<float>();
  }
  const Input layout(context, ports[first + 1], "layout");
  const auto rows = Input(context, ports[first + 3], "rows").scalar<std::int64_t>();
  if (rules.splits) {
    read_splits(layout, rows);
  } else {
    read_row_numbers(layout, rows, rules.prune);
  }
  if (rules.prune) {
    prune(rules);
  } else if (!rules.negative_keys) {
    require_no_negative();
  }
}

std::vector<std::uint32_t> Bags::bag_of() const {
  std::vector<std::uint32_t> bags(ids());
  for_ranges([&](std::size_t begin, std::size_t end) {
    for (std::size_t bag = begin; bag < end; ++bag) {
      std::fill_n(bags.begin() + static_cast<std::ptrdiff_t>(splits_[bag]), size(bag), static_cast<std::uint32_t>(bag));
    }
  });
  return bags;
}

void Bags::read_keys(const Input& keys, bool wide) {
  if (wide) {
    keys_ = keys.data<std::int64_t>();
  } else {
    own_keys_.assign(keys.data<std::int32_t>(), keys.data<std::int32_t>() + given_);
    keys_ = own_keys_.data();
  }
}

void Bags::read_splits(const Input& layout, std::int64_t rows) {
  layout.require_rank(1);
  const auto* splits = layout.data<std::int64_t>();
  const std::size_t size = layout.elements();
  if (size == 0 || splits[0] != 0 || splits[size - 1] != static_cast<std::int64_t>(given_) ||
      !std::is_sorted(splits, splits + size)) {
    fail_invalid("row splits must begin with 0, not decrease and end with " + std::to_string(given_) +
                 ", the number of ids");
  }
  splits_.assign(splits, splits + size);
  if (rows < 0) {
    while (splits_.size() > 1 && splits_[splits_.size() - 2] == given_) splits_.pop_back();
  } else if (checked_bags(rows) != count()) {
    fail_invalid("row splits have " + std::to_string(count()) + " rows, not " + std::to_string(rows));
  }
}

void Bags::read_row_numbers(const Input& layout, std::int64_t rows, bool sort) {
  const std::vector<std::int64_t> shape = layout.shape();
  if (shape.empty() || shape.size() > 2 || shape[0] != static_cast<std::int64_t>(given_) ||
      (shape.size() == 2 && shape[1] == 0)) {
    fail_invalid("row numbers have shape " + shape_text(shape) + "; it must be [" + std::to_string(given_) + "], or [" +
                 std::to_string(given_) + ", rank] of a SparseTensor's indices");
  }
  const std::size_t stride = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : 1;
  const auto* numbers = layout.data<std::int64_t>();
  bool sorted = true;
  for (std::size_t i = 0; i < given_; ++i) {
    const std::int64_t row = numbers[i * stride];
    if (row < 0 || (rows >= 0 && row >= rows)) {
      fail_row("is not in [0, " + (rows >= 0 ? std::to_string(rows) : std::string("inf")) + ")", i, row);
    }
    sorted = sorted && (i == 0 || row >= numbers[(i - 1) * stride]);
    if (!sorted && !sort)
      fail_row("is less than that of the id before: sort the ids by row (tf.sparse.reorder)", i, row);
  }
  const std::int64_t last = given_ == 0 ? 0 : numbers[(given_ - 1) * stride] + 1;
  splits_.assign(checked_bags(rows < 0 ? last : rows) + 1, 0);
  for (std::size_t i = 0; i < given_; ++i) ++splits_[static_cast<std::size_t>(numbers[i * stride]) + 1];
  std::partial_sum(splits_.begin(), splits_.end(), splits_.begin());
  if (!sorted) sort_rows(numbers, stride);
}

// Sorts the ids by row; ids of one row keep their order.
void Bags::sort_rows(const std::int64_t* numbers, std::size_t stride) {
  std::vector<std::size_t> next(splits_.begin(), splits_.end() - 1);
  origins_.resize(given_);
  for (std::size_t i = 0; i < given_; ++i) {
    origins_[next[static_cast<std::size_t>(numbers[i * stride])]++] = static_cast<std::uint32_t>(i);
  }
}

void Bags::prune(const PoolingRules& rules) {
  std::vector<std::int64_t> kept_keys;
  std::vector<float> kept_weights;
  std::vector<std::uint32_t> kept;
  std::vector<std::size_t> splits{0};
  splits.reserve(splits_.size());
  for (std::size_t bag = 0; bag < count(); ++bag) {
    for (std::size_t i = splits_[bag]; i < splits_[bag + 1]; ++i) {
      const std::uint32_t from = origin(i);
      if (keys_[from] < 0) continue;
      if (weights_ != nullptr && rules.combiner != Combiner::sum && !(weights_[from] > 0)) continue;
      kept_keys.push_back(keys_[from]);
      kept.push_back(from);
      if (weights_ != nullptr) kept_weights.push_back(weights_[from]);
    }
    if (rules.fill_empty && kept.size() == splits.back()) {
      kept_keys.push_back(rules.default_id);
      kept.push_back(kFilled);
      if (weights_ != nullptr) kept_weights.push_back(1.0F);
    }
    splits.push_back(kept.size());
  }
  if (kept.size() > kMostIds) fail_limit("a batch holds at most 4294967294 ids, not " + std::to_string(kept.size()));
  splits_ = std::move(splits);
  own_keys_ = std::move(kept_keys);
  own_weights_ = std::move(kept_weights);
  origins_ = std::move(kept);
  keys_ = own_keys_.data();
  if (weights_ != nullptr) weights_ = own_weights_.data();
}

void Bags::require_no_negative() const {
  for (std::size_t i = 0; i < given_; ++i) {
    if (keys_[i] < 0) {
      fail_invalid("id " + std::to_string(keys_[i]) + " at " + std::to_string(i) +
                   " is negative: leave negative ids out with safe_embedding_lookup_sparse, or look them up as keys "
                   "with negative_keys=True");
    }
  }
}

}  // namespace recmigrate::ops
