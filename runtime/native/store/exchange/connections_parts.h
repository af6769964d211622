// What the parts of the links share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace recmigrate::exchange {

// Sorts of frames.
inline constexpr std::uint32_t kMessage = 0x52454331;  // also the version of the format
inline constexpr std::uint32_t kQuestion = 1;
inline constexpr std::uint32_t kAnswer = 2;

// These ranks, for an error: "rank 1, rank 3 and 5 more".
[[nodiscard]] std::string listed(const std::vector<std::size_t>& ranks);

}  // namespace recmigrate::exchange
