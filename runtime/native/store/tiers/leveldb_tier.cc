// The LEVELDB tier: rows in a LevelDB database, by key and place.
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#include "store/errors.h"
#include "store/locks.h"
#include "store/parallel.h"
#include "store/tiers/leveldb_library.h"
#include "store/tiers/lower_tier.h"
#include "store/tiers/record.h"
#include "store/tiers/scratch_file.h"
#include "store/tiers/scratch_folder.h"

namespace recmigrate {
namespace {

constexpr std::size_t kTogether = 4096;  // records of one write
constexpr std::size_t kReadGrain = 64;   // reads of one thread
constexpr int kBloomBits = 10;
constexpr std::uint64_t kPart = 8;  // the directory is compacted again once it has grown by this part

// What LevelDB rewrites when it is opened, and a little more: a failed attempt leaves records that are written again.
// For a small disk, a quarter is enough.
constexpr std::uint64_t kLeastFree = std::uint64_t{16} << 20;
constexpr std::uint64_t kLeastPart = 4;

// An open database, with everything that it was opened with.
class Database {
 public:
  Database(const LevelDb& library, const std::string& path) : library_(library), path_(path) {
    options_ = library_.options_create();
    filter_ = library_.filterpolicy_create_bloom(kBloomBits);
    library_.options_set_create_if_missing(options_, 1);
    library_.options_set_compression(options_, 0);
    library_.options_set_filter_policy(options_, filter_);
    read_ = library_.readoptions_create();
    write_ = library_.writeoptions_create();
  }
  ~Database() {
    shut();
    library_.writeoptions_destroy(write_);
    library_.readoptions_destroy(read_);
    library_.options_destroy(options_);
    library_.filterpolicy_destroy(filter_);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // These return an error text, or an empty one.
  [[nodiscard]] std::string reopen() {
    shut();
    char* error = nullptr;
    database_ = library_.open(options_, path_.c_str(), &error);
    return text(error);
  }
  [[nodiscard]] std::string write(leveldb_writebatch_t* batch) {
    char* error = nullptr;
    library_.write(database_, write_, batch, &error);
    return text(error);
  }
  // found = whether the key exists.
  [[nodiscard]] std::string get(const char* key, std::size_t key_bytes, std::string& value, bool& found) const {
    if (database_ == nullptr) return "the database is closed";
    char* error = nullptr;
    std::size_t bytes = 0;
    char* const data = library_.get(database_, read_, key, key_bytes, &bytes, &error);
    found = data != nullptr;
    if (found) value.assign(data, bytes);
    library_.free(data);
    return text(error);
  }
  void compact() { library_.compact_range(database_, nullptr, 0, nullptr, 0); }
  [[nodiscard]] bool is_open() const noexcept { return database_ != nullptr; }

 private:
  void shut() noexcept {
    if (database_ != nullptr) library_.close(database_);
    database_ = nullptr;
  }
  [[nodiscard]] std::string text(char* error) const {
    if (error == nullptr) return "";
    std::string result = error;
    library_.free(error);
    for (char& letter : result) letter = letter >= ' ' && letter <= '~' ? letter : '?';  // it may quote a damaged key
    return result;
  }

  const LevelDb& library_;
  const std::string path_;
  leveldb_options_t* options_;
  leveldb_filterpolicy_t* filter_;
  leveldb_readoptions_t* read_;
  leveldb_writeoptions_t* write_;
  leveldb_t* database_ = nullptr;
};

// The database has a row's key twice while it was dropped, put again and not settled: places distinguish them, and are
// in order.
class LevelDbTier final : public LowerTier {
 public:
  explicit LevelDbTier(const TierPlace& place)
      : place_(place),
        format_(place.width),
        library_(LevelDb::load(place.owner, place.library)),
        folder_(place.folder, place.owner),
        database_(library_, folder_.path()) {
    const std::string wrong = database_.reopen();
    if (!wrong.empty()) fail("cannot open a database in its folder", wrong);
  }

