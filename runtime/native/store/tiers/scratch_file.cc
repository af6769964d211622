#include "store/tiers/scratch_file.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "store/errors.h"
#include "store/scratch.h"

namespace recmigrate {
namespace {

// Concurrent reads of one thread: a solid-state disk reaches its full rate with a hundred or more.
constexpr std::size_t kDepth = 128;

// Finished reads are awaited in groups, so that a thread wakes once for several of them; the others keep the disk busy.
constexpr std::size_t kAwaited = 32;

// The gap between two places is read too if a disk transfers it in no more time than another read takes. (A read of 8
// KiB took the measured disk about a quarter longer than one of 512 bytes.)
constexpr std::size_t kGap = 8192;
constexpr std::size_t kTogether = 16384;  // bytes of such a read at the most

bool wants_direct() {
  const char* const own = std::getenv("RECMIGRATE_TIER_IO");
  if (own != nullptr) return std::string(own) != "buffered";
  const char* const scheme = std::getenv("TF_SSDHASH_IO_SCHEME");
  return scheme == nullptr || *scheme == '\0' || std::string(scheme).find("direct") != std::string::npos;
}

// The kernel's queue for a thread's reads; without one, reads are done one after the other.
class Queue {
 public:
  Queue() noexcept { ready_ = syscall(SYS_io_setup, kDepth, &queue_) == 0; }
  ~Queue() {
    if (ready_) syscall(SYS_io_destroy, queue_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] bool ready() const noexcept { return ready_; }
  // The number of accepted reads, or -1 with errno set.
  [[nodiscard]] long submit(std::size_t count, iocb** reads) const noexcept {
    return syscall(SYS_io_submit, queue_, static_cast<long>(count), reads);
  }
  // Waits for at least `least` of them.
  [[nodiscard]] long wait(std::size_t least, io_event* events) const noexcept {
    return syscall(SYS_io_getevents, queue_, static_cast<long>(least), static_cast<long>(kDepth), events, nullptr);
  }

 private:
  aio_context_t queue_ = 0;
  bool ready_ = false;
};

}  // namespace

void make_folders(const std::string& folder, const std::string& owner) {
  for (std::size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (!part.empty() && mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat known{};
      if (stat(part.c_str(), &known) != 0 || !S_ISDIR(known.st_mode)) {
        fail_storage(owner, "cannot make its folder", folder, error);
      }
    }
    if (end == std::string::npos) return;
  }
}

// Removes files of processes that ended between creating a file and unlinking it; a living process's file may lose its
// name, too.
static void remove_named(const std::string& folder) noexcept {
  constexpr std::size_t kName = sizeof "recmigrate-XXXXXX" - 1;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (name.size() == kName && name.compare(0, 11, "recmigrate-") == 0 && at->is_regular_file(ignored)) {
      unlink(at->path().c_str());
    }
  }
}

int open_unnamed(const std::string& folder, int flags) {
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;
  remove_named(folder);
  std::string name = folder + "/recmigrate-XXXXXX";
  file = mkostemp(name.data(), O_CLOEXEC | flags);
  if (file >= 0) unlink(name.c_str());
  return file;
}

void fail_storage(const std::string& owner, const std::string& what, const std::string& folder, int error) {
  const std::string remedy =
      error == ENOSPC || error == EDQUOT || error == EFBIG
          ? "free space there or give it another folder; rows that were not written stay in memory"
      : error == EACCES || error == EPERM || error == EROFS || error == ENOTDIR
          ? "give it a folder that this process can write to"
          : "check that disk, or give it another folder";
  throw StorageFailed(owner + " " + what + " '" + folder + "': " + std::generic_category().message(error) + "; " +
                      remedy);
}

// The result of one read: the places from number `first` to before `last`.
struct ScratchFile::Range {
  std::uint64_t begin;
  std::size_t bytes;
  std::size_t first;
  std::size_t last;
};

ScratchFile::ScratchFile(const std::string& folder, const std::string& owner) : folder_(folder), owner_(owner) {
  make_folders(folder, owner);
  if (wants_direct()) file_ = open_unnamed(folder, O_DIRECT);
  direct_ = file_ >= 0;
  if (!direct_) file_ = open_unnamed(folder, 0);
  if (file_ < 0) fail("cannot make a file in its folder", errno);
}

ScratchFile::~ScratchFile() {
  if (file_ >= 0) close(file_);
}

void ScratchFile::fail(const std::string& what, int error) const { fail_storage(owner_, what, folder_, error); }

void ScratchFile::write(std::uint64_t at, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = pwrite(file_, from, bytes, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write to its folder", errno);
    // The rest of a direct write begins on a block again; writing the same bytes twice does no harm.
    const auto done = static_cast<std::size_t>(written) < bytes ? static_cast<std::size_t>(written) / kBlock * kBlock
                                                                : static_cast<std::size_t>(written);
    if (done == 0) fail("cannot write to its folder", ENOSPC);
    from += done;
    at += done;
    bytes -= done;
  }
}

ScratchFile::Range ScratchFile::range(std::uint64_t at, std::size_t bytes) const noexcept {
  if (!direct_) return {at, bytes, 0, 1};
  const std::uint64_t begin = at / kSector * kSector;
  const std::uint64_t end = (at + bytes + kSector - 1) / kSector * kSector;
  return {begin, static_cast<std::size_t>(end - begin), 0, 1};
}

std::vector<ScratchFile::Range> ScratchFile::ranges(const std::uint64_t* at, std::size_t count,
                                                    std::size_t bytes) const {
  std::vector<Range> all;
  for (std::size_t i = 0; i < count; ++i) {
    const Range one = range(at[i], bytes);
    if (!all.empty()) {
      Range& before = all.back();
      const auto together = static_cast<std::size_t>(one.begin + one.bytes - before.begin);
      if (one.begin <= before.begin + before.bytes + kGap && together <= kTogether) {
        before.bytes = std::max(before.bytes, together);
        before.last = i + 1;
        continue;
      }
    }
    all.push_back({one.begin, one.bytes, i, i + 1});
  }
  return all;
}

void ScratchFile::read_range(const Range& range, char* to) const {
  std::size_t done = 0;
  while (done < range.bytes) {
    const ssize_t got = pread(file_, to + done, range.bytes - done, static_cast<off_t>(range.begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read from its folder", errno);
    if (got == 0) fail("cannot read back rows that it wrote to its folder", EIO);
    done += static_cast<std::size_t>(got);
  }
}

// Running reads, each with a piece of memory that is reused when one is done.
class ScratchFile::Window {
 public:
  Window(const ScratchFile& file, const std::uint64_t* at, std::size_t count, std::size_t bytes, Taker& taker)
      : file_(file),
        at_(at),
        bytes_(bytes),
        taker_(taker),
        ranges_(file.ranges(at, count, bytes)),
        piece_(piece_of(ranges_)),
        memory_(Scratch::bytes_of<char>(std::min(kDepth, ranges_.size()) * piece_ + kBlock)) {
    char* const memory = memory_.take<char>(std::min(kDepth, ranges_.size()) * piece_ + kBlock);
    first_ = memory + (kBlock - reinterpret_cast<std::uintptr_t>(memory) % kBlock) % kBlock;
  }

  [[nodiscard]] std::size_t reads() const noexcept { return ranges_.size(); }

  void one_by_one() {
    for (const Range& wanted : ranges_) {
      bool whole = true;
      try {
        file_.read_range(wanted, first_);
      } catch (const StorageFailed&) {
        whole = false;
      }
      whole ? hand_on(wanted, first_) : read_again(wanted, first_);
    }
  }

  // Waits for all reads that the kernel has accepted, even after a failure, because it writes to this memory.
  void together(const Queue& queue) {
    iocb reads[kDepth];
    iocb* fresh[kDepth];
    io_event done[kDepth];
    std::size_t of[kDepth];
    std::vector<std::size_t> idle;
    for (std::size_t p = std::min(kDepth, ranges_.size()); p > 0; --p) idle.push_back(p - 1);
    std::exception_ptr failure;
    std::size_t next = 0;
    std::size_t running = 0;
    while ((next < ranges_.size() && !failure) || running > 0) {
      std::size_t more = 0;
      for (; !idle.empty() && next < ranges_.size() && !failure; ++next, ++more) {
        const std::size_t p = idle.back();
        idle.pop_back();
        of[p] = next;
        fresh[more] = prepare(reads[p], p, ranges_[next]);
      }
      std::size_t taken = 0;
      while (taken < more) {
        const long some = queue.submit(more - taken, fresh + taken);
        if (some <= 0) break;
        taken += static_cast<std::size_t>(some);
      }
      running += taken;
      for (; taken < more; ++taken) {  // the kernel's queue is full: read here
        const auto p = static_cast<std::size_t>(fresh[taken]->aio_data);
        finish(p, ranges_[of[p]], -EAGAIN, failure);
        idle.push_back(p);
      }
      if (running == 0) continue;
      const long events = queue.wait(std::min(running, kAwaited), done);
      for (long e = 0; e < events; ++e) {
        const auto p = static_cast<std::size_t>(done[e].data);
        finish(p, ranges_[of[p]], done[e].res, failure);
        idle.push_back(p);
      }
      running -= static_cast<std::size_t>(std::max(events, 0L));
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  [[nodiscard]] static std::size_t piece_of(const std::vector<Range>& ranges) noexcept {
    std::size_t most = 0;
    for (const Range& one : ranges) most = std::max(most, one.bytes);
    return (most + kSector - 1) / kSector * kSector;
  }

  iocb* prepare(iocb& read, std::size_t p, const Range& wanted) const noexcept {
    std::memset(&read, 0, sizeof read);
    read.aio_data = p;
    read.aio_lio_opcode = IOCB_CMD_PREAD;
    read.aio_fildes = static_cast<std::uint32_t>(file_.file_);
    read.aio_buf = reinterpret_cast<std::uintptr_t>(first_ + p * piece_);
    read.aio_nbytes = wanted.bytes;
    read.aio_offset = static_cast<std::int64_t>(wanted.begin);
    return &read;
  }

  void finish(std::size_t p, const Range& wanted, std::int64_t result, std::exception_ptr& failure) {
    char* const data = first_ + p * piece_;
    try {
      result == static_cast<std::int64_t>(wanted.bytes) ? hand_on(wanted, data) : read_again(wanted, data);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }

  void hand_on(const Range& read, const char* data) {
    for (std::size_t i = read.first; i < read.last; ++i) taker_.take(i, data + (at_[i] - read.begin));
  }

  // Reads the places one by one, because only the gaps between them may be unreadable. Throws the error.
  void read_again(const Range& wanted, char* data) {
    for (std::size_t i = wanted.first; i < wanted.last; ++i) {
      const Range one = file_.range(at_[i], bytes_);
      file_.read_range(one, data);
      taker_.take(i, data + (at_[i] - one.begin));
    }
  }

  const ScratchFile& file_;
  const std::uint64_t* at_;
  const std::size_t bytes_;
  Taker& taker_;
  const std::vector<Range> ranges_;
  const std::size_t piece_;
  Scratch memory_;
  char* first_;
};

void ScratchFile::read(const std::uint64_t* at, std::size_t count, std::size_t bytes, Taker& taker) const {
  if (count == 0) return;
  Window window(*this, at, count, bytes, taker);
  if (!direct_ || window.reads() == 1) return window.one_by_one();
  static thread_local const Queue queue;
  queue.ready() ? window.together(queue) : window.one_by_one();
}

void ScratchFile::release(std::uint64_t at, std::uint64_t bytes) noexcept {
  static_cast<void>(
      fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), static_cast<off_t>(bytes)));
}

}  // namespace recmigrate
