// How the ops on many tables go through them: tables at once, and a table that comes twice in the order of the inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "store/parallel.h"
#include "store/table.h"

namespace recmigrate::ops {

// Calls body(i) once for each of tables[i]; those of one table one after another, so that rows are inserted in order.
template <typename Body>
void run_by_table(const std::vector<const Table*>& tables, const Body& body) {
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::less<>()(tables[a], tables[b]); });
  std::vector<std::size_t> begins;  // of each table's run in `order`, and the end
  begins.reserve(tables.size() + 1);
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (at == 0 || tables[order[at]] != tables[order[at - 1]]) begins.push_back(at);
  }
  const std::size_t chains = begins.size();
  begins.push_back(order.size());
  parallel::run(chains, [&](std::size_t c) {
    for (std::size_t at = begins[c]; at < begins[c + 1]; ++at) body(order[at]);
  });
}

}  // namespace recmigrate::ops
