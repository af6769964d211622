#include "store/tiers/checksum.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace recmigrate {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78U;  // Castagnoli's, reflected

constexpr std::array<std::uint32_t, 256> make_steps() {
  std::array<std::uint32_t, 256> steps{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    steps[i] = value;
  }
  return steps;
}

constexpr std::array<std::uint32_t, 256> kSteps = make_steps();

std::uint32_t by_table(std::uint32_t state, const unsigned char* data, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) state = (state >> 8) ^ kSteps[(state ^ data[i]) & 0xff];
  return state;
}

#if defined(__x86_64__)
// Clang counts the instruction as a feature of its own; GCC knows that name from version 11 on.
#if defined(__clang__)
#define RECMIGRATE_CRC32 __attribute__((target("sse4.2,crc32")))
#else
#define RECMIGRATE_CRC32 __attribute__((target("sse4.2")))
#endif

RECMIGRATE_CRC32 std::uint32_t by_instruction(std::uint32_t state, const unsigned char* data,
                                              std::size_t bytes) noexcept {
  std::uint64_t wide = state;
  for (; bytes >= 8; bytes -= 8, data += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, sizeof word);
    wide = _mm_crc32_u64(wide, word);
  }
  state = static_cast<std::uint32_t>(wide);
  for (; bytes > 0; --bytes, ++data) state = _mm_crc32_u8(state, *data);
  return state;
}
#endif

}  // namespace

std::uint32_t crc32c(std::uint32_t before, const void* data, std::size_t bytes) noexcept {
  const auto* const from = static_cast<const unsigned char*>(data);
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~by_instruction(~before, from, bytes);
#endif
  return ~by_table(~before, from, bytes);
}

}  // namespace recmigrate
