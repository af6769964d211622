// Admission by chance: whether one of an id's first occurrences admitted it.
#pragma once

#include <cstdint>

namespace recmigrate {

// Whether one of `count` occurrences of a key admits it, where each does with `probability`, in (0, 1]. A key has one
// draw, of the table's seed and the key: it is the same for every order and number of lookups, and a larger count only
// adds to what a smaller one admits.
[[nodiscard]] bool admitted_by_chance(std::int64_t key, std::int64_t seed, std::uint32_t count,
                                      double probability) noexcept;

}  // namespace recmigrate
