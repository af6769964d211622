// The ids of a pooled lookup, sorted into bags: which are kept, with which weights, and where each bag begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/context.h"
#include "store/lookup/pooling.h"

namespace recmigrate::ops {

// What a pooled op was made with; its attributes.
struct PoolingRules {
  explicit PoolingRules(TF_OpKernelConstruction* construction);
  // Those of each member of a group, for which combiner, splits and weighted are lists.
  [[nodiscard]] static std::vector<PoolingRules> of_group(TF_OpKernelConstruction* construction);

  Combiner combiner;
  bool splits;         // the layout input is row splits [bags + 1], else the row numbers of the ids
  bool weighted;       // the weights input counts
  bool prune;          // ids below 0 are left out, and unless summing, weights that are not above 0
  bool negative_keys;  // ids below 0 are keys like others, else (and without `prune`) an error
  bool fill_empty;     // an empty bag holds `default_id` with weight 1
  std::int64_t default_id;

 private:
  PoolingRules(TF_OpKernelConstruction* construction, const std::string& combiner, bool splits, bool weighted);
};

// The inputs or outputs of one member of a group: those of one kind stand together, so a single op is a group of one.
struct Ports {
  [[nodiscard]] int operator[](int kind) const noexcept { return kind * members + member; }

  int member = 0;
  int members = 1;
};

class Bags {
 public:
  // Kinds of inputs from `first` on: keys Tkey [n], layout int64, weights float [n], rows int64 []: the number of bags,
  // or -1 for one more than the last that has an id. Layout is splits, or row numbers [n] or [n, …] (of a
  // SparseTensor's indices). Throws InvalidInput that names the input.
  Bags(TF_OpKernelContext* context, Ports ports, int first, const PoolingRules& rules);

  [[nodiscard]] std::size_t count() const noexcept { return splits_.size() - 1; }
  [[nodiscard]] std::size_t ids() const noexcept { return splits_.back(); }
  [[nodiscard]] std::size_t given() const noexcept { return given_; }  // ids of the input
  [[nodiscard]] const std::int64_t* keys() const noexcept { return keys_; }
  [[nodiscard]] const float* weights() const noexcept { return weights_; }  // null without
  [[nodiscard]] std::size_t begin(std::size_t bag) const noexcept { return splits_[bag]; }
  [[nodiscard]] std::size_t size(std::size_t bag) const noexcept { return splits_[bag + 1] - splits_[bag]; }

  // Which id of the input is kept id `i`; kFilled when it is a default id.
  static constexpr std::uint32_t kFilled = 0xffffffffU;
  [[nodiscard]] std::uint32_t origin(std::size_t i) const noexcept {
    return origins_.empty() ? static_cast<std::uint32_t>(i) : origins_[i];
  }
  // The bag of each kept id.
  [[nodiscard]] std::vector<std::uint32_t> bag_of() const;

  // Calls body(begin, end) on ranges of bags with about the same number of ids, from several threads.
  template <typename Body>
  void for_ranges(const Body& body) const;

 private:
  void read_keys(const Input& keys, bool wide);
  void read_splits(const Input& layout, std::int64_t rows);
  void read_row_numbers(const Input& layout, std::int64_t rows, bool sort);
  void sort_rows(const std::int64_t* numbers, std::size_t stride);
  void prune(const PoolingRules& rules);
  void require_no_negative() const;

  Input keys_input_;
  Input weights_input_;
  std::size_t given_;
  const std::int64_t* keys_ = nullptr;
  const float* weights_ = nullptr;
  std::vector<std::size_t> splits_;
  std::vector<std::int64_t> own_keys_;
  std::vector<float> own_weights_;
  std::vector<std::uint32_t> origins_;
};

}  // namespace recmigrate::ops

#include <algorithm>

#include "store/parallel.h"

namespace recmigrate::ops {

template <typename Body>
void Bags::for_ranges(const Body& body) const {
  constexpr std::size_t kGrain = 2048;  // of ids and bags together: a few tens of microseconds
  const std::size_t tasks = (ids() + count() + kGrain - 1) / kGrain;
  const auto first_bag = [this](std::size_t task) {
    std::size_t low = 0;
    std::size_t high = count();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (splits_[middle] + middle < task * kGrain) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  parallel::run(tasks, [&](std::size_t task) {
    const std::size_t begin = first_bag(task);
    const std::size_t end = task + 1 == tasks ? count() : first_bag(task + 1);
    if (begin < end) body(begin, end);
  });
}

}  // namespace recmigrate::ops
