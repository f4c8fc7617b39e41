// Niceties of the pages, which all work without them: keys, and an outline that makes room on a small screen.
"use strict";

(() => {
  const isTyping = (target) => target.closest("input, select, textarea, [contenteditable]") !== null;

  /** Puts the keyboard on the next passage of a search, or the one before. */
  const step = (by) => {
    const links = [...document.querySelectorAll(".hit h3 a")];
    if (links.length === 0) return false;
    const at = links.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
    if (links[next] === undefined) return true;
    links[next].focus({ preventScroll: true });
    links[next].closest(".hit").scrollIntoView({ block: "nearest" });
    return true;
  };

  /** Opens what a link of the page leads to. */
  const follow = (selector) => {
    const link = document.querySelector(selector);
    if (link === null) return false;
    link.click();
    return true;
  };

  const keys = {
    "/": () => {
      const field = document.getElementById("q");
      if (field === null) return follow(".brand");
      field.focus();
      field.select();
      return true;
    },
    j: () => step(1) || follow(".steps a[rel=next]"),
    k: () => step(-1) || follow(".steps a[rel=prev]"),
  };

  document.addEventListener("keydown", (event) => {
    const key = keys[event.key];
    if (key === undefined || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (key()) event.preventDefault();
  });

  // Beside the text there is room for the outline; above it there is none.
  const outline = document.getElementById("outline");
  if (outline !== null && matchMedia("(max-width: 62rem)").matches) outline.open = false;

  // An outline that is longer than the window shows where one is in it.
  const current = document.querySelector(".outline [aria-current]");
  const frame = document.querySelector(".outline");
  if (current !== null && frame.scrollHeight > frame.clientHeight) {
    const down = current.getBoundingClientRect().top - frame.getBoundingClientRect().top;
    frame.scrollTop = down - frame.clientHeight / 3;
  }

  // The outline says which of its headings is being read.
  const headings = [...document.querySelectorAll(".outline a[href^='#']")]
    .map((link) => ({ link, place: document.getElementById(link.hash.slice(1)) }))
    .filter(({ place }) => place !== null);
  const follows = () => {
    const read = headings.filter(({ place }) => place.getBoundingClientRect().top < innerHeight * 0.45).at(-1);
    if (read === undefined || read.link.hasAttribute("aria-current")) return;
    document.querySelector(".outline [aria-current]")?.removeAttribute("aria-current");
    read.link.setAttribute("aria-current", "location");
  };
  if (headings.length > 0) addEventListener("scroll", follows, { passive: true });

  // What is cited is shown also where the address does not name it.
  const here = document.getElementById("here");
  if (here !== null && location.hash === "") here.scrollIntoView({ block: "center" });
})();
