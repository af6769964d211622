// Messages of the engine besides errors, such as that a filter starts counting anew. The engine does not print them:
// its user fetches the texts.
#pragma once

#include <string>
#include <vector>

namespace recmigrate::notices {

// Stores a text of one sentence until it is fetched; if there are very many, the oldest are dropped. May be called with
// any locks held.
void post(std::string text) noexcept;

[[nodiscard]] bool any() noexcept;

// Returns the texts in the order in which they were added, and removes them. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::string> take();

}  // namespace recmigrate::notices
