// What the engine has to say besides errors, such as that a filter counts anew. It writes nothing itself: whoever runs
// it takes the texts.
#pragma once

#include <string>
#include <vector>

namespace recmigrate::notices {

// Keeps a text, one sentence, until it is taken; of very many the oldest are dropped. Whatever locks are held.
void post(std::string text) noexcept;

[[nodiscard]] bool any() noexcept;

// The texts in the order in which they came; they are forgotten here. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::string> take();

}  // namespace recmigrate::notices