  void put(const std::int64_t* keys, const float* const* rows, std::size_t count, Slot* places) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (place_.capacity != 0 && (live_ + count) * stored_bytes() > place_.capacity) refuse();
    if (fresh_.empty() || fresh_.back()->taken) fresh_.push_back(std::make_shared<Fresh>(Fresh{next_, {}, false}));
    std::vector<char>& records = fresh_.back()->records;
    const std::size_t begin = records.size();
    records.resize(begin + count * format_.bytes());
    for (std::size_t i = 0; i < count; ++i) {
      format_.fill(&records[begin + i * format_.bytes()], keys[i], rows[i]);
      places[i] = static_cast<Slot>((next_ + i) % kAbsent);
    }
    next_ += count;
    live_ += count;
  }

  void get(const std::int64_t* keys, const Slot* places, std::size_t count, float* const* out) const override {
    std::vector<std::size_t> stored;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (std::size_t i = 0; i < count; ++i) {
        const char* const record = fresh_record(places[i]);
        record == nullptr ? stored.push_back(i)
                          : static_cast<void>(std::memcpy(out[i], RecordFormat::row(record), format_.row_bytes()));
      }
    }
    const ReadLock open(database_mutex_);
    parallel::ranges(stored.size(), kReadGrain, [&](std::size_t begin, std::size_t end) {
      std::string record;
      for (std::size_t i = begin; i < end; ++i) read(keys[stored[i]], places[stored[i]], record, out[stored[i]]);
    });
    read_ += count;
  }

