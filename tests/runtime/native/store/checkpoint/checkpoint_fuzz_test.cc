// The reader of checkpoints under random bytes: it takes them or refuses them, and never crashes or half-changes a
// table.
#include "checkpoint_fuzz.h"

#include <random>

#include "check.h"

namespace {

std::vector<std::uint8_t> random_bytes(std::mt19937_64& random) {
  std::vector<std::uint8_t> bytes(random() % 400);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(any_bytes_are_imported_or_refused) {
  std::mt19937_64 random(1);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::vector<std::uint8_t> bytes = random_bytes(random);
    const fuzz::Outcome outcome = fuzz::import_bytes(bytes.data(), bytes.size());
    CHECK(outcome.accepted != outcome.refused);
    accepted += outcome.accepted ? 1 : 0;
    refused += outcome.refused ? 1 : 0;
  }
  CHECK(accepted > 50 && refused > 50);
}

}  // namespace
