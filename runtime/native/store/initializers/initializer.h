// Initial rows: a pure function of (table seed, key, column), the same on every machine, in any order, on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recmigrate {

class Initializer {
 public:
  // `text`: blocks `width:kind:a:b` separated by `;`, with widths that sum to `dim`. Kinds: constant (a), uniform [a,
  // b), normal and truncated_normal (mean a, standard deviation b, the latter truncated at two of them). Throws
  // InvalidInput that names `owner`, the block and what is wrong with it.
  Initializer(const std::string& text, std::size_t dim, const std::string& owner);

  // Sets the initial row of a key to row floor-mod(key, count) of these [count, dim] from now on; count is at least 1.
  void set_rows(const float* rows, std::size_t count);
  [[nodiscard]] bool has_rows() const noexcept { return !rows_.empty(); }

  // Writes the `dim` initial values of `key`'s row.
  void fill(std::int64_t seed, std::int64_t key, float* row) const noexcept;

 private:
  enum class Kind { constant, uniform, normal, truncated_normal };
  struct Block {
    std::size_t width;
    Kind kind;
    double a;
    double b;
  };

  [[nodiscard]] static Block parse(const std::string& text, const std::string& owner);
  [[nodiscard]] static float draw(const Block& block, std::uint32_t word) noexcept;

  std::vector<Block> blocks_;
  std::size_t dim_;
  std::vector<float> rows_;  // given rows, which replace the blocks
};

}  // namespace recmigrate
