// The stored form of a row: its key and a checksum precede it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "store/errors.h"
#include "store/tiers/checksum.h"

namespace recmigrate {

struct RecordHead {
  std::int64_t key;
  std::uint32_t checksum;  // of key and row
  std::uint32_t next;      // the tier's own
};

class RecordFormat {
 public:
  explicit RecordFormat(std::size_t width) noexcept
      : row_bytes_(width * sizeof(float)), bytes_((sizeof(RecordHead) + row_bytes_ + 7) / 8 * 8) {}

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] static const char* row(const char* record) noexcept { return record + sizeof(RecordHead); }

  // Everything except the checksum.
  void fill(char* record, std::int64_t key, const float* row) const noexcept {
    const RecordHead head{key, 0, 0};
    std::memcpy(record, &head, sizeof head);
    std::memcpy(record + sizeof head, row, row_bytes_);
  }
  void seal(char* record) const noexcept {
    const std::uint32_t sum = checksum(record);
    std::memcpy(record + offsetof(RecordHead, checksum), &sum, sizeof sum);
  }
  [[nodiscard]] static std::int64_t key(const char* record) noexcept {
    std::int64_t key = 0;
    std::memcpy(&key, record, sizeof key);
    return key;
  }
  [[nodiscard]] bool sound(const char* record, std::int64_t key) const noexcept {
    std::uint32_t sum = 0;
    std::memcpy(&sum, record + offsetof(RecordHead, checksum), sizeof sum);
    return RecordFormat::key(record) == key && sum == checksum(record);
  }
  // Copies the row to `out`. Throws StorageFailed if the record is not the one that was stored for the key.
  void take(const char* record, std::int64_t key, const std::string& owner, const std::string& folder,
            float* out) const {
    if (!sound(record, key)) fail_damaged(key, owner, folder);
    std::memcpy(out, row(record), row_bytes_);
  }
  [[noreturn]] static void fail_damaged(std::int64_t key, const std::string& owner, const std::string& folder) {
    throw StorageFailed(owner + " read a damaged row for key " + std::to_string(key) + " from its folder '" + folder +
                            "'; check that disk, and restore the last checkpoint",
                        true);
  }

 private:
  [[nodiscard]] std::uint32_t checksum(const char* record) const noexcept {
    return crc32c(crc32c(0, record, sizeof(std::int64_t)), row(record), row_bytes_);
  }

  std::size_t row_bytes_;
  std::size_t bytes_;
};

}  // namespace recmigrate
