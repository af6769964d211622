// The PMEM tier: rows in a scratch file that is mapped into memory, on a persistent-memory device or any other one.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "store/errors.h"
#include "store/tiers/lower_tier.h"
#include "store/tiers/record.h"
#include "store/tiers/scratch_file.h"

namespace recmigrate {
namespace {

// The file is mapped in pieces of address space, for which device space is allocated step by step.
constexpr std::size_t kExtentBytes = std::size_t{1} << 30;

// libpmem's copies, which bypass the processor's cache; nothing is ever made durable.
struct Pmem {
  void* (*copy)(void*, const void*, std::size_t) = nullptr;
  void (*drain)() = nullptr;
  int (*is_pmem)(const void*, std::size_t) = nullptr;

  [[nodiscard]] static const Pmem& instance() {
    static const Pmem found;
    return found;
  }
  [[nodiscard]] bool serves(const void* memory) const {
    return copy != nullptr && drain != nullptr && is_pmem != nullptr && is_pmem(memory, ScratchFile::kBlock) != 0;
  }

 private:
  Pmem() {
    void* const library = dlopen("libpmem.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    copy = reinterpret_cast<decltype(copy)>(dlsym(library, "pmem_memcpy_nodrain"));
    drain = reinterpret_cast<decltype(drain)>(dlsym(library, "pmem_drain"));
    is_pmem = reinterpret_cast<decltype(is_pmem)>(dlsym(library, "pmem_is_pmem"));
  }
};

// Records by number. Free and dropped ones are linked through themselves, so dropping needs no memory.
class Mapped final : public LowerTier {
 public:
  explicit Mapped(const TierPlace& place)
      : place_(place),
        format_(place.width),
        per_extent_(std::max<std::size_t>(kExtentBytes / format_.bytes(), 1)),
        extent_bytes_((per_extent_ * format_.bytes() + ScratchFile::kBlock - 1) / ScratchFile::kBlock *
                      ScratchFile::kBlock),
        most_(place.capacity == 0 ? std::uint64_t{kAbsent}
                                  : std::min<std::uint64_t>(kAbsent, place.capacity / format_.bytes())) {
    make_folders(place.folder, place.owner);
    file_ = open_unnamed(place.folder, 0);
    if (file_ < 0) fail_storage(place.owner, "cannot make a file in its folder", place.folder, errno);
  }
  ~Mapped() override {
    for (char* const extent : extents_) munmap(extent, extent_bytes_);
    close(file_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  void put(const std::int64_t* keys, const float* const* rows, std::size_t count, Slot* places) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    make_room(count);
    std::vector<char> fresh(format_.bytes());
    for (std::size_t i = 0; i < count; ++i) {
      places[i] = free_.count != 0 ? pop() : static_cast<Slot>(used_++);
      format_.fill(fresh.data(), keys[i], rows[i]);
      format_.seal(fresh.data());
      if (pmem_ != nullptr) {
        pmem_->copy(record(places[i]), fresh.data(), fresh.size());
      } else {
        std::memcpy(record(places[i]), fresh.data(), fresh.size());
      }
    }
    if (pmem_ != nullptr) pmem_->drain();
    live_ += count;
    written_ += count;
  }

  void get(const std::int64_t* keys, const Slot* places, std::size_t count, float* const* out) const override {
    const std::vector<char*> extents = mapped();
    for (std::size_t i = 0; i < count; ++i) {
      const char* const from = extents[places[i] / per_extent_] + places[i] % per_extent_ * format_.bytes();
      format_.take(from, keys[i], place_.owner, place_.folder, out[i]);
    }
    read_ += count;
  }

  void drop(const std::int64_t* /*keys*/, const Slot* places, std::size_t count) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) push(dropped_, places[i]);
    live_ -= count;
  }

  void settle() noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (dropped_.count == 0) return;
    set_next(dropped_.last, free_.first);
    if (free_.count == 0) free_.last = dropped_.last;
    free_.first = dropped_.first;
    free_.count += dropped_.count;
    dropped_ = List();
  }

  void flush() override {}

  [[nodiscard]] const float* in_place(Slot place) const noexcept override {
    return reinterpret_cast<const float*>(RecordFormat::row(record(place)));
  }

