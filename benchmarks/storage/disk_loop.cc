// Random reads of a file past the page cache, as many as the disk gives: the bound of a tier that reads rows from it.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t kSector = 512;
constexpr std::size_t kPage = 4096;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Reads records of `bytes` bytes, the sectors that each lies in, until the time is over; how many, or -1.
long read_records(int file, std::uint64_t span, std::uint64_t bytes, unsigned depth, unsigned seed,
                  std::chrono::steady_clock::time_point end) {
  aio_context_t queue = 0;
  if (syscall(SYS_io_setup, depth, &queue) != 0) return -1;
  const std::size_t piece = (bytes + 2 * kSector + kPage - 1) / kPage * kPage;
  const std::unique_ptr<char, Free> memory(static_cast<char*>(std::aligned_alloc(kPage, piece * depth)));
  std::mt19937_64 random(seed);
  std::vector<iocb> reads(depth);
  std::vector<io_event> events(depth);
  std::vector<iocb*> fresh;
  const auto prepare = [&](std::size_t p) {
    const std::uint64_t at = random() % (span - bytes - kSector) / 8 * 8;
    const std::uint64_t begin = at / kSector * kSector;
    std::memset(&reads[p], 0, sizeof reads[p]);
    reads[p].aio_data = p;
    reads[p].aio_lio_opcode = IOCB_CMD_PREAD;
    reads[p].aio_fildes = static_cast<std::uint32_t>(file);
    reads[p].aio_buf = reinterpret_cast<std::uintptr_t>(memory.get() + p * piece);
    reads[p].aio_nbytes = (at + bytes + kSector - 1) / kSector * kSector - begin;
    reads[p].aio_offset = static_cast<std::int64_t>(begin);
    fresh.push_back(&reads[p]);
  };
  for (std::size_t p = 0; p < depth; ++p) prepare(p);
  long done = 0;
  for (std::size_t running = 0; !fresh.empty() || running > 0;) {
    for (std::size_t sent = 0; sent < fresh.size();) {
      const long some = syscall(SYS_io_submit, queue, fresh.size() - sent, fresh.data() + sent);
      if (some <= 0) return -1;
      sent += static_cast<std::size_t>(some);
    }
    running += fresh.size();
    fresh.clear();
    const long some = syscall(SYS_io_getevents, queue, 1L, static_cast<long>(depth), events.data(), nullptr);
    if (some <= 0) return -1;
    running -= static_cast<std::size_t>(some);
    done += some;
    if (std::chrono::steady_clock::now() >= end) continue;
    for (long e = 0; e < some; ++e) prepare(events[static_cast<std::size_t>(e)].data);
  }
  syscall(SYS_io_destroy, queue);
  return done;
}

}  // namespace

// Reads a second of records from the file, `span` bytes long; a negative number when the system refuses.
extern "C" double disk_reads_a_second(const char* path, std::int64_t span, std::int64_t bytes, int depth, int threads,
                                      double seconds) {
  const int file = open(path, O_RDONLY | O_DIRECT);
  if (file < 0) return -1;
  std::atomic<long> all{0};
  std::atomic<bool> failed{false};
  const auto start = std::chrono::steady_clock::now();
  const auto end =
      start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::thread> readers;
  for (int t = 0; t < threads; ++t) {
    readers.emplace_back([&, t] {
      const long done = read_records(file, static_cast<std::uint64_t>(span), static_cast<std::uint64_t>(bytes),
                                     static_cast<unsigned>(depth), static_cast<unsigned>(t), end);
      done < 0 ? failed.store(true) : static_cast<void>(all += done);
    });
  }
  for (std::thread& reader : readers) reader.join();
  const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  close(file);
  return failed ? -1.0 : static_cast<double>(all) / taken;
}
