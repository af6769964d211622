// The file of a tier: places that are near each other come with one read of the disk, each with its own bytes.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "store/errors.h"
#include "store/tiers/scratch_file.h"
#include "tier_fixtures.h"

namespace {

using recmigrate::ScratchFile;

constexpr std::size_t kFileBytes = std::size_t{1} << 20;

// Byte number i of the file.
char file_byte(std::uint64_t i) { return static_cast<char>(i * 2654435761U >> 16); }

// Notes what it is given, and whether that is what lies at the place.
class Checked final : public ScratchFile::Taker {
 public:
  Checked(const std::vector<std::uint64_t>& at, std::size_t bytes) : times(at.size()), at_(at), bytes_(bytes) {}
  void take(std::size_t i, const char* data) override {
    ++times[i];
    for (std::size_t b = 0; b < bytes_; ++b) sound = sound && data[b] == file_byte(at_[i] + b);
  }
  std::vector<int> times;
  bool sound = true;

 private:
  const std::vector<std::uint64_t>& at_;
  const std::size_t bytes_;
};

void fill_file(ScratchFile& file) {
  std::vector<char> memory(kFileBytes + ScratchFile::kBlock);
  const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
  char* const data = memory.data() + (ScratchFile::kBlock - start % ScratchFile::kBlock) % ScratchFile::kBlock;
  for (std::size_t i = 0; i < kFileBytes; ++i) data[i] = file_byte(i);
  file.write(0, data, kFileBytes);
}

TEST(tiers_file_reads_near_places_together) {
  ScratchFile file(tier_fixtures::tier_folder(), "table 'user'");
  fill_file(file);
  std::mt19937_64 random(5);
  for (const std::size_t bytes : {8, 176, 512, 560, 5000}) {
    for (const std::size_t most : {1, 200, 3000, 40000}) {  // the largest distance from one place to the next
      std::vector<std::uint64_t> at;
      for (std::uint64_t next = random() % 600; next + bytes <= kFileBytes; next += 1 + random() % most)
        at.push_back(next);
      at.resize(std::min<std::size_t>(at.size(), 5000));
      Checked taker(at, bytes);
      file.read(at.data(), at.size(), bytes, taker);
      CHECK(taker.sound);
      CHECK(taker.times == std::vector<int>(at.size(), 1));
    }
  }
}

TEST(tiers_file_gives_what_is_there_before_it_fails) {
  ScratchFile file(tier_fixtures::tier_folder(), "table 'user'");
  fill_file(file);
  const std::vector<std::uint64_t> at = {kFileBytes - 5000, kFileBytes - 600, kFileBytes + 4096};
  Checked taker(at, 176);
  CHECK_THROWS(recmigrate::StorageFailed, file.read(at.data(), at.size(), 176, taker), "cannot read back rows");
  CHECK(taker.sound && taker.times[0] == 1 && taker.times[1] == 1 && taker.times[2] == 0);
}

TEST(tiers_file_does_not_wait_for_what_is_not_there) {
  ScratchFile file(tier_fixtures::tier_folder(), "table 'user'");
  fill_file(file);
  const std::vector<std::uint64_t> at = {kFileBytes + 4096};
  Checked taker(at, 176);
  errno = EINTR;  // of an earlier call
  CHECK_THROWS(recmigrate::StorageFailed, file.read(at.data(), 1, 176, taker), "cannot read back rows");
}

TEST(tiers_file_says_that_it_cannot_grow) {
  ScratchFile file(tier_fixtures::tier_folder(), "table 'user'");
  rlimit before{};
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {kFileBytes / 2, before.rlim_max};
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string said;
  try {
    fill_file(file);
  } catch (const recmigrate::StorageFailed& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(said.find("cannot write to its folder") != std::string::npos);
  fill_file(file);
  const std::vector<std::uint64_t> at = {0, kFileBytes - 4096};
  Checked taker(at, 4096);
  file.read(at.data(), at.size(), 4096, taker);
  CHECK(taker.sound);
}

TEST(tiers_open_one_file_and_no_other) {
  const std::string folder = tier_fixtures::tier_folder();
  recmigrate::make_folders(folder, "table 'user'");
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // the number that is free
  ::close(next);
  errno = ENOENT;  // of an earlier call
  const int file = recmigrate::open_unnamed(folder, 0);
  CHECK(file == next);
  ::close(file);
}

}  // namespace