  [[nodiscard]] TierUse use() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    TierUse result;
    result.rows = live_;
    result.medium_bytes = file_bytes_;
    result.memory_bytes = extents_.capacity() * sizeof(char*);
    result.read_rows = read_;
    result.written_rows = written_;
    return result;
  }

 private:
  struct List {
    Slot first = kAbsent;
    Slot last = kAbsent;
    std::uint64_t count = 0;
  };

  [[nodiscard]] std::vector<char*> mapped() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return extents_;
  }
  [[nodiscard]] char* record(Slot place) const noexcept {
    return extents_[place / per_extent_] + place % per_extent_ * format_.bytes();
  }
  void set_next(Slot place, Slot next) noexcept {
    std::memcpy(record(place) + offsetof(RecordHead, next), &next, sizeof next);
  }
  void push(List& list, Slot place) noexcept {
    set_next(place, list.first);
    if (list.count == 0) list.last = place;
    list.first = place;
    ++list.count;
  }
  [[nodiscard]] Slot pop() noexcept {
    const Slot place = free_.first;
    std::memcpy(&free_.first, record(place) + offsetof(RecordHead, next), sizeof free_.first);
    --free_.count;
    return place;
  }

  // Space for `count` more records. Locked.
  void make_room(std::size_t count) {
    const std::uint64_t needed = used_ + count - std::min<std::uint64_t>(count, free_.count);
    if (needed > most_) refuse();
    if (needed <= room_) return;
    const std::uint64_t step = std::max<std::uint64_t>(place_.segment / format_.bytes(), room_ / 8);
    const std::uint64_t room = std::min(most_, std::max(needed, room_ + step));
    while (extents_.size() * per_extent_ < room) map_extent();
    take_space(room);
  }

  // Address space only; `take_space` allocates device space.
  void map_extent() {
    if (extents_.size() == extents_.capacity()) extents_.reserve(2 * extents_.size() + 1);
    void* const memory = mmap(nullptr, extent_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                              static_cast<off_t>(extents_.size() * extent_bytes_));
    if (memory == MAP_FAILED) fail_storage(place_.owner, "cannot map a file in its folder", place_.folder, errno);
    extents_.push_back(static_cast<char*>(memory));
  }

  // Allocates the space before it is written to: so a full device is an error here, and not a signal later.
  void take_space(std::uint64_t room) {
    const std::uint64_t last = (room - 1) / per_extent_;
    const std::uint64_t bytes = last * extent_bytes_ + (room - last * per_extent_) * format_.bytes();
    const std::uint64_t blocks = (bytes + ScratchFile::kBlock - 1) / ScratchFile::kBlock * ScratchFile::kBlock;
    if (blocks > file_bytes_) {
      const int error =
          posix_fallocate(file_, static_cast<off_t>(file_bytes_), static_cast<off_t>(blocks - file_bytes_));
      if (error != 0) fail_storage(place_.owner, "cannot write to its folder", place_.folder, error);
      if (file_bytes_ == 0 && Pmem::instance().serves(extents_.front())) pmem_ = &Pmem::instance();
      file_bytes_ = blocks;
    }
    room_ = room;
  }

  [[noreturn]] void refuse() const {
    if (place_.capacity == 0) fail_limit(place_.owner + " holds at most 4294967294 rows in a tier");
    throw StorageFull(place_.owner + " may use " + std::to_string(place_.capacity) + " bytes of '" + place_.folder +
                      "' and they are full; raise that size, or evict rows first");
  }

  const TierPlace place_;
  const RecordFormat format_;
  const std::size_t per_extent_;
  const std::size_t extent_bytes_;
  const std::uint64_t most_;  // records
  int file_ = -1;
  const Pmem* pmem_ = nullptr;  // if the file is on such a device

  mutable std::mutex mutex_;  // guards the following; records that are not linked belong to whoever has their number
  std::vector<char*> extents_;
  std::uint64_t room_ = 0;  // records with allocated space
  std::uint64_t used_ = 0;  // of those, ever used
  std::uint64_t file_bytes_ = 0;
  List free_;
  List dropped_;
  std::uint64_t live_ = 0;
  std::uint64_t written_ = 0;
  mutable std::atomic<std::uint64_t> read_{0};
};

}  // namespace

std::unique_ptr<LowerTier> make_mapped(const TierPlace& place) { return std::make_unique<Mapped>(place); }

}  // namespace recmigrate
