// How the ops on many tables go through them: tables at once, and a table that comes twice in the order of the inputs.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "store/parallel.h"
#include "store/table.h"

namespace recmigrate::ops {

// Calls body(i) once for each of tables[i]; those of one table one after another, so that rows are inserted in order.
template <typename Body>
void run_by_table(const std::vector<const Table*>& tables, const Body& body) {
  std::vector<std::vector<std::size_t>> chains;
  std::unordered_map<const Table*, std::size_t> known;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto [place, fresh] = known.emplace(tables[i], chains.size());
    if (fresh) chains.emplace_back();
    chains[place->second].push_back(i);
  }
  parallel::run(chains.size(), [&](std::size_t c) {
    for (const std::size_t i : chains[c]) body(i);
  });
}

}  // namespace recmigrate::ops
