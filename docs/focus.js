// What the theme leaves out for keyboards and screen readers: wide tables and pictures can be scrolled by keys, the search has a name.
addEventListener("load", () => {
  document.querySelectorAll(".md-typeset__scrollwrap, p:has(> img)").forEach((wide) => { wide.tabIndex = 0; });
  document.querySelector(".md-search:not([aria-label])")?.setAttribute("aria-label", "Search");
});
