// The SSDHASH tier: records are appended to segments of a scratch file, and segments that are mostly dead are
// rewritten.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "store/errors.h"
#include "store/parallel.h"
#include "store/rows/memory.h"
#include "store/rows/row.h"
#include "store/tiers/lower_tier.h"
#include "store/tiers/record.h"
#include "store/tiers/scratch_file.h"

namespace recmigrate {
namespace {

constexpr std::size_t kLeastRecords = 16;  // per segment, however wide they are
constexpr std::size_t kReadGrain = 512;    // reads of one thread

constexpr std::size_t kAhead = 8;  // rows that are prefetched from memory before they are copied

// A log is compacted while more than a third of it is dead, apart from some segments that a small one may waste.
constexpr std::uint64_t kSpareSegments = 2;

// If space is scarce, a segment is rewritten from this dead share on.
constexpr std::uint32_t kScarcePart = 8;

// Minimum for a limited log: one segment is filled, one is reserved for rows that compaction moves, and one has rows.
constexpr std::uint64_t kLeastSegments = 3;

class RecordLog final : public LowerTier {
 public:
  explicit RecordLog(const TierPlace& place)
      : place_(place),
        format_(place.width),
        record_(format_.bytes()),
        segment_bytes_((std::max(limited_segment(place), kLeastRecords * record_) + ScratchFile::kBlock - 1) /
                       ScratchFile::kBlock * ScratchFile::kBlock),
        per_segment_(segment_bytes_ / record_),
        file_(place.folder, place.owner) {
    if (place.capacity != 0 && place.capacity < kLeastSegments * segment_bytes_) {
      fail_invalid(place.owner + " may use " + std::to_string(place.capacity) + " bytes of its folder; it needs " +
                   std::to_string(kLeastSegments * segment_bytes_) + " or more");
    }
  }

  void put(const std::int64_t* keys, const float* const* rows, std::size_t count, Slot* places) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    make_segments(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) prefetch_row(rows[i + kAhead], place_.width);
      Segment& open = segments_[filling_.front()];
      char* const record = open.buffer->data() + open.count * record_;
      format_.fill(record, keys[i], rows[i]);
      places[i] = static_cast<Slot>(filling_.front() * per_segment_ + open.count);
      ++open.count;
      ++open.live;
      if (open.count < per_segment_) continue;
      open.state = State::full;
      full_.push_back(filling_.front());
      filling_.erase(filling_.begin());
    }
    live_ += count;
  }

