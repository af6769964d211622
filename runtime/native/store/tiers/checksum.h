// CRC-32C of stored rows: what comes back from a disk is what went there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recmigrate {

// The checksum of `bytes` bytes behind those that gave `before`; 0 is that of nothing.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t before, const void* data, std::size_t bytes) noexcept;

}  // namespace recmigrate
