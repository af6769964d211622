// The compiler's runtime library knows what the processor can do, so that loops are as wide as they may be.
#include "store/simd.h"

#include <fstream>
#include <sstream>

#include "check.h"

namespace {

#if defined(__x86_64__)
bool listed(const std::string& feature) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == feature) return true;
    }
    return false;
  }
  check::failed(__FILE__, __LINE__, "/proc/cpuinfo has no flags");
}

TEST(features_of_the_processor_are_found) {
  CHECK((__builtin_cpu_supports("sse4.2") != 0) == listed("sse4_2"));
  CHECK((__builtin_cpu_supports("avx2") != 0) == listed("avx2"));
  CHECK((__builtin_cpu_supports("avx512f") != 0) == listed("avx512f"));
}
#endif

}  // namespace
