// The same target for libFuzzer, where clang is:
//   clang++ -std=c++17 -g -O1 -pthread -fsanitize=fuzzer,address,undefined -Iruntime/native -Itests/runtime/native/store
//           tests/runtime/native/store/checkpoint/checkpoint_libfuzzer.cpp runtime/native/store/*.cc runtime/native/store/*/*.cc -o fuzz && ./fuzz -max_total_time=60
#include <cstdlib>

#include "checkpoint_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Outcome outcome = fuzz::import_bytes(data, size);
  if (outcome.accepted == outcome.refused) std::abort();
  return 0;
}
