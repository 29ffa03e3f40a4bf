// What is shown is kept in the address, "#chapter?name=value", so that it can be sent to somebody else.
const KEPT = ["theme", "cost", "scale", "time", "runs"];

function readAddress() {
  const [place, query = ""] = location.hash.slice(1).split("?");
  try {
    return { place: decodeURIComponent(place), state: new URLSearchParams(query) };
  } catch {
    return { place: "", state: new URLSearchParams(query) };
  }
}

let kept = readAddress().state;

function writeAddress(change) {
  const { place, state } = readAddress();
  change(state);
  const query = String(state);
  history.replaceState(null, "", "#" + (place || "overview") + (query ? "?" + query : ""));
  kept = state;
}

const keep = (name, value) => writeAddress((state) => (value ? state.set(name, value) : state.delete(name)));

// A link names its place alone: what was chosen for the whole page stays.
const carryOver = (before) =>
  writeAddress((state) => KEPT.filter((name) => before.has(name) && !state.has(name)).forEach((name) => state.set(name, before.get(name))));

// Light, dark, or as the system has it. Paper is light.
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => "dark" in document.documentElement.dataset;

function applyTheme() {
  const theme = readAddress().state.get("theme");
  const dark = !printing.matches && (theme === "dark" || (theme !== "light" && systemDark.matches));
  document.documentElement.toggleAttribute("data-dark", dark);
  document.documentElement.classList.toggle("dark", dark);
  const button = one("#theme");
  if (button) button.textContent = `Colours: ${["dark", "light"].includes(theme) ? theme : "system"}`;
}

function prepareTheme(redraw) {
  const order = ["", "dark", "light"];
  const change = () => {
    applyTheme();
    redraw();
  };
  one("#theme")?.addEventListener("click", () => {
    keep("theme", order[(order.indexOf(readAddress().state.get("theme") || "") + 1) % order.length]);
    change();
  });
  for (const media of [systemDark, printing]) media.addEventListener("change", change);
}

// A table that is wider than its place says so.
const hints = new WeakMap();

function hintAtWidth() {
  for (const frame of all(".scrolled")) {
    const wider = frame.scrollWidth > frame.clientWidth + 1;
    frame.classList.toggle("wider", wider);
    if (!hints.has(frame)) {
      hints.set(frame, make("p", "Wider than the page: scroll it sideways.", "hint small"));
      (frame.closest(".dt-container") || frame).after(hints.get(frame));
    }
    hints.get(frame).hidden = !wider;
  }
}

// What cells mean and lead to is kept apart from the tables, which repeat it.
async function prepareCells() {
  const { cells, links } = JSON.parse(await unpack("cells"));
  for (const cell of all("[data-cell]")) {
    const [order, tip, link] = cells[cell.dataset.cell];
    if (order !== null) cell.dataset.order = order;
    if (tip) cell.dataset.tip = tip;
    if (link !== null) Object.assign(cell.dataset, links[link]);
  }
}

// What a number means: under the pointer, and for the keyboard, whose arrows go from cell to cell.
function prepareTips() {
  const tip = one("#tip");
  if (!tip) return;
  const show = (cell) => {
    tip.textContent = cell.dataset.tip;
    tip.hidden = false;
    const box = cell.getBoundingClientRect();
    const below = box.bottom + tip.offsetHeight + 8 < innerHeight;
    tip.style.top = `${below ? box.bottom + 4 : Math.max(4, box.top - tip.offsetHeight - 4)}px`;
    tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
  };
  const hide = () => (tip.hidden = true);
  const cellOf = (event) => event.target.closest?.("[data-tip]");
  for (const table of all("table:has([data-tip])")) {
    all("[data-tip]", table).forEach((cell, place) => {
      cell.tabIndex = place ? -1 : 0;
      cell.setAttribute("aria-describedby", "tip");
    });
  }
  document.addEventListener("pointerover", (event) => (cellOf(event) ? show(cellOf(event)) : hide()));
  document.addEventListener("focusin", (event) => (cellOf(event) ? show(cellOf(event)) : hide()));
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (event) => {
    const cell = event.target.matches?.("[data-tip]") ? event.target : null;
    if (event.key === "Escape") hide();
    if (!cell) return;
    if (event.key === "Enter" && cell.dataset.command) {
      event.preventDefault();
      showCell(cell);
    }
    const next = neighbour(cell, event.key);
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-tip][data-command]");
    if (cell) showCell(cell);
    if (event.target.closest("#cell a")) one("#cell").close();
  });
}

function neighbour(cell, key) {
  const rows = all("tbody tr", cell.closest("table"));
  const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[key] || [0, 0];
  if (!down && !right) return null;
  let [line, column] = [rows.indexOf(cell.parentElement) + down, cell.cellIndex + right];
  while (rows[line]?.cells[column] && !rows[line].cells[column].dataset.tip) [line, column] = [line + down, column + right];
  return rows[line]?.cells[column] || null;
}

// A cell's runs, its figure, and the command that makes it again.
function showCell(cell) {
  const { tip, command, ...axes } = cell.dataset;
  const { experiment, data, kernel, method } = axes;
  one("#cell-title").textContent = [method, data, kernel].filter(Boolean).join(", ");
  one("#cell-meaning").textContent = tip;
  one("#cell-command").textContent = command;
  const wanted = new URLSearchParams(Object.entries({ experiment, data, kernel, method }).filter(([, value]) => value));
  one("#cell-runs").href = `#runs?${wanted}`;
  showTraces(one("#cell-trace"), axes);
  one("#tip").hidden = true;
  one("#cell").showModal();
}

// The curves of a cell: its method alone in its experiment's figure, at its panel. Baselines have none.
function showTraces(link, { experiment, data, kernel, method }) {
  const figure = document.getElementById(`figure-${slug(experiment)}_cost_against_time`);
  const buttons = figure ? all(".legend [data-key]", figure) : [];
  const button = buttons.find(({ dataset }) => dataset.key === method);
  link.hidden = !figure || (buttons.length > 0 && !button);
  if (link.hidden) return;
  link.href = "#" + figure.id;
  link.onclick = () => {
    if (button) {
      one(".legend .none", figure).click();
      button.click();
    }
    const panel = all("h3", figure).find((title) => title.textContent === `${data}, ${kernel} kernel`);
    // After the chapter is shown.
    window.addEventListener("hashchange", () => panel?.scrollIntoView({ block: "center" }), { once: true });
  };
}

{% include "take.js" %}
