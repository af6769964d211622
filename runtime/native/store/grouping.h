// De-duplication of one batch: equal keys become one, their gradients are summed in input order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace recmigrate {

// Some of a batch's distinct keys, in order of first occurrence, with their gradient sums [keys.size(), dim].
struct Group {
  std::vector<std::int64_t> keys;
  std::vector<std::uint32_t> first;  // position of each key's first occurrence in the batch
  std::unique_ptr<float[]> sums;     // null when no gradients were given
  // Which id of the batch is which key, in input order: batch[positions[i]] == keys[numbers[i]].
  std::unique_ptr<std::uint32_t[]> positions;
  std::unique_ptr<std::uint32_t[]> numbers;
  std::size_t ids = 0;  // how many ids of the batch are in this group
};

// Splits a batch of fewer than 2^32 - 1 keys by hash into groups that share no key; each is built by one thread, so no
// sum is ever split. `grads` [count, dim] may be null. How many groups there are depends on the thread count, keys and
// sums do not.
[[nodiscard]] std::vector<Group> group_by_key(const std::int64_t* keys, std::size_t count, const float* grads,
                                              std::size_t dim);

}  // namespace recmigrate
