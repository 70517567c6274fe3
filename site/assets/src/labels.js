// What the theme leaves undone for those who do not see or point: equal names of code buttons, wide tables.

/** Tends the page, now and when the theme adds its parts. */
export function tend() {
  const all = () => {
    numberCodeButtons();
    reachWideTables();
  };
  all();
  const content = document.querySelector(".md-content");
  if (content) new MutationObserver(all).observe(content, { childList: true, subtree: true });
}

/** Every code block gets a `nav` of the same label: number them. */
function numberCodeButtons() {
  document.querySelectorAll("nav.md-code__nav").forEach((nav, index) => {
    const label = `Code ${index + 1}`;
    if (nav.getAttribute("aria-label") !== label) nav.setAttribute("aria-label", label);
  });
}

/** A table that is wider than its place can be scrolled by keyboard only if it can be focused. */
function reachWideTables() {
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
  }
}
