// Names that the theme leaves equal: every code block gets a `nav` of the same label.

/** Numbers the labels of the code buttons, now and when the theme adds more. */
export function numberCodeButtons() {
  const name = () => {
    document.querySelectorAll("nav.md-code__nav").forEach((nav, index) => {
      const label = `Code ${index + 1}`;
      if (nav.getAttribute("aria-label") !== label) nav.setAttribute("aria-label", label);
    });
  };
  name();
  const content = document.querySelector(".md-content");
  if (content) new MutationObserver(name).observe(content, { childList: true, subtree: true });
}
