#include "store/exchange/row_message.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/errors.h"
#include "store/parallel.h"

namespace recmigrate::exchange {

RowMessage::RowMessage(const std::int32_t* counts, std::size_t ranks, std::vector<std::size_t> widths)
    : ranks_(ranks), widths_(std::move(widths)) {
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t table = 0; table < widths_.size(); ++table) {
      const std::int32_t rows = counts[part(rank, table)];
      if (rows < 0) fail_invalid("an exchange of " + std::to_string(rows) + " rows: a count must be 0 or more");
      counts_.push_back(static_cast<std::size_t>(rows));
      offsets_.push_back(floats_);
      floats_ += counts_.back() * widths_[table];
    }
  }
}

namespace {

// Calls body(key, occurrence) for each key of a part with the number of its first occurrence.
template <typename Body>
void each_first(const AskedPart& part, const Body& body) {
  std::size_t at = 0;
  for (std::size_t key = 0; key < part.count; at += part.times->of(key), ++key) body(key, at);
}

// The rows [keys, width] of a part by those of its occurrences.
std::vector<float> first_rows(const AskedPart& part, const float* rows, std::size_t width) {
  std::vector<float> firsts(part.count * width);
  each_first(part, [&](std::size_t key, std::size_t at) {
    std::copy_n(rows + at * width, width, firsts.data() + key * width);
  });
  return firsts;
}

// The gradient: that of a key's first occurrence; others have none.
void spread_firsts(const AskedPart& part, const float* firsts, std::size_t width, float* rows) {
  std::fill_n(rows, part.occurrences() * width, 0.0F);
  each_first(part,
             [&](std::size_t key, std::size_t at) { std::copy_n(firsts + key * width, width, rows + at * width); });
}

}  // namespace

void RowMessage::pack(const Inbox& asked, std::size_t table, const float* rows, float* message) const {
  const std::size_t width = widths_[table];
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const AskedPart& own = asked.part(rank, table);
    float* const to = message + offsets_[part(rank, table)];
    const std::vector<float> firsts = own.times ? first_rows(own, rows, width) : std::vector<float>{};
    const float* const from = own.times ? firsts.data() : rows;
    if (own.sums) own.sums->sum(from, width, to);
    else std::copy_n(from, own.count * width, to);
    rows += own.occurrences() * width;
  }
}

void RowMessage::unpack(const Inbox& asked, std::size_t table, const float* message, float* rows) const {
  const std::size_t width = widths_[table];
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const AskedPart& own = asked.part(rank, table);
    const float* const from = message + offsets_[part(rank, table)];
    std::vector<float> firsts(own.times ? own.count * width : 0);
    float* const to = own.times ? firsts.data() : rows;
    if (own.sums) own.sums->spread(from, width, to);
    else std::copy_n(from, own.count * width, to);
    if (own.times) spread_firsts(own, to, width, rows);
    rows += own.occurrences() * width;
  }
}

std::vector<std::size_t> RowMessage::begins(std::size_t table) const {
  std::vector<std::size_t> all;
  std::size_t rows = 0;
  for (std::size_t rank = 0; rank < ranks_; ++rank) rows += counts_[part(rank, table)];
  all.reserve(rows);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    std::size_t at = offsets_[part(rank, table)];
    for (std::size_t i = 0; i < counts_[part(rank, table)]; ++i, at += widths_[table]) all.push_back(at);
  }
  return all;
}

namespace {

std::size_t place_in(std::int32_t place, std::size_t rows) {
  if (place < 0 || static_cast<std::size_t>(place) >= rows) {
    fail_invalid("row " + std::to_string(place) + " of an exchange of " + std::to_string(rows) + " rows");
  }
  return static_cast<std::size_t>(place);
}

std::size_t target_in(const Links& links, std::size_t i, std::size_t count) {
  const auto target = links.targets == nullptr ? static_cast<std::int64_t>(i) : links.targets[i];
  if (target < 0 || static_cast<std::size_t>(target) >= count) {
    fail_invalid("an id of bag " + std::to_string(target) + ": the lookup has " + std::to_string(count) + " bags");
  }
  return static_cast<std::size_t>(target);
}

void add(float* to, const float* row, std::size_t width) noexcept {
  for (std::size_t k = 0; k < width; ++k) to[k] += row[k];
}

}  // namespace

void RowMessage::spread(std::size_t table, const float* message, const Links& links, float* rows) const {
  const std::vector<std::size_t> all = begins(table);
  const std::size_t width = widths_[table];
  parallel::ranges(links.count, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::copy_n(message + all[place_in(links.places[i], all.size())], width, rows + i * width);
    }
  });
}

void RowMessage::pool(std::size_t table, const float* message, const Links& links, std::size_t count,
                      float* sums) const {
  const std::vector<std::size_t> all = begins(table);
  const std::size_t width = widths_[table];
  std::fill_n(sums, count * width, 0.0F);
  for (std::size_t i = 0; i < links.count; ++i) {
    const float* const row = message + all[place_in(links.places[i], all.size())];
    add(sums + target_in(links, i, count) * width, row, width);
  }
}

void RowMessage::sum(std::size_t table, const float* gradients, std::size_t count, const Links& links,
                     float* message) const {
  const std::vector<std::size_t> all = begins(table);
  const std::size_t width = widths_[table];
  for (const std::size_t row : all) std::fill_n(message + row, width, 0.0F);
  for (std::size_t i = 0; i < links.count; ++i) {
    float* const row = message + all[place_in(links.places[i], all.size())];
    add(row, gradients + target_in(links, i, count) * width, width);
  }
}

}  // namespace recmigrate::exchange
