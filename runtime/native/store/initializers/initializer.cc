#include "store/initializers/initializer.h"

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

#include "store/errors.h"
#include "store/initializers/normal.h"
#include "store/initializers/philox.h"

namespace recmigrate {
namespace {

constexpr double kTwoTo32 = 4294967296.0;
constexpr double kBelowCut = 0.022750131948179207;  // P(N(0,1) < -2)

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The C locale, whatever the process has set: a decimal comma must not change a table.
template <typename Number>
bool read(const std::string& text, Number& value) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  return in >> value && in.peek() == std::istringstream::traits_type::eof();
}

}  // namespace

Initializer::Initializer(const std::string& text, std::size_t dim, const std::string& owner) : dim_(dim) {
  std::size_t covered = 0;
  for (const std::string& part : split(text, ';')) {
    const Block block = parse(part, owner);
    if (block.width > dim - covered) {
      fail_invalid("initializer '" + text + "' of " + owner + " covers more than its " + std::to_string(dim) +
                   " columns");
    }
    covered += block.width;
    blocks_.push_back(block);
  }
  if (covered != dim) {
    fail_invalid("initializer '" + text + "' of " + owner + " covers " + std::to_string(covered) + " of its " +
                 std::to_string(dim) + " columns");
  }
}

Initializer::Block Initializer::parse(const std::string& text, const std::string& owner) {
  static const std::vector<std::string> kKinds = {"constant", "uniform", "normal", "truncated_normal"};
  const std::vector<std::string> fields = split(text, ':');
  long long width = 0;
  double a = 0;
  double b = 0;
  const auto kind = std::find(kKinds.begin(), kKinds.end(), fields.size() > 1 ? fields[1] : std::string());
  const bool whole = fields.size() == 4 || (fields.size() == 3 && fields[1] == "constant");
  const bool sound = whole && kind != kKinds.end() && read(fields[0], width) && width > 0 && read(fields[2], a) &&
                     (fields.size() == 3 || read(fields[3], b)) && std::isfinite(a) && std::isfinite(b);
  if (!sound) {
    fail_invalid("initializer block '" + text + "' of " + owner +
                 " is not width:kind:a:b with a positive width, a kind of constant, uniform, normal, truncated_normal, "
                 "and finite a and b");
  }
  const auto which = static_cast<Kind>(kind - kKinds.begin());
  if (which == Kind::uniform && b < a) fail_invalid("initializer block '" + text + "' of " + owner + " has b below a");
  if (which >= Kind::normal && b < 0) {
    fail_invalid("initializer block '" + text + "' of " + owner + " has a negative b");
  }
  return Block{static_cast<std::size_t>(width), which, a, b};
}

float Initializer::draw(const Block& block, std::uint32_t word) noexcept {
  if (block.kind == Kind::uniform) {
    const auto value = static_cast<float>(block.a + (block.b - block.a) * (word / kTwoTo32));
    // Rounding to float may give b, which the range excludes.
    const auto end = static_cast<float>(block.b);
    return value < end || block.a >= block.b ? value : std::nextafter(end, static_cast<float>(block.a));
  }
  const double p = (word + 0.5) / kTwoTo32;
  if (block.kind == Kind::normal) return static_cast<float>(block.a + block.b * inverse_normal(p));
  const double z = inverse_normal(kBelowCut + (1 - 2 * kBelowCut) * p);
  return static_cast<float>(block.a + block.b * std::clamp(z, -2.0, 2.0));
}

void Initializer::set_rows(const float* rows, std::size_t count) { rows_.assign(rows, rows + count * dim_); }

void Initializer::fill(std::int64_t seed, std::int64_t key, float* row) const noexcept {
  if (has_rows()) {
    const auto count = static_cast<std::int64_t>(rows_.size() / dim_);
    const std::int64_t rest = key % count;
    std::copy_n(&rows_[static_cast<std::size_t>(rest < 0 ? rest + count : rest) * dim_], dim_, row);
    return;
  }
  const auto seed_bits = static_cast<std::uint64_t>(seed);
  const auto key_bits = static_cast<std::uint64_t>(key);
  std::size_t column = 0;
  std::size_t drawn = ~std::size_t{0};
  Words words{};
  for (const Block& block : blocks_) {
    const std::size_t end = column + block.width;
    if (block.kind == Kind::constant) {
      std::fill(row + column, row + end, static_cast<float>(block.a));
      column = end;
    }
    for (; column < end; ++column) {
      if (drawn != column / 4) {
        drawn = column / 4;
        words = philox({static_cast<std::uint32_t>(key_bits), static_cast<std::uint32_t>(key_bits >> 32),
                        static_cast<std::uint32_t>(drawn), static_cast<std::uint32_t>(drawn >> 32)},
                       static_cast<std::uint32_t>(seed_bits), static_cast<std::uint32_t>(seed_bits >> 32));
      }
      row[column] = draw(block, words[column % 4]);
    }
  }
}

}  // namespace recmigrate