  void drop(const std::int64_t* keys, const Slot* places, std::size_t count) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) dropped_.push_back({keys[i], places[i]});
    live_ -= count;
  }

  void settle() noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    dead_.insert(dead_.end(), dropped_.begin(), dropped_.end());
    dropped_.clear();
  }

  void flush() override {
    if (broken_) mend();
    write_fresh();
    delete_dead();
    const std::uint64_t bytes = place_.capacity == 0 ? 0 : folder_bytes();
    if (bytes > place_.capacity && bytes > compacted_ + compacted_ / kPart) {
      database_.compact();
      compacted_ = folder_bytes();
      ++compactions_;
    }
  }

  [[nodiscard]] TierUse use() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    TierUse result;
    result.rows = live_;
    result.medium_bytes = folder_bytes();
    for (const auto& some : fresh_) result.memory_bytes += some->records.size();
    result.memory_bytes += (dropped_.capacity() + dead_.capacity()) * sizeof(Gone);
    result.read_rows = read_;
    result.written_rows = written_;
    result.compactions = compactions_;
    return result;
  }

 private:
  // Records to write, from place number `first` on.
  struct Fresh {
    std::uint64_t first;
    std::vector<char> records;
    bool taken;  // nothing is added while it is written, or once an attempt has failed
  };
  struct Gone {
    std::int64_t key;
    Slot place;
  };
  using Name = std::array<char, sizeof(std::int64_t) + sizeof(Slot)>;
  struct EndBatch {
    const LevelDb& library;
    void operator()(leveldb_writebatch_t* batch) const { library.writebatch_destroy(batch); }
  };
  using BatchPtr = std::unique_ptr<leveldb_writebatch_t, EndBatch>;

  [[nodiscard]] static Name name(std::int64_t key, Slot place) noexcept {
    Name result;
    std::memcpy(result.data(), &key, sizeof key);
    std::memcpy(result.data() + sizeof key, &place, sizeof place);
    return result;
  }
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return format_.bytes() + sizeof(Name); }
  [[nodiscard]] BatchPtr batch() const { return BatchPtr(library_.writebatch_create(), EndBatch{library_}); }

  [[noreturn]] void fail(const std::string& what, const std::string& wrong) const {
    throw StorageFailed(
        place_.owner + " " + what + " '" + place_.folder + "': " + wrong +
        "; free space there, check that disk, or give it another folder; rows that were not written stay "
        "in memory");
  }
  [[noreturn]] void refuse() const {
    throw StorageFull(place_.owner + " may use " + std::to_string(place_.capacity) + " bytes of '" + place_.folder +
                      "' and they are full; raise that size, or evict rows first");
  }

  // Null if the record is stored. Locked.
  [[nodiscard]] const char* fresh_record(Slot place) const noexcept {
    for (const auto& some : fresh_) {
      const std::uint64_t number = (std::uint64_t{place} + kAbsent - some->first % kAbsent) % kAbsent;
      if (number < some->records.size() / format_.bytes()) return &some->records[number * format_.bytes()];
    }
    return nullptr;
  }

  void read(std::int64_t key, Slot place, std::string& record, float* out) const {
    const Name under = name(key, place);
    bool found = false;
    const std::string wrong = database_.get(under.data(), under.size(), record, found);
    if (!wrong.empty()) fail("cannot read key " + std::to_string(key) + " from its folder", wrong);
    if (!found || record.size() != format_.bytes()) RecordFormat::fail_damaged(key, place_.owner, place_.folder);
    format_.take(record.data(), key, place_.owner, place_.folder, out);
  }

  // Once LevelDB has failed to write, it fails until it is opened again, which needs some space. Until then, reads
  // still work.
  void mend() {
    struct statvfs device{};
    if (statvfs(folder_.path().c_str(), &device) == 0 &&
        std::uint64_t{device.f_bavail} * device.f_frsize <
            std::min(kLeastFree, std::uint64_t{device.f_blocks} * device.f_frsize / kLeastPart)) {
      fail_storage(place_.owner, "cannot write to its folder", place_.folder, ENOSPC);
    }
    const WriteLock shut(database_mutex_);
    const std::string wrong = database_.reopen();
    if (!wrong.empty()) fail("cannot open its database again in its folder", wrong);
    broken_ = false;
  }

  void write(const BatchPtr& batch) {
    const std::string wrong = database_.write(batch.get());
    if (wrong.empty()) return;
    broken_ = true;
    fail("cannot write to its folder", wrong);
  }

  void write_fresh() {
    for (;;) {
      std::shared_ptr<Fresh> some;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (fresh_.empty()) return;
        some = fresh_.front();
        some->taken = true;
      }
      const std::size_t count = some->records.size() / format_.bytes();
      for (std::size_t begin = 0; begin < count; begin += kTogether) {
        const std::size_t end = std::min(begin + kTogether, count);
        const BatchPtr all = batch();
        for (std::size_t i = begin; i < end; ++i) {
          char* const record = &some->records[i * format_.bytes()];
          format_.seal(record);
          const Name under = name(RecordFormat::key(record), static_cast<Slot>((some->first + i) % kAbsent));
          library_.writebatch_put(all.get(), under.data(), under.size(), record, format_.bytes());
        }
        write(all);
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      fresh_.pop_front();
      written_ += count;
    }
  }

  void delete_dead() {
    for (;;) {
      std::vector<Gone> some;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        some.assign(dead_.end() - static_cast<std::ptrdiff_t>(std::min(kTogether, dead_.size())), dead_.end());
      }
      if (some.empty()) return;
      const BatchPtr all = batch();
      for (const Gone& one : some) {
        const Name under = name(one.key, one.place);
        library_.writebatch_delete(all.get(), under.data(), under.size());
      }
      write(all);
      const std::lock_guard<std::mutex> lock(mutex_);
      dead_.resize(dead_.size() - some.size());
    }
  }

  [[nodiscard]] std::uint64_t folder_bytes() const {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder_.path(), error), end; !error && at != end; at.increment(error)) {
      std::error_code gone;
      const std::uintmax_t size = at->file_size(gone);
      if (!gone) bytes += size;
    }
    return bytes;
  }

  const TierPlace place_;
  const RecordFormat format_;
  const LevelDb& library_;
  const ScratchFolder folder_;
  mutable SharedMutex database_mutex_;  // held for writing while the database is reopened
  Database database_;
  bool broken_ = false;
  std::uint64_t compacted_ = 0;  // size of the directory after the last compaction
  std::atomic<std::uint64_t> compactions_{0};

  mutable std::mutex mutex_;  // guards the following
  std::deque<std::shared_ptr<Fresh>> fresh_;
  std::uint64_t next_ = 0;  // place, before the numbers begin anew
  std::vector<Gone> dropped_;
  std::vector<Gone> dead_;  // and settled
  std::uint64_t live_ = 0;
  std::uint64_t written_ = 0;
  mutable std::atomic<std::uint64_t> read_{0};
};

}  // namespace

std::unique_ptr<LowerTier> make_leveldb(const TierPlace& place) { return std::make_unique<LevelDbTier>(place); }

}  // namespace recmigrate
