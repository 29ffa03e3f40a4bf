// The address after # names a chapter or an entry of one, and which runs are listed: "#runs?method=ISM".
function readAddress() {
  const [place, query = ""] = location.hash.slice(1).split("?");
  try {
    return { place: decodeURIComponent(place), state: new URLSearchParams(query) };
  } catch {
    return { place: "", state: new URLSearchParams(query) };
  }
}

// Light or dark, as the system has it. Paper is light.
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => "dark" in document.documentElement.dataset;

function applyTheme() {
  const dark = !printing.matches && systemDark.matches;
  document.documentElement.toggleAttribute("data-dark", dark);
  document.documentElement.classList.toggle("dark", dark);
}

function prepareTheme(redraw) {
  const change = () => {
    applyTheme();
    redraw();
  };
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
    if (event.key === "Enter" && cell.dataset.experiment) {
      event.preventDefault();
      showRunsOf(cell);
    }
    const next = neighbour(cell, event.key);
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-tip][data-experiment]");
    if (cell) showRunsOf(cell);
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

// The list of runs, filtered by what a cell is of.
function showRunsOf(cell) {
  const { experiment, data, kernel, method } = cell.dataset;
  const wanted = Object.entries({ experiment, data, kernel, method }).filter(([, value]) => value);
  one("#tip").hidden = true;
  location.hash = `runs?${new URLSearchParams(wanted)}`;
}
