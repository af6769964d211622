// What the processor can do, as Clang's code asks its runtime library: for `target_clones` (simd.h) and
// `__builtin_cpu_supports`. The library that Zig brings has an empty stub, with which every loop runs on 128 bits.
// GCC's own, libgcc, is complete. Names, layout and bits are the interface of both (`i386-cpuinfo.h` of GCC); only the
// bits that this library asks for are set.
#if defined(__clang__) && defined(__x86_64__)
#include <cpuid.h>

namespace {

constexpr unsigned kSse42 = 1U << 8;
constexpr unsigned kAvx2 = 1U << 10;
constexpr unsigned kAvx512f = 1U << 15;

// Registers that the system saves: a bit each for xmm, ymm, and the three parts of zmm.
constexpr unsigned kYmm = 0x06;
constexpr unsigned kZmm = 0xe6;

unsigned saved_registers() noexcept {
  unsigned low = 0;
  unsigned high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

unsigned found_features() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 0;
  unsigned found = (c & bit_SSE4_2) != 0 ? kSse42 : 0;
  if ((c & bit_OSXSAVE) == 0 || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  const unsigned saved = saved_registers();
  if ((b & bit_AVX2) != 0 && (saved & kYmm) == kYmm) found |= kAvx2;
  if ((b & bit_AVX512F) != 0 && (saved & kZmm) == kZmm) found |= kAvx512f;
  return found;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler asks for these names.
struct CpuModel {
  unsigned vendor;
  unsigned type;
  unsigned subtype;
  unsigned features[1];
} __cpu_model;

// Called by resolvers while the library is being relocated, and before other constructors: it must need neither.
__attribute__((constructor(101))) int __cpu_indicator_init() {
  __cpu_model.features[0] = found_features();
  return 0;
}
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"

#endif
