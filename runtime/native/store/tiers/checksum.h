// CRC-32C of stored rows, to verify that a disk returns what was written.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recmigrate {

// The checksum of `bytes` bytes that follow those with checksum `before`; 0 is that of no bytes.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t before, const void* data, std::size_t bytes) noexcept;

}  // namespace recmigrate