  void get(const std::int64_t* keys, const Slot* places, std::size_t count, float* const* out) const override {
    // The buffers are referenced here, because `flush` may return them meanwhile.
    std::vector<std::pair<std::size_t, std::shared_ptr<Buffer>>> held;
    std::vector<std::pair<Slot, std::uint32_t>> stored;
    stored.reserve(count);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (std::size_t i = 0; i < count; ++i) {
        const std::shared_ptr<Buffer>& buffer = segments_[places[i] / per_segment_].buffer;
        if (buffer) {
          held.emplace_back(i, buffer);
        } else {
          stored.emplace_back(places[i], static_cast<std::uint32_t>(i));
        }
      }
    }
    for (const auto& [i, buffer] : held) {
      std::memcpy(out[i], RecordFormat::row(buffer->data() + in_segment(places[i])), format_.row_bytes());
    }
    std::sort(stored.begin(), stored.end());
    // Few long ranges, so that each thread keeps the disk busy until its last read.
    const std::size_t threads = parallel::thread_count();
    const std::size_t grain = std::max(kReadGrain, (stored.size() + threads - 1) / threads);
    parallel::ranges(stored.size(), grain, [&](std::size_t begin, std::size_t end) {
      std::vector<std::uint64_t> at;
      at.reserve(end - begin);
      for (std::size_t i = begin; i < end; ++i) at.push_back(in_file(stored[i].first));
      Unpacker unpacker(*this, keys, &stored[begin], out);
      file_.read(at.data(), at.size(), record_, unpacker);
    });
    read_ += count;
  }

  void drop(const std::int64_t* /*keys*/, const Slot* places, std::size_t count) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) --segments_[places[i] / per_segment_].live;
    live_ -= count;
  }

  void settle() noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    moving_ = false;
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      if (segments_[s].state != State::stored || segments_[s].live != 0) continue;
      segments_[s] = Segment();
      free_.push_back(static_cast<std::uint32_t>(s));
      // The next ones to be written stay allocated; the space of further ones is freed.
      if (free_.size() > kSpareSegments) file_.release(std::uint64_t{s} * segment_bytes_, segment_bytes_);
    }
  }

  void flush() override {
    for (;;) {
      std::uint32_t number = 0;
      std::shared_ptr<Buffer> buffer;
      std::size_t count = 0;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (full_.empty()) return;
        number = full_.front();
        buffer = segments_[number].buffer;
        count = segments_[number].count;
      }
      for (std::size_t i = 0; i < count; ++i) format_.seal(buffer->data() + i * record_);
      const std::size_t bytes = (count * record_ + ScratchFile::kBlock - 1) / ScratchFile::kBlock * ScratchFile::kBlock;
      file_.write(std::uint64_t{number} * segment_bytes_, buffer->data(), bytes);
      const std::lock_guard<std::mutex> lock(mutex_);
      full_.erase(full_.begin());
      segments_[number].buffer.reset();
      segments_[number].state = State::stored;
      written_ += count;
      spare_ = std::move(buffer);
    }
  }

  bool worth_moving(StoredRows& found, bool scarce) override {
    std::uint32_t number = 0;
    std::size_t count = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const Segment* worst = nullptr;
      std::uint64_t records = 0;
      for (std::size_t s = 0; s < segments_.size(); ++s) {
        const Segment& one = segments_[s];
        if (one.state != State::stored || one.live == 0 || one.damaged) continue;
        records += one.count;
        if (worst != nullptr && one.live >= worst->live) continue;
        worst = &one;
        number = static_cast<std::uint32_t>(s);
      }
      if (worst == nullptr || worst->live == worst->count) return false;
      const std::uint64_t allowed = live_ + live_ / 2 + kSpareSegments * per_segment_;
      const bool thin = (worst->count - worst->live) * std::uint64_t{kScarcePart} >= worst->count;
      if (records <= allowed && !(thin && (scarce || short_of_space()))) return false;
      moving_ = true;
      count = worst->count;
      ++compactions_;
      moved_ += worst->live;
    }
    try {
      read_segment(number, count, found);
    } catch (const StorageFailed&) {  // whoever needs a row of it gets the error
      const std::lock_guard<std::mutex> lock(mutex_);
      segments_[number].damaged = true;
      return false;
    }
    return true;
  }

  [[nodiscard]] TierUse use() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    TierUse result;
    result.rows = live_;
    for (const Segment& one : segments_) {
      result.medium_bytes += one.state == State::stored ? segment_bytes_ : 0;
      result.memory_bytes += one.buffer ? segment_bytes_ : 0;
    }
    result.memory_bytes += segments_.capacity() * sizeof(Segment) + (spare_ ? segment_bytes_ : 0);
    result.read_rows = read_;
    result.written_rows = written_;
    result.compactions = compactions_;
    result.moved_rows = moved_;
    return result;
  }

 private:
  // Aligned to a block, so that it can be written past the page cache.
  class Buffer {
   public:
    explicit Buffer(std::size_t bytes) : memory_(allocate_region(bytes + ScratchFile::kBlock)) {
      const auto start = reinterpret_cast<std::uintptr_t>(memory_.get());
      data_ =
          static_cast<char*>(memory_.get()) + (ScratchFile::kBlock - start % ScratchFile::kBlock) % ScratchFile::kBlock;
    }
    [[nodiscard]] char* data() const noexcept { return data_; }

   private:
    Region memory_;
    char* data_;
  };

  enum class State : std::uint8_t { free, filling, full, stored };
  struct Segment {
    std::uint32_t count = 0;
    std::uint32_t live = 0;
    State state = State::free;
    bool damaged = false;            // at least in a part
    std::shared_ptr<Buffer> buffer;  // until it is stored
  };

  // Checks what was read and passes it on.
  class Unpacker final : public ScratchFile::Taker {
   public:
    Unpacker(const RecordLog& log, const std::int64_t* keys, const std::pair<Slot, std::uint32_t>* which,
             float* const* out)
        : log_(log), keys_(keys), which_(which), out_(out) {}
    void take(std::size_t i, const char* record) override {
      const std::size_t row = which_[i].second;
      log_.format_.take(record, keys_[row], log_.place_.owner, log_.place_.folder, out_[row]);
    }

   private:
    const RecordLog& log_;
    const std::int64_t* keys_;
    const std::pair<Slot, std::uint32_t>* which_;  // its place, and its number in the batch
    float* const* out_;
  };
  class Whole final : public ScratchFile::Taker {
   public:
    explicit Whole(std::vector<char>& to) : to_(to) {}
    void take(std::size_t /*i*/, const char* data) override { std::memcpy(to_.data(), data, to_.size()); }

   private:
    std::vector<char>& to_;
  };

  // A small log has small segments, so that few are half full.
  [[nodiscard]] static std::size_t limited_segment(const TierPlace& place) noexcept {
    return place.capacity == 0 ? place.segment : std::min<std::uint64_t>(place.segment, place.capacity / 16);
  }
  [[nodiscard]] std::size_t in_segment(Slot place) const noexcept { return place % per_segment_ * record_; }
  [[nodiscard]] std::uint64_t in_file(Slot place) const noexcept {
    return std::uint64_t{place / per_segment_} * segment_bytes_ + in_segment(place);
  }
  [[nodiscard]] std::uint64_t most_segments() const noexcept {
    const std::uint64_t numbered = (std::uint64_t{kAbsent} - 1) / per_segment_;
    return place_.capacity == 0 ? numbered : std::min<std::uint64_t>(numbered, place_.capacity / segment_bytes_);
  }
  // Whether most of the tier's space is used. Locked.
  [[nodiscard]] bool short_of_space() const noexcept { return place_.capacity != 0 && segments_left() <= 1; }
  [[nodiscard]] std::uint64_t segments_left() const noexcept {
    return free_.size() + (most_segments() - segments_.size());
  }

  // Space for `count` records. Locked.
  void make_segments(std::size_t count) {
    std::size_t room = 0;
    for (const std::uint32_t s : filling_) room += per_segment_ - segments_[s].count;
    const std::uint64_t missing = room > count ? 0 : (count + 1 - room + per_segment_ - 1) / per_segment_;
    if (missing + (moving_ ? 0 : 1) > segments_left()) refuse();
    while (room < count + 1) {  // one more: there is always a segment to fill
      filling_.reserve(filling_.size() + 1);
      full_.reserve(full_.size() + filling_.size() + 1);
      free_.reserve(segments_.size() + 1);
      // A buffer that a reader still uses is left to it: compaction writes while others read.
      const bool unused = spare_ && spare_.use_count() == 1;
      std::shared_ptr<Buffer> buffer =
          unused ? std::exchange(spare_, nullptr) : std::make_shared<Buffer>(segment_bytes_);
      if (free_.empty()) {
        segments_.emplace_back();
        free_.push_back(static_cast<std::uint32_t>(segments_.size() - 1));
      }
      Segment& fresh = segments_[free_.back()];
      fresh.state = State::filling;
      fresh.buffer = std::move(buffer);
      filling_.push_back(free_.back());
      free_.pop_back();
      room += per_segment_;
    }
  }

  [[noreturn]] void refuse() const {
    if (place_.capacity != 0) {
      throw StorageFull(place_.owner + " may use " + std::to_string(place_.capacity) + " bytes of '" + place_.folder +
                        "' and they are full; raise that size, or evict rows first");
    }
    fail_limit(place_.owner + " holds at most 4294967294 rows on disk");
  }

  void read_segment(std::uint32_t number, std::size_t count, StoredRows& found) const {
    std::vector<char> records(count * record_);
    Whole whole(records);
    const std::uint64_t at = std::uint64_t{number} * segment_bytes_;
    file_.read(&at, 1, records.size(), whole);
    found.keys.resize(count);
    found.places.resize(count);
    found.rows.resize(count * place_.width);
    for (std::size_t i = 0; i < count; ++i) {
      const char* const record = records.data() + i * record_;
      found.keys[i] = RecordFormat::key(record);
      found.places[i] = static_cast<Slot>(number * per_segment_ + i);
      format_.take(record, found.keys[i], place_.owner, place_.folder, &found.rows[i * place_.width]);
    }
  }

  const TierPlace place_;
  const RecordFormat format_;
  const std::size_t record_;  // bytes
  const std::size_t segment_bytes_;
  const std::size_t per_segment_;
  ScratchFile file_;

  mutable std::mutex mutex_;  // guards what follows
  std::vector<Segment> segments_;
  std::vector<std::uint32_t> filling_;  // the first one is being filled
  std::vector<std::uint32_t> full_;     // to be written, in this order
  std::vector<std::uint32_t> free_;
  std::shared_ptr<Buffer> spare_;
  bool moving_ = false;  // rows from `worth_moving`: they may use the reserved segment
  std::uint64_t live_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t compactions_ = 0;
  std::uint64_t moved_ = 0;
  mutable std::atomic<std::uint64_t> read_{0};
};

}  // namespace

std::unique_ptr<LowerTier> make_record_log(const TierPlace& place) { return std::make_unique<RecordLog>(place); }

}  // namespace recmigrate
