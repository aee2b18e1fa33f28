"use strict";
(() => {
  const filters = document.getElementById("filters");
  const boards = document.getElementById("boards");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const buttons = [...filters.querySelectorAll("button")];
  const panels = [...boards.querySelectorAll(".panel")].map((panel) => ({
    panel,
    state: panel.dataset.state,
    text: panel.textContent.toLowerCase(),
  }));

  const anyIn = (part) => part.querySelector(".panel:not([hidden])") !== null;

  function filter() {
    const states = new Set(
      buttons.filter((each) => each.getAttribute("aria-pressed") === "true").map((each) => each.dataset.filter),
    );
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const filtered = states.size > 0 || words.length > 0;
    let count = 0;
    for (const each of panels) {
      const fits = (states.size === 0 || states.has(each.state)) && words.every((word) => each.text.includes(word));
      each.panel.hidden = !fits;
      count += fits ? 1 : 0;
    }
    boards.classList.toggle("filtered", filtered);
    for (const part of boards.querySelectorAll(".row, .board")) {
      part.hidden = filtered && !anyIn(part);
    }
    shown.textContent = filtered ? `${count} of ${panels.length} panels` : "";
    document.getElementById("none").hidden = !filtered || count > 0;
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filter();
    });
  }
  search.addEventListener("input", filter);

  function open() {
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (target === null || !target.matches(".panel")) {
      return;
    }
    if (target.hidden) {
      search.value = "";
      buttons.forEach((button) => button.setAttribute("aria-pressed", "false"));
      filter();
      target.scrollIntoView();
    }
    target.querySelector("details").open = true;
  }
  window.addEventListener("hashchange", open);

  document.addEventListener("keydown", (event) => {
    const opened = event.key === "Escape" ? boards.querySelector(".panel details[open]") : null;
    if (opened !== null) {
      opened.open = false;
      opened.querySelector("summary").focus();
    }
  });

  async function copy(code, button) {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      // Without the right to write there: what is selected can be copied by hand.
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  }

  for (const fix of document.querySelectorAll(".fix")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(fix.querySelector("code"), button));
    fix.append(button);
  }

  filters.hidden = false;
  filter();
  open();
})();
